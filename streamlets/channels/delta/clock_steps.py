"""`ClockSteps`: how old files are, although the machine's clock may be set while a run goes on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

# Seconds. Time services adjust a clock that differs by less without a step.
_THRESHOLD = 10.0
# Seconds after which no batch goes on that was planned before.
_FORGOTTEN = 86400.0


def elapsed() -> float:
    """Return the seconds since some instant, by a clock that nobody sets. It also runs while the machine sleeps."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)


class ClockSteps:
    """Compares the wall clock with one that is never set, and remembers by how much the wall clock was set.

    Commits and files that are deleted because of their age have a time of the wall clock. If the clock is set forward
    by an hour, everything written before looks an hour older than it is. A step is noticed by the first call after it.
    A clock that was wrong when the process began cannot be noticed.

    Arguments:
        clock: the wall clock, in seconds since the epoch.
        timer: a clock that is never set, in seconds.
    """

    def __init__(self, clock: Callable[[], float], timer: Callable[[], float] = elapsed) -> None:
        self._clock, self._timer = clock, timer
        self._wall, self._timed = clock(), timer()
        self._forward: list[tuple[float, float]] = []  # the time after each step and its seconds, oldest first
        self._back: list[tuple[float, float]] = []  # the first time after each step, and the last one before it
        self._lock = threading.Lock()

    def before(self, seconds: float) -> float:
        """Return a time of the wall clock before which everything is older than an age.

        This holds however the clock was set since. In doubt, data is regarded as younger.

        Arguments:
            seconds: the age in seconds.
        """
        with self._lock:
            limit = self._look() - seconds
            for after, step in reversed(self._forward):
                if limit > after:
                    break
                limit -= step
            return limit

    def since(self, instant: float) -> float:
        """Return the earliest time of the wall clock that something after an instant can have.

        Arguments:
            instant: the time of the wall clock at that instant.
        """
        with self._lock:
            self._look()
            return min([instant, *(after for after, before in self._back if after < instant <= before)])

    def _look(self) -> float:
        """Return the time of the wall clock; remember a step since the last call."""
        wall, timed = self._clock(), self._timer()
        passed = timed - self._timed
        expected = self._wall + passed
        self._wall, self._timed = wall, timed
        if wall - expected >= _THRESHOLD:
            self._forward.append((wall, wall - expected))
        elif expected - wall >= _THRESHOLD:
            self._forward = [(after, step) for after, step in self._forward if after <= wall]  # it was corrected
            self._back.append((wall - passed, expected))
        self._back = [(after, before) for after, before in self._back if before > wall - _FORGOTTEN]
        return wall
