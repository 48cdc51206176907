"""Detects that the machine's clock was set back, which delays Spark's triggers."""

from __future__ import annotations

from collections.abc import Callable

# Seconds. Time services adjust the clock by less, which delays a trigger by no more than that.
_THRESHOLD = 10.0


class ClockCheck:
    """Compares the wall clock with a monotonic clock.

    Arguments:
        clock: the wall clock, in seconds since the epoch.
        timer: a monotonic clock, in seconds.
    """

    def __init__(self, clock: Callable[[], float], timer: Callable[[], float]) -> None:
        self._clock = clock
        self._timer = timer
        self._difference = clock() - timer()

    def seconds(self) -> float:
        """Return by how many seconds the clock was set back since the last call; 0 if by less than ten."""
        difference = self._clock() - self._timer()
        seconds, self._difference = self._difference - difference, difference
        return seconds if seconds >= _THRESHOLD else 0.0
