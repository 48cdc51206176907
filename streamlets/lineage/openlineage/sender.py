"""`Sender`: sends events in a thread of its own, so that a slow or dead receiver delays nothing else."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, Full, Queue

from openlineage.client.event_v2 import RunEvent

from streamlets.lineage.openlineage.receivers import Receiver

_MOST_WAITING = 1_000
"""Events that wait for a slow receiver. Further ones are dropped and counted."""


class Sender:
    """Sends events to a receiver, in order.

    Arguments:
        receiver: takes them.
        failed: takes the first error of each row of errors, and the number of events that were lost.
        most_waiting: the number of events that may wait.

    Attributes:
        sent: the number of events that the receiver has taken.
        dropped: the number of events for which there was no room.
        refused: the number of events that could not be sent.
    """

    def __init__(self, receiver: Receiver, failed: Callable[[str], None], most_waiting: int = _MOST_WAITING) -> None:
        self.sent = self.dropped = self.refused = 0
        self._receiver, self._failed = receiver, failed
        self._waiting: Queue[RunEvent] = Queue(most_waiting)
        self._closed = threading.Event()
        self._failing = False
        self._thread = threading.Thread(target=self._run, name="openlineage", daemon=True)
        self._thread.start()

    def send(self, event: RunEvent) -> None:
        """Have an event sent; it is dropped if too many wait."""
        try:
            self._waiting.put_nowait(event)
        except Full:
            self.dropped += 1

    def close(self, patience: float) -> int:
        """Wait until all events are sent, but not for long.

        Arguments:
            patience: seconds.

        Returns:
            The number of events that were not sent.
        """
        self._closed.set()
        self._thread.join(patience)
        return self._waiting.qsize() + self._thread.is_alive()

    def _run(self) -> None:
        while not (self._closed.is_set() and self._waiting.empty()):
            with suppress(Empty):
                self._emit(self._waiting.get(timeout=0.2))

    def _emit(self, event: RunEvent) -> None:
        try:
            self._receiver.emit(event)
        except Exception as error:  # noqa: BLE001 - the client of another package, and any network
            self.refused += 1
            if not self._failing:
                self._failed(f"an event could not be sent: {type(error).__name__}: {error}")
            self._failing = True
            return
        self._failing = False
        self.sent += 1
