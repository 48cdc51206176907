"""How spans leave a run: by OTLP over HTTP, in a thread of OpenTelemetry; the first failure of a series is reported."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from streamlets.runner.views import ViewError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

_PATH = "/v1/traces"
"""What OTLP adds to the address of a receiver for traces."""


class WarningExporter(SpanExporter):
    """Passes spans on, and reports the first failure of each series.

    Arguments:
        exporter: sends the spans.
        failed: takes the cause.

    Attributes:
        sent: the number of spans that were sent.
        lost: the number of spans that were not.
    """

    def __init__(self, exporter: SpanExporter, failed: Callable[[str], None]) -> None:
        self.sent = self.lost = 0
        self._exporter, self._failed = exporter, failed
        self._failing = False
        self._messages = _Messages()
        logger = logging.getLogger("opentelemetry")
        logger.addHandler(self._messages)
        logger.propagate = False  # it would repeat each failure on the terminal

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send spans."""
        self._messages.first = ""
        result = self._exporter.export(spans)
        if result is SpanExportResult.SUCCESS:
            self.sent += len(spans)
            self._failing = False
        else:
            self.lost += len(spans)
            if not self._failing:
                self._failing = True
                self._failed(self._messages.first)
        return result

    def shutdown(self) -> None:
        """End sending."""
        self._exporter.shutdown()


class _Messages(logging.Handler):
    """Keeps the first message of the client about an attempt, which has the cause of a failure."""

    first = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message."""
        self.first = self.first or record.getMessage()


def exporter_of(endpoint: str) -> SpanExporter:
    """Return the exporter to a receiver.

    Arguments:
        endpoint: the URL of the receiver, without the path of traces; "" for the variables of OpenTelemetry.

    Raises:
        ViewError: the URL has credentials, which others can read, or is not one of HTTP.
    """
    if not endpoint:
        return OTLPSpanExporter()
    url = urlsplit(endpoint)
    if url.scheme not in ("http", "https") or not url.hostname:
        raise ViewError(f"the address of a receiver must be a URL such as http://localhost:4318, found `{endpoint}`")
    if url.username or url.password or url.query:
        raise ViewError("the URL has credentials, which others can read: set OTEL_EXPORTER_OTLP_HEADERS")
    return OTLPSpanExporter(endpoint=endpoint.rstrip("/").removesuffix(_PATH) + _PATH)
