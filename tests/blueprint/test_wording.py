"""Counts and durations in words: one is singular."""

from __future__ import annotations

import pytest

from blueprint.quantities import MemorySize
from blueprint.wording import counted, in_seconds, span


@pytest.mark.parametrize(("number", "text"), [(1, "1 byte"), (0, "0 bytes"), (1200, "1,200 bytes")])
def test_counts(number: int, text: str) -> None:
    """Only one is singular; large numbers have separators."""
    assert counted(number, "byte") == text


@pytest.mark.parametrize(
    ("number", "text"), [(1.0, "1 second"), (1, "1 second"), (0.5, "0.5 seconds"), (60, "60 seconds")]
)
def test_seconds(number: float, text: str) -> None:
    """Seconds are as they were set."""
    assert in_seconds(number) == text


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0 s"), (61, "1 min 1 s"), (86_400, "1 d"), (90_000, "1 d 1 h")])
def test_spans(seconds: float, text: str) -> None:
    """A duration has its two largest units."""
    assert span(seconds) == text


def test_sizes() -> None:
    """A size of one byte is singular, too."""
    assert (str(MemorySize(1)), str(MemorySize(2))) == ("1 byte", "2 bytes")
