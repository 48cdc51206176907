"""The time of a watermark."""

from __future__ import annotations

from datetime import datetime


def watermark_time(watermark: str) -> float | None:
    """Return a watermark in ISO format as seconds since the epoch; None if it is not a time."""
    try:
        return datetime.fromisoformat(watermark).timestamp()
    except (ValueError, OverflowError):
        return None
