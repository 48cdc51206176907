"""A small version of `benchmarks/spout_kills.py`: each crash point once, and two random kills."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from benchmarks.spout_kills import Kills, rounds


@pytest.mark.slow
def test_no_transaction_is_lost_doubled_or_split(tmp_path: Path) -> None:
    """Whatever is killed, and whenever."""
    dice = random.Random(3)
    kills = Kills(tmp_path / "app", dice)
    descriptions = list(rounds(kills, 1, 2, dice))
    assert len(descriptions) == 6
    kills.end()
    assert kills.problems() == []
    assert kills.acknowledged
