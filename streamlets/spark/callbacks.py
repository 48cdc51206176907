"""Resources of calls from queries into Python, which are released with their query.

For each Java thread that calls into Python, py4j opens a connection with a thread in this process that it never closes.
A query has a Java thread of its own, which calls at least to report its start: every restart would leak a thread and an
open file in both processes.

PySpark stores an exception raised in `foreachBatch` at the function, with all frames and their objects. The function
lives until Java collects its proxy, which with much free memory takes hours.
"""

from __future__ import annotations

import contextlib
import threading
from typing import Any


class Callbacks:
    """The connection of each run of a query."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connections: dict[str, Any] = {}
        self._threads: dict[str, int] = {}

    def calling(self, run_id: str) -> None:
        """Store the connection of the current call, which comes from the query's own thread."""
        connection = _client().getPerThreadConnection()  # within a call, Java answers in the thread that called
        with self._lock:
            self._connections[run_id] = connection
            self._threads[run_id] = threading.get_ident()

    def thread(self, run_id: str) -> int | None:
        """Return the thread of this process that handles the calls of a query's run; None without one."""
        with self._lock:
            return self._threads.get(run_id)

    def ended(self, run_id: str) -> None:
        """Close the connection of an ended query and release its errors. Not to be called on that connection."""
        with self._lock:
            connection = self._connections.pop(run_id, None)
            self._threads.pop(run_id, None)
        if connection is not None:
            with contextlib.suppress(Exception):  # Spark may have exited, which closes its connections
                _release_errors()
                connection.shutdown(False)
                _connections(_client()).remove(connection)


def _release_errors() -> None:
    """Release the stored exceptions, which are not used after they were passed to Java."""
    from pyspark import SparkContext
    from pyspark.sql.utils import ForeachBatchFunction

    gateway: Any = SparkContext._gateway  # noqa: SLF001 - there is no public way
    for proxy in list(gateway.gateway_property.pool.dict.values()):
        if isinstance(proxy, ForeachBatchFunction):
            proxy.error = None  # type: ignore[assignment]


def _client() -> Any:
    """Return Java's client of calls into Python."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway  # noqa: SLF001 - there is no public way
    return gateway.java_gateway_server.getCallbackClient()


def _connections(client: Any) -> Any:
    """Return all connections of calls, which py4j keeps private."""
    field = client.getClass().getSuperclass().getDeclaredField("connections")
    field.setAccessible(True)
    return field.get(client)
