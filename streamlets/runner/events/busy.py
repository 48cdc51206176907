"""How busy a unit is: the share of the last minute that it has spent in batches."""

from __future__ import annotations

import math

WINDOW = 60.0
"""Seconds over which the share is computed."""

_MERGED = 5.0
"""Seconds whose batches are one spell, so that a minute of many short batches stays small."""

Spells = tuple[tuple[float, float], ...]
"""When batches ran: the end of each spell in seconds since the epoch, and the seconds in batches before that."""


def with_batch(spells: Spells, end: float, seconds: float) -> Spells:
    """Return the spells of the last minute after another batch.

    Arguments:
        spells: the spells before.
        end: when the batch was finished, in seconds since the epoch.
        seconds: how long it took.
    """
    end = math.floor(end * 100) / 100  # never in the future
    recent = tuple(spell for spell in spells if 0 <= end - spell[0] < WINDOW)  # the clock may have been set back
    if recent and recent[-1][0] // _MERGED == end // _MERGED:
        *recent_before, (_, before) = recent
        return (*recent_before, (end, round(before + seconds, 3)))
    return (*recent, (end, round(seconds, 3)))


def busy_ratio(spells: Spells, since: float, running: float | None, now: float) -> float:
    """Return the share of the last minute in batches, from 0 to 1.

    Arguments:
        spells: the finished batches.
        since: since when the unit is running; time before that does not count.
        running: when the running batch began; None without one.
        now: the current time.
    """
    begin = max(now - WINDOW, since)
    spells = spells if running is None else (*spells, (now, now - running))
    seconds = sum(max(0.0, min(end, now) - max(end - seconds, begin)) for end, seconds in spells)
    return min(1.0, seconds / (now - begin)) if now > begin else 0.0
