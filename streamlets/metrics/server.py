"""A small server for metrics and probes. It is read-only, and no client can make it busy or large."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from blueprint.loopback import is_loopback

MOST_CONNECTIONS = 32
"""Connections at one time; further ones are closed at once."""

MOST_SECONDS = 10.0
"""Seconds after which a connection is closed, however slowly its client reads or writes."""

_POLL = 0.5


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to a request."""

    status: int
    content_type: str
    body: bytes


Pages = Mapping[str, Callable[[], Answer]]
"""The answer to each path."""


class _Server(ThreadingHTTPServer):
    """Counts its connections, and closes those that take too long."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, host: str, port: int, pages: Pages) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.pages = pages
        self.loopback = is_loopback(host)
        self._lock = threading.Lock()
        self._until: dict[socket.socket, float] = {}
        super().__init__((host, port), _Handler)

    def server_bind(self) -> None:
        """Bind without a look-up of the host's name, which may take long."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread of its own, unless there are too many."""
        with self._lock:
            full = len(self._until) >= MOST_CONNECTIONS
            if not full:
                self._until[request] = time.monotonic() + MOST_SECONDS
        if full:
            self.shutdown_request(request)
        else:
            super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        with self._lock:
            self._until.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Cut connections off that take too long; their threads then end."""
        now = time.monotonic()
        with self._lock:
            late = [request for request, until in self._until.items() if now >= until]
        for request in late:
            with suppress(OSError):
                request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that break off; nothing is printed between the lines of the run."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = MOST_SECONDS
    server_version = "streamlets"
    sys_version = ""

    def do_GET(self) -> None:
        """Answer with a page."""
        if self.server.loopback and not _is_local(self.headers.get("Host", "")):
            self._answer(Answer(403, "text/plain; charset=utf-8", b"unknown host\n"))  # a page of another site asks
            return
        page = self.server.pages.get(self.path.partition("?")[0])
        if page is None:
            paths = ", ".join(self.server.pages)
            self._answer(Answer(404, "text/plain; charset=utf-8", f"not found; there are {paths}\n".encode()))
            return
        try:
            answer = page()
        except Exception:  # noqa: BLE001 - the run goes on, and no client sees its frames
            answer = Answer(500, "text/plain; charset=utf-8", b"internal error\n")
        self._answer(answer)

    def do_HEAD(self) -> None:
        """Answer as `do_GET`, without the content."""
        self.do_GET()

    def _answer(self, answer: Answer) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: a probe comes every few seconds."""


class MetricsServer:
    """Serves pages in threads of its own while it is entered.

    Arguments:
        host: the address to listen on, such as `127.0.0.1`.
        port: the port; 0 for a free one.
        pages: the answer to each path.

    Attributes:
        port: the port that it listens on.

    Raises:
        OSError: the address is in use, or not an address of this machine.
    """

    def __init__(self, host: str, port: int, pages: Pages) -> None:
        self._server = _Server(host, port, pages)
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": _POLL}, name="metrics", daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.socket.close()


def _is_local(host: str) -> bool:
    """Return whether the header `Host` names this machine's loopback: other names may be rebound to it."""
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    return not host or is_loopback(name.lower())
