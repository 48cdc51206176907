"""`TestClock`: a wall clock that stands still until a test advances it."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

from blueprint.quantities import duration
from streamlets.testkit.failures import TestkitError

_LONGEST_CALL = 60.0
"""Seconds that the code which waits for the clock may take until it waits again."""


class TestClock:
    """A wall clock for what waits in a thread of its own, such as a triggerer.

    Arguments:
        now: the time at first; one without a time zone is in UTC. Default: 2024-01-01T00:00 UTC.
    """

    __test__ = False  # pytest collects classes with this prefix

    def __init__(self, now: datetime | str = "2024-01-01T00:00:00+00:00") -> None:
        start = datetime.fromisoformat(now) if isinstance(now, str) else now
        self._now = (start if start.tzinfo is not None else start.replace(tzinfo=UTC)).timestamp()
        self._changed = threading.Condition()
        self._waiting: float | None = None  # the instant that the thread waits for
        self._waits = 0

    @property
    def now(self) -> datetime:
        """The time, in UTC."""
        return datetime.fromtimestamp(self._now, UTC)

    def time(self) -> float:
        """Return the seconds since the epoch."""
        return self._now

    def wait_until(self, instant: float, stopping: threading.Event) -> bool:
        """Wait until the clock is advanced to `instant`, or `stopping` is set; return whether the instant has come."""
        with self._changed:
            self._waiting = instant
            self._waits += 1
            self._changed.notify_all()
            while self._now < instant and not stopping.is_set():
                self._changed.wait(0.05)  # nobody notifies when `stopping` is set
            self._waiting = None
        return not stopping.is_set()

    def wait(self, seconds: float, stopping: threading.Event) -> bool:
        """Wait until the clock is advanced by `seconds`, or `stopping` is set; return whether the time has passed."""
        return self.wait_until(self._now + seconds, stopping)

    def advance(self, by: str | timedelta) -> None:
        """Advance, and stop at each instant that is waited for until the code that waited for it waits again.

        Arguments:
            by: how far, such as `1 hour`.

        Raises:
            TestkitError: the code does not wait again, or nothing has waited from the beginning.
        """
        seconds = by.total_seconds() if isinstance(by, timedelta) else duration(by).seconds
        end = self._now + seconds
        with self._changed:
            self._settle(0)
            while self._waiting is not None and self._waiting <= end:
                waits = self._waits
                self._now = max(self._now, self._waiting)
                self._changed.notify_all()
                self._settle(waits)
            self._now = end

    def _settle(self, waits: int) -> None:
        """Wait until the thread waits once more than so often."""
        if not self._changed.wait_for(lambda: self._waits > waits and self._waiting is not None, _LONGEST_CALL):
            raise TestkitError("the triggerer does not wait for the clock")
