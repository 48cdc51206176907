"""`Clock`: the wall clock of triggerers, which tests replace."""

from __future__ import annotations

import threading
import time
from typing import Protocol

_LONGEST_WAIT = 30.0
"""Seconds after which a wait looks at the wall clock again, because it may have been set or the machine suspended."""


class Clock(Protocol):
    """A wall clock."""

    def time(self) -> float:
        """Return the seconds since the epoch."""

    def wait_until(self, instant: float, stopping: threading.Event) -> bool:
        """Wait until an instant, in seconds since the epoch, or until `stopping` is set.

        Returns:
            Whether the instant has come; False if `stopping` was set before.
        """

    def wait(self, seconds: float, stopping: threading.Event) -> bool:
        """Wait for a time, however the wall clock is set meanwhile, or until `stopping` is set; see `wait_until`."""


class SystemClock:
    """The clock of the machine."""

    def time(self) -> float:
        """Return the seconds since the epoch."""
        return time.time()

    def wait_until(self, instant: float, stopping: threading.Event) -> bool:
        """Wait until an instant; see `Clock.wait_until`."""
        while (left := instant - time.time()) > 0:
            if stopping.wait(min(left, _LONGEST_WAIT)):
                return False
        return not stopping.is_set()

    def wait(self, seconds: float, stopping: threading.Event) -> bool:
        """Wait for a time; see `Clock.wait`."""
        return not stopping.wait(seconds)
