"""A receiver of OTLP over HTTP on this machine, which decodes what it gets with OpenTelemetry's own classes."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span


@dataclass(slots=True)
class Receiver:
    """What has arrived.

    Attributes:
        address: the URL of the receiver.
        status: the status of its answers.
        spans: the spans.
        services: the names of the services that have sent them.
        headers: the headers of each request.
    """

    address: str = ""
    status: int = 200
    spans: list[Span] = field(default_factory=list)
    services: set[str] = field(default_factory=set)
    headers: list[dict[str, str]] = field(default_factory=list)

    def take(self, body: bytes) -> None:
        """Decode a request."""
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.services |= {str(plain(resource.resource.attributes)["service.name"])}
            self.spans += [span for scope in resource.scope_spans for span in scope.spans]

    def named(self, name: str) -> list[Span]:
        """Return the spans with a name, in the order of their ends."""
        return sorted((span for span in self.spans if span.name == name), key=lambda span: span.end_time_unix_nano)


def plain(attributes: Any) -> dict[str, object]:
    """Return attributes as a dict."""
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in attributes}


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Run a receiver on a free port of the loopback address."""
    received = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            received.headers.append({name.lower(): value for name, value in self.headers.items()})
            if self.path == "/v1/traces" and received.status == 200:
                received.take(gzip.decompress(body) if self.headers["content-encoding"] == "gzip" else body)
            self.send_response(received.status if self.path == "/v1/traces" else 404)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    received.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield received
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
