"""What a stranger sends to a port of a run, by protocol, and what he must get for it: nothing, or a refusal."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Mapping

_BODY = b"\x00" * 16
_REQUEST = struct.pack(">BqI", 3, 7, len(_BODY)) + _BODY

PROBES: Mapping[str, bytes] = {
    "an RPC of Spark": struct.pack(">q", len(_REQUEST) + 8) + _REQUEST,
    "a call of py4j": b"c\np0\ncall\ne\n",
    "an order to py4j's gateway": b"j\ni\nrj\norg.apache.spark.SparkContext\ne\n",
    "a transaction": json.dumps({"token": "", "outlet": "out"}).encode() + b"\n",
    "a request by HTTP": b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n",
    "a task for a Python worker": struct.pack(">i", 5) + b"wrong" + struct.pack(">i", 0) * 64,
    "updates of an accumulator": b"0" * 64 + struct.pack(">i", 1),
}
"""The first message of each protocol, without the secret."""

REFUSALS: tuple[bytes, ...] = (
    b"Expected SaslMessage",  # Spark: RPCs and blocks
    b"Authentication error",  # py4j's gateway in Java
    b"Unknown command received",  # the same, for what is not one of its commands
    b"\x00\x00\x00\x03err",  # a worker of PySpark, for another secret
    b'"refused"',  # the deliveries of a spout
    b" 401 ",  # the triggerer `http`
)
"""One of these is in each answer to a stranger, unless there is none; see `answer` for the number of a process."""

_PROCESS_NUMBER = 4
"""A daemon of PySpark sends the number of a process in 4 bytes; that process then waits for the secret."""


def answer(address: tuple[str, int], message: bytes, patience: float = 3.0, until: bytes | None = None) -> bytes:
    """Return what a port answers to a message: b"" if it closes the connection or stays silent.

    Arguments:
        address: host and port.
        message: what is sent first.
        patience: seconds to wait for the answer.
        until: what an answer has at its end if the port leaves the connection open.
    """
    received = b""
    try:
        with socket.create_connection(address, timeout=patience) as connection:
            connection.sendall(message)
            while more := connection.recv(1 << 16):
                received += more
                if until is not None and until in received:
                    break
    except OSError:  # reset, or silent
        pass
    return received


def is_refusal(received: bytes) -> bool:
    """Return whether an answer gives a stranger nothing."""
    return len(received) in (0, _PROCESS_NUMBER) or any(refusal in received for refusal in REFUSALS)
