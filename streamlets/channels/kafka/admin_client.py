"""`AdminClient`: confluent-kafka's client for requests about topics, which ends in an ordinary thread."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from confluent_kafka import admin

_ONLY_HERE = 2  # the list, and the argument of `getrefcount`
_POLL = 0.01


class AdminClient(admin.AdminClient):  # type: ignore[misc]  # confluent-kafka may not be installed
    """A client that may be dropped in any thread.

    librdkafka ends the process ("Application bug") if a client is destroyed in one of its own threads. These run the
    callbacks of answers, in which Python may collect garbage, and a failed request leaves its client in a cycle:
    the error's traceback has the frame that has the future, which has the error.
    """

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:  # at last, modules have no names
        """Leave the end to a thread, whatever thread this is."""
        if is_finalizing():  # only the main thread runs, and no other can be started
            return
        with suppress(RuntimeError):  # the interpreter is about to end
            threading.Thread(target=_end, args=([self],), name="end-kafka-client", daemon=True).start()


def _end(box: list[AdminClient]) -> None:
    """Drop a client here as soon as nothing else has a reference to it: Python calls `__del__` only once."""
    while sys.getrefcount(box[0]) > _ONLY_HERE:
        time.sleep(_POLL)
    box.clear()
