"""Sizes and times as people read them on a terminal."""

from __future__ import annotations

from datetime import UTC, datetime


def size(count: float) -> str:
    """Bytes as people say them."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def moment(time: float | None) -> str:
    """A time (seconds since the epoch) in UTC, to the second; a dash where there is none."""
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M:%S") if time else "-"


def count(number: int, what: str, several: str = "") -> str:
    """A number of things: `1 record`, `1,000 records`; `several` is their plural where it is not `what` with an s."""
    return f"{number:,} {what if number == 1 else several or f'{what}s'}"
