"""Daemon threads for what may take long, such as building and starting queries; they do not delay an exit."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue


class Workers:
    """A fixed number of daemon threads; each keeps its connection to the JVM, so restarts open no new ones."""

    def __init__(self, count: int) -> None:
        self._work: SimpleQueue[Callable[[], None]] = SimpleQueue()
        for number in range(count):
            threading.Thread(target=self._run, name=f"worker-{number}", daemon=True).start()

    def submit(self, work: Callable[[], None]) -> None:
        """Call `work` in a worker; it must handle its own exceptions."""
        self._work.put(work)

    def _run(self) -> None:
        while True:
            self._work.get()()
