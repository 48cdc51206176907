"""The address of a receiver, and what happens when it refuses spans."""

from __future__ import annotations

import sys

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from streamlets.runner.views import ViewContext, ViewError
from streamlets.traces.exporting import WarningExporter, exporter_of
from streamlets.traces.view import Traces
from tests.streamlets.traces.receiver import receiving


@pytest.mark.parametrize(
    ("endpoint", "problem"),
    [
        ("http://me:secret@localhost:4318", "OTEL_EXPORTER_OTLP_HEADERS"),
        ("https://localhost:4318?token=secret", "OTEL_EXPORTER_OTLP_HEADERS"),
        ("localhost:4318", "http://localhost:4318"),
        ("grpc://localhost:4317", "http://localhost:4318"),
    ],
)
def test_an_address_that_is_wrong_is_refused(endpoint: str, problem: str) -> None:
    """So is one with credentials, which do not appear in the message."""
    with pytest.raises(ViewError) as refused:
        exporter_of(endpoint)
    assert problem in str(refused.value)
    assert "secret" not in str(refused.value)


def test_each_series_of_failures_is_reported_once() -> None:
    """A receiver that refuses is reported again only after it has taken something."""
    failures: list[str] = []
    with receiving() as received:
        exporter = WarningExporter(exporter_of(received.address), failures.append)
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        for status in (400, 400, 200, 400):
            received.status = status
            provider.get_tracer("test").start_span("span").end()
        provider.shutdown()
    assert len(failures) == 2 and all("400" in failure for failure in failures)
    assert (exporter.sent, exporter.lost, len(received.spans)) == (1, 3, 1)


def test_the_variables_of_opentelemetry_name_a_receiver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an address, they decide; a path of traces is added as OTLP says."""
    with receiving() as received:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", received.address)
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(exporter_of("")))
        provider.get_tracer("test").start_span("span").end()
        provider.shutdown()
    assert [span.name for span in received.spans] == ["span"]


def test_the_view_needs_the_extra(monkeypatch: pytest.MonkeyPatch, traced: ViewContext) -> None:
    """Without OpenTelemetry the view cannot be opened, and says what to install."""
    monkeypatch.delitem(sys.modules, "streamlets.traces.exporting")
    for name in [name for name in sys.modules if name.startswith("opentelemetry")]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ViewError, match=r"pip install 'streamlets\[otel\]'"):
        Traces().open(traced)
