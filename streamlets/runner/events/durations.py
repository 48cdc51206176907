"""How long the batches of a unit took, counted by duration, for histograms."""

from __future__ import annotations

from bisect import bisect_left

BOUNDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""The longest duration of each class, in seconds; a further class has all longer ones."""

Durations = tuple[int, ...]
"""The number of batches in each class; () before the first batch."""


def with_duration(durations: Durations, seconds: float) -> Durations:
    """Return the numbers after another batch.

    Arguments:
        durations: the numbers before.
        seconds: how long it took.
    """
    counts = list(durations or (0,) * (len(BOUNDS) + 1))
    counts[bisect_left(BOUNDS, seconds)] += 1
    return tuple(counts)
