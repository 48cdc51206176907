"""The connections on which queries call back into Python, closed with their query: py4j keeps each one for ever.

For each Java thread that calls into Python py4j opens a connection, with a thread of ours at its end. A query has a
Java thread of its own, and calls at least to say that it has started: every restart would leave a thread and an open
file behind, in both processes.
"""

from __future__ import annotations

import contextlib
import threading
from typing import Any


class Callbacks:
    """Which connection each run of a query calls on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connections: dict[str, Any] = {}

    def calling(self, run_id: str) -> None:
        """Remember the connection of the call that this thread is in; it is made by the query's own thread."""
        connection = _client().getPerThreadConnection()  # asked in a call, Java answers in the thread that made it
        with self._lock:
            self._connections[run_id] = connection

    def ended(self, run_id: str) -> None:
        """Close the connection of a query that has ended; not to be asked in a call on it."""
        with self._lock:
            connection = self._connections.pop(run_id, None)
        if connection is not None:
            with contextlib.suppress(Exception):  # Spark may be gone, and its connections with it
                connection.shutdown(False)
                _kept(_client()).remove(connection)


def _client() -> Any:
    """Java's side of calls into Python."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway  # noqa: SLF001 - there is no public way
    return gateway.java_gateway_server.getCallbackClient()


def _kept(client: Any) -> Any:
    """All connections of calls, which py4j shows to nobody."""
    field = client.getClass().getSuperclass().getDeclaredField("connections")
    field.setAccessible(True)
    return field.get(client)
