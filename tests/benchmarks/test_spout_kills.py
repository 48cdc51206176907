"""A small version of `benchmarks/kills/spouts.py`: each crash point once, and two random kills."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from benchmarks.kills.harness import KILL
from benchmarks.kills.spouts import POINTS, Spouts


@pytest.mark.slow
def test_no_transaction_is_lost_doubled_or_split(tmp_path: Path) -> None:
    """Whatever is killed, and whenever."""
    kills = Spouts(tmp_path / "app", random.Random(3))
    for point in (*POINTS, KILL, KILL):
        kills.play(point)
        assert kills.problems() == []
    kills.end()
    assert kills.problems() == []
    assert kills.acknowledged
