"""A server of records, page by page, that fails on request."""

from __future__ import annotations

import contextlib
import gzip
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

SIZE = 3
"""The number of records of a page."""


class Api(ThreadingHTTPServer):
    """The server.

    Attributes:
        records: its records.
        requests: the paths of the requests so far.
        headers: the headers of the last request.
        failures: the next answers: a status, and headers; `cut` ends the connection in the middle of an answer.
        token: the value that `Authorization` must have; "" for none.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.records: list[dict[str, Any]] = []
        self.requests: list[str] = []
        self.headers: dict[str, str] = {}
        self.failures: list[tuple[int | str, dict[str, str]]] = []
        self.token = ""
        self.zipped = False

    @property
    def url(self) -> str:
        """Its URL."""
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Api

    def log_message(self, *arguments: object) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        """Answer."""
        server, parts = self.server, urlsplit(self.path)
        server.requests.append(self.path)
        server.headers = dict(self.headers.items())
        failure, headers = server.failures.pop(0) if server.failures else (0, {})
        if server.token and self.headers.get("Authorization") != server.token:
            return self._answer(401, {"error": f"not {self.headers.get('Authorization')}"}, {})
        if isinstance(failure, int) and failure:
            return self._answer(failure, {"error": "busy"}, headers)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        records = server.records
        if "since" in query:  # inclusive
            records = [record for record in records if record["at"] >= query["since"]]
        answer, headers = self._page(parts.path, query, records)
        self._answer(200, answer, headers, cut=failure == "cut")
        return None

    def _page(self, path: str, query: dict[str, str], records: list[dict[str, Any]]) -> tuple[Any, dict[str, str]]:
        since = f"&since={query['since']}" if "since" in query else ""
        if path == "/link":
            at = int(query.get("from", 0))
            more = f'<{path}?from={at + SIZE}{since}>; rel="next", ' if at + SIZE < len(records) else ""
            return records[at : at + SIZE], {"Link": f'{more}<{path}?from=0>; rel="first"'}
        if path in ("/cursor", "/urls", "/products"):
            at = int(query.get("cursor", "c0")[1:])
            following = f"c{at + SIZE}" if at + SIZE < len(records) else None
            if following and path != "/cursor":
                following = f"{self.server.url}{path}?cursor={following}{since}"
            return {"data": {"items": records[at : at + SIZE]}, "meta": {"next": following, "now": len(query)}}, {}
        if path == "/loop":  # a, b, a, b and so on
            return {"items": records[:1], "next": {"a": "b"}.get(query.get("cursor", ""), "a")}, {}
        at = (int(query["page"]) - 1) * SIZE if path == "/page" else int(query["offset"]) if path == "/offset" else 0
        return records[at : at + SIZE] if path != "/all" else records, {}

    def _answer(self, status: int, answer: Any, headers: dict[str, str], *, cut: bool = False) -> None:
        body = json.dumps(answer).encode()
        if self.server.zipped:
            body, headers = gzip.compress(body), {**headers, "Content-Encoding": "gzip"}
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if cut else body)
        self.close_connection = True


@contextlib.contextmanager
def serving() -> Iterator[Api]:
    """Start a server, and stop it."""
    with Api() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
