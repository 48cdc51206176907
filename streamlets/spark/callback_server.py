"""The port on which this process takes calls from Spark's Java process, for `foreachBatch` and listeners.

Every user of a machine can connect to a port of its loopback interface. PySpark gives a token to Java's port, but not
to this one: without a token, everyone who connects could call the author's functions.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

_NANOSECONDS = "NANOSECONDS"
_LOGGER = "py4j.clientserver"

REFUSED = "refused a connection to the port for calls from Spark: it did not send the token of this Spark"
"""The line that is printed when somebody else connects."""


def open_callback_server(gateway: Any, print_line: Callable[[str], None]) -> None:
    """Start the server for calls from Java, which answers only calls that begin with the gateway's token.

    PySpark would start it with the first listener or `foreachBatch`. One that runs already is left as it is.

    Arguments:
        gateway: PySpark's connection to Java.
        print_line: takes a line about each refused connection.
    """
    from py4j.java_gateway import JavaObject
    from pyspark.java_gateway import ensure_callback_server_started

    if gateway.__dict__.get("_callback_server") is not None:
        return
    token = gateway.java_parameters.auth_token
    gateway.python_parameters.auth_token = token
    _report_refusals(print_line)
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
    # It has given Java a client with the port, but without a token: `copyWith` of py4j omits it.
    java, server = gateway.jvm, JavaObject("GATEWAY_SERVER", gateway._gateway_client)  # noqa: SLF001 - no public way
    owner, client = server.getGateway(), server.getCallbackClient()
    with_token = java.py4j.PythonClient(
        owner, None, client.getPort(), client.getAddress(), 0, java.java.util.concurrent.TimeUnit.valueOf(_NANOSECONDS),
        java.javax.net.SocketFactory.getDefault(), server, True, 0, token,
    )  # fmt: skip
    field = owner.getClass().getDeclaredField("cbClient")
    field.setAccessible(True)
    field.set(owner, with_token)


class _Refusals(logging.Handler):
    """Prints a line for each connection that py4j refuses, instead of a traceback."""

    def __init__(self, print_line: Callable[[str], None]) -> None:
        super().__init__(logging.ERROR)
        self._print_line = print_line

    def emit(self, record: logging.LogRecord) -> None:
        from py4j.protocol import Py4JAuthenticationError

        if record.exc_info and isinstance(record.exc_info[1], Py4JAuthenticationError):
            self._print_line(REFUSED)


def _report_refusals(print_line: Callable[[str], None]) -> None:
    logger = logging.getLogger(_LOGGER)
    logger.setLevel(logging.ERROR)
    logger.propagate = False
    logger.handlers = [_Refusals(print_line)]
