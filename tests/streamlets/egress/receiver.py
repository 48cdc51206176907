"""A server that takes the requests of the sink `webhook`, for tests and benchmarks."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, dict[str, str], str]
OK: Answer = (200, {}, "")


class Receiver:
    """A server that keeps the requests that it takes, each idempotency key once.

    Arguments:
        url: its address.
        answer: returns the answer to a request: its number, from 0, and its records.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.answer: Callable[[int, list[Any]], Answer] = lambda number, records: OK
        self.requests: list[tuple[str, list[Any]]] = []
        self.headers: list[dict[str, str]] = []
        self.taken: dict[str, list[Any]] = {}

    @property
    def ids(self) -> list[int]:
        """The records that were taken."""
        return sorted(record["id"] for records in self.taken.values() for record in records)


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Run a server on a free port of this machine."""

    taker: Receiver  # set below, when the port is known

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            records = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            key = self.headers["Idempotency-Key"]
            taker.requests.append((key, records))
            taker.headers.append(dict(self.headers))
            status, headers, text = taker.answer(len(taker.requests) - 1, records)
            if status == 200:
                assert taker.taken.setdefault(key, records) == records
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *arguments: Any) -> None:
            """Be quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    taker = Receiver(f"http://127.0.0.1:{server.server_address[1]}/hook")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield taker
    finally:
        server.shutdown()
        server.server_close()
