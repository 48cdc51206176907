"""A paged HTTP API of products with ETags, for the example: `python server.py [PORT]`.

GET or HEAD /products?page=2    a page of products as JSON; the header `Link` has the next page
PUT /products/12                changes the price of a product, such as {"price": 3.5}
"""

import hashlib
import json
import sys
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

PAGE = 10
NAMES = ("apple", "fig", "lemon", "melon", "pear", "plum", "quince")


class Api(ThreadingHTTPServer):
    """The server; it listens on this machine only.

    Arguments:
        port: the port; 0 for a free one.
    """

    daemon_threads = True

    def __init__(self, port: int = 8077) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.products = [{"id": n, "name": f"{NAMES[n % 7]} {n}", "price": 1 + n / 4} for n in range(35)]
        self.requests: Counter[str] = Counter()
        self.failures = 0  # so many of the next answers are errors

    @property
    def url(self) -> str:
        """The address of the first page."""
        return f"http://127.0.0.1:{self.server_address[1]}/products"


class Handler(BaseHTTPRequestHandler):
    """Answers a request."""

    server: Api

    def do_HEAD(self) -> None:
        self._page(body=False)

    def do_GET(self) -> None:
        self._page(body=True)

    def do_PUT(self) -> None:
        product = self.server.products[int(self.path.rpartition("/")[2])]
        product["price"] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["price"]
        self._answer(200, json.dumps(product).encode())

    def _page(self, *, body: bool) -> None:
        self.server.requests[self.command] += 1
        if self.server.failures:
            self.server.failures -= 1
            self._answer(503, b"busy\n")
            return
        number = int(parse_qs(urlsplit(self.path).query).get("page", ["1"])[0])
        content = json.dumps(self.server.products[(number - 1) * PAGE : number * PAGE]).encode()
        headers = {"ETag": f'"{hashlib.sha256(content).hexdigest()[:16]}"'}
        if number * PAGE < len(self.server.products):
            headers["Link"] = f'</products?page={number + 1}>; rel="next"'
        self._answer(200, content if body else b"", **headers)

    def _answer(self, status: int, content: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Print what was asked, unless somebody else runs the server."""
        if __name__ == "__main__":
            super().log_message(format, *args)


if __name__ == "__main__":
    Api(int(sys.argv[1]) if len(sys.argv) > 1 else 8077).serve_forever()
