"""A dead letter names where it comes from, in words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from streamlets.runner.dead_letters.letters import DeadLetter


@pytest.mark.parametrize(
    ("coordinates", "origin"),
    [
        ("out/7", "out batch 7"),
        ("task/3", "task 3"),
        ("spout/record 1", "record 1 of the spout"),
        ("orders/0/12", "topic orders, partition 0, offset 12"),
    ],
)
def test_its_origin(coordinates: str, origin: str) -> None:
    """A query and a batch, a task, a record of a spout, or a place in a topic."""
    place: Any = None
    now = datetime.now(UTC)
    letter = DeadLetter(
        place=place, record="{}", port="a.out", coordinates=coordinates, reason="no", time=now, version="",
        replayed=False,
    )  # fmt: skip
    assert letter.origin == origin
