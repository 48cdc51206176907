"""The start of Spark's Python processes: they connect to Java first, and import PySpark then.

Spark waits ten seconds for the process of a streaming source to connect, which no setting changes. PySpark's process
connects only after its imports: half a second of processor time, which takes longer than that on a busy machine if many
queries start together. For a process that is connected, Spark waits as long as it needs.

`spark_home.py` copies this file, as a package `pyspark`, to the place that Spark puts first in the path of its Python
processes. It replaces itself by the installed package, so only the moment of the connection changes. It must not import
anything of this project.
"""

from __future__ import annotations

import importlib
import os
import socket
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

_PORT, _SOCKET, _SECRET = (
    "PYTHON_WORKER_FACTORY_PORT",
    "PYTHON_WORKER_FACTORY_SOCK_PATH",
    "PYTHON_WORKER_FACTORY_SECRET",
)


def connect() -> socket.socket | None:
    """Connect to the Java process that waits for this one, and send the secret that it expects within ten seconds.

    Returns:
        The connection, on which the answer to the secret is not read yet; None if Java waits for no connection, as for
        a process that forks others.

    Raises:
        OSError: Java no longer waits.
    """
    if _SOCKET in os.environ:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.connect(os.environ[_SOCKET])
        return connection
    if _PORT not in os.environ or _SECRET not in os.environ:
        return None
    host = "::1" if os.environ.get("SPARK_PREFER_IPV6", "false").lower() == "true" else "127.0.0.1"
    connection = socket.create_connection((host, int(os.environ[_PORT])))
    secret = os.environ[_SECRET].encode()
    connection.sendall(len(secret).to_bytes(4, "big") + secret)
    return connection


def hand_over(connection: socket.socket, util: ModuleType) -> None:
    """Have PySpark use a connection for the first one that it opens to Java.

    Arguments:
        util: the module `pyspark.util`.
    """
    original: Any = util.local_connect_and_auth

    def local_connect_and_auth(address: str | int | None, secret: str | None) -> tuple[Any, socket.socket]:
        util.local_connect_and_auth = original  # type: ignore[attr-defined]
        connection.settimeout(int(os.environ.get("SPARK_AUTH_SOCKET_TIMEOUT", "15")))
        file = connection.makefile("rwb", int(os.environ.get("SPARK_BUFFER_SIZE", "65536")))
        if secret is not None:
            answer = file.read(int.from_bytes(file.read(4), "big"))
            if answer != b"ok":
                raise RuntimeError(f"Spark refused the connection of this process: {answer!r}")
        return file, connection

    util.local_connect_and_auth = local_connect_and_auth  # type: ignore[attr-defined]


def replace_by_installed() -> None:
    """Replace this package by the installed PySpark, connected to Java."""
    connection = connect()
    here = str(Path(__file__).parents[1])  # as it is in the path
    sys.path[:] = [entry for entry in sys.path if entry != here]
    del sys.modules["pyspark"]
    importlib.import_module("pyspark")
    if connection is not None:
        hand_over(connection, importlib.import_module("pyspark.util"))


if __name__ == "pyspark":
    replace_by_installed()
