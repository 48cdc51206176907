"""`Pulse`: when the author's code of a spout has given its last sign of life; `WatchedEvent`: looking at it is one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Pulse:
    """The signs of life of a spout.

    Arguments:
        clock: seconds of a monotonic clock.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._last = clock()
        self._resting = 0

    def beat(self) -> None:
        """Record a sign of life."""
        self._last = self._clock()

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Expect no sign of life within the context: it waits on purpose, or for the runner."""
        with self._lock:
            self._resting += 1
        try:
            yield
        finally:
            self.beat()
            with self._lock:
                self._resting -= 1

    @property
    def silence(self) -> float:
        """The seconds since the last sign of life; 0 while none is expected."""
        return 0.0 if self._resting else max(0.0, self._clock() - self._last)


class WatchedEvent(threading.Event):
    """The event that asks a generator to end. Looking at it, or waiting for it, is a sign of life."""

    def __init__(self, pulse: Pulse) -> None:
        super().__init__()
        self._pulse = pulse

    def is_set(self) -> bool:
        """Return whether it is set."""
        self._pulse.beat()
        return super().is_set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is set, or for `timeout` seconds; return whether it is set."""
        with self._pulse.resting():
            return super().wait(timeout)
