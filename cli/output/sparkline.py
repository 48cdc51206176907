"""Curves of the rates of streamlets, a few characters long."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamlets.runner.samples.sample import Sample

SECONDS = 600.0
"""The time that a curve shows."""

_WIDTH = 12
_BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float | None]) -> str:
    """Return a curve with a character for each value, from 0 to the largest one; a blank for None."""
    most = max((value for value in values if value is not None), default=0.0)
    return "".join(" " if value is None else _BARS[_level(value, most)] for value in values)


def rates(samples: Iterable[Sample], now: float) -> dict[str, str]:
    """Return the curve of the rows that each streamlet has read, or written if it reads none, in the last minutes.

    Arguments:
        samples: the samples of all units.
        now: the current time, in seconds since the epoch.
    """
    step = SECONDS / _WIDTH
    sums: dict[str, dict[int, dict[float, tuple[float, float]]]] = {}
    for sample in samples:
        bucket = _WIDTH - 1 - int((now - sample.time) // step)
        if 0 <= bucket < _WIDTH:
            at = sums.setdefault(sample.streamlet, {}).setdefault(bucket, {})
            rows_in, rows_out = at.get(sample.time, (0.0, 0.0))
            at[sample.time] = rows_in + sample.rate_in, rows_out + sample.rate_out
    return {streamlet: sparkline(_means(buckets)) for streamlet, buckets in sums.items()}


def _means(buckets: dict[int, dict[float, tuple[float, float]]]) -> list[float | None]:
    reads = any(rate_in for times in buckets.values() for rate_in, _ in times.values())
    means: list[float | None] = []
    for bucket in range(_WIDTH):
        rows = [pair[0] if reads else pair[1] for pair in buckets.get(bucket, {}).values()]
        means.append(sum(rows) / len(rows) if rows else None)
    return means


def _level(value: float, most: float) -> int:
    return min(len(_BARS) - 1, int(value / most * len(_BARS))) if most else 0
