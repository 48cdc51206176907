"""Sizes, times, counts and values of records as text."""

from __future__ import annotations

import base64
from datetime import UTC, date, datetime, time


def size(count: float | None) -> str:
    """Return a number of bytes with a unit, for example `1.5 MiB`; `-` for None."""
    if count is None:
        return "-"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def timestamp(seconds: float | None) -> str:
    """Return a time in seconds since the epoch as date and time in UTC; `-` for None."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S") if seconds else "-"


def plain(value: object) -> object:
    """Return a value that JSON has no type for as a string: times in ISO 8601, bytes as Base64; numbers stay."""
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value if isinstance(value, int | float) else str(value)
