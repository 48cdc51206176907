"""What queries need to call back into Python, let go with their query: py4j keeps each connection for ever.

For each Java thread that calls into Python py4j opens a connection, with a thread of ours at its end. A query has a
Java thread of its own, and calls at least to say that it has started: every restart would leave a thread and an open
file behind, in both processes.

What a function of `foreachBatch` raises pyspark keeps at the function, with all frames and what they had in hand, and
the function stays until Java collects its side of it: with much memory to spare, in hours.
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
        self._threads: dict[str, int] = {}

    def calling(self, run_id: str) -> None:
        """Remember the connection of the call that this thread is in; it is made by the query's own thread."""
        connection = _client().getPerThreadConnection()  # asked in a call, Java answers in the thread that made it
        with self._lock:
            self._connections[run_id] = connection
            self._threads[run_id] = threading.get_ident()

    def thread(self, run_id: str) -> int | None:
        """The thread of this process in which the calls of a query's run are answered; None when there is none."""
        with self._lock:
            return self._threads.get(run_id)

    def ended(self, run_id: str) -> None:
        """Close the connection of a query that has ended, and forget its errors; not to be asked in a call on it."""
        with self._lock:
            connection = self._connections.pop(run_id, None)
            self._threads.pop(run_id, None)
        if connection is not None:
            with contextlib.suppress(Exception):  # Spark may be gone, and its connections with it
                _let_go_of_errors()
                connection.shutdown(False)
                _kept(_client()).remove(connection)


def _let_go_of_errors() -> None:
    """Nobody asks for them: Java was told when they were raised."""
    from pyspark import SparkContext
    from pyspark.sql.utils import ForeachBatchFunction

    gateway: Any = SparkContext._gateway  # noqa: SLF001 - there is no public way
    for proxy in list(gateway.gateway_property.pool.dict.values()):
        if isinstance(proxy, ForeachBatchFunction):
            proxy.error = None  # type: ignore[assignment]


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
