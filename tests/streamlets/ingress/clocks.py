"""A clock for tests of triggerers, which advances only on request."""

from __future__ import annotations

import threading


class FakeClock:
    """A wall clock that stands still until it is advanced."""

    def __init__(self, now: float) -> None:
        self._now = now
        self._changed = threading.Condition()
        self._waiting = 0

    def time(self) -> float:
        """Return the seconds since the epoch."""
        return self._now

    def wait_until(self, instant: float, stopping: threading.Event) -> bool:
        """Wait until the clock is advanced to an instant, or until `stopping` is set."""
        with self._changed:
            self._waiting += 1
            self._changed.notify_all()
            try:
                while self._now < instant and not stopping.is_set():
                    self._changed.wait(0.05)
            finally:
                self._waiting -= 1
        return not stopping.is_set()

    def wait(self, seconds: float, stopping: threading.Event) -> bool:
        """Wait until the clock is advanced by a time, or until `stopping` is set."""
        return self.wait_until(self._now + seconds, stopping)

    def advance(self, seconds: float) -> None:
        """Advance, once somebody waits."""
        with self._changed:
            assert self._changed.wait_for(lambda: self._waiting > 0, 300), "nobody waits for the clock"
            self._now += seconds
            self._changed.notify_all()
