"""The server of the page: one process, which reads what runs write and is never on their path."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from cli.ui.app import Options, application
from streamlets.ownership import NotTrustedError, read_own

MOST_CONNECTIONS = 256
"""The connections that are served at the same time; more are refused until one of them ends."""

_FIRST_REQUEST = 10.0
"""Seconds that a connection may take for its first request."""


class _PatientProtocol(H11Protocol):
    """HTTP whose clients must send their first request soon: a connection without one costs others a place."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        asyncio.get_running_loop().call_later(_FIRST_REQUEST, self._require_request)

    def _require_request(self) -> None:
        if self.cycle is None and not self.transport.is_closing():
            self.transport.close()


class _Server(uvicorn.Server):
    """A server that ends normally when it is interrupted."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Begin to end at the first signal, and end at once at the second one."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self.handle_exit)
        yield


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens.

    Arguments:
        host: the address of an interface.
        port: the port; 0 for any.

    Raises:
        OSError: the address is in use, or not one of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(128)
    except OSError:
        listener.close()
        raise
    return listener


def serve(
    options: Options, listener: socket.socket, *, certificate: Path | None = None, key: Path | None = None
) -> None:
    """Serve pages until the process is interrupted.

    Arguments:
        options: what to show.
        listener: the socket.
        certificate: the file of the certificate for TLS; None without TLS.
        key: the file of its key; None if it is in the file of the certificate.
    """
    config = uvicorn.Config(
        application(options), http=_PatientProtocol, ws="none", lifespan="off", log_config=None, access_log=False,
        server_header=False, date_header=False, limit_concurrency=MOST_CONNECTIONS, timeout_keep_alive=30,
        timeout_graceful_shutdown=1, h11_max_incomplete_event_size=16 * 1024, proxy_headers=False,
        ssl_certfile=certificate, ssl_keyfile=key,
    )  # fmt: skip
    _Server(config).run(sockets=[listener])


def session_secret(file: Path) -> bytes:
    """Return the secret that signs sessions. It is kept in a file, so that pages stay open when the server restarts.

    Arguments:
        file: the file, which only its user can read; without the right to write it, the secret is for this process.
    """
    try:
        return bytes.fromhex(read_own(file).strip())
    except (OSError, ValueError, NotTrustedError):
        pass
    secret = secrets.token_bytes(32)
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError:
        return secret
    with os.fdopen(descriptor, "w") as stream:
        stream.write(secret.hex())
    return secret
