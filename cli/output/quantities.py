"""Sizes, times and counts as text."""

from __future__ import annotations

from datetime import UTC, datetime


def size(count: float | None) -> str:
    """Return a number of bytes with a unit, for example `1.5 MiB`; `-` for None."""
    if count is None:
        return "-"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def timestamp(time: float | None) -> str:
    """Return a time in seconds since the epoch as date and time in UTC; `-` for None."""
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M:%S") if time else "-"
