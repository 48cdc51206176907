"""The view `traces`: sends the batches of a run to a receiver of OpenTelemetry."""

from __future__ import annotations

import os
from threading import Thread
from typing import TYPE_CHECKING, Self

from blueprint.settings.secret_sources import secrets_of_process
from blueprint.settings.secrets import Secrets
from streamlets.runner.events.event import Event
from streamlets.runner.events.status import RunStatus
from streamlets.runner.events.view import View
from streamlets.runner.views import ViewContext, ViewError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter

_PATIENCE = 4.0
"""Seconds that spans have at the end of a run; a view as a whole has five."""

_HEADERS = ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS")


class Traces:
    """Opens the view. Its argument is the URL of a receiver; default: `flow.telemetry.endpoint`, then the variables of
    OpenTelemetry."""

    def open(self, context: ViewContext) -> View:
        """Return the view.

        Raises:
            ViewError: the extra is not installed, or the address is not one of a receiver.
        """
        try:
            from streamlets.traces.exporting import exporter_of
        except ModuleNotFoundError as error:
            if not (error.name or "").startswith("opentelemetry"):
                raise
            raise ViewError("it requires OpenTelemetry: run `pip install 'streamlets[otel]'`") from None
        return TracesView(context, exporter_of(context.argument or context.plan.settings.telemetry.endpoint or ""))


class TracesView(View):
    """Makes spans of the events of a run, and sends them.

    Arguments:
        context: the run.
        exporter: sends spans; may take long, and fail.
    """

    traced = True

    def __init__(self, context: ViewContext, exporter: SpanExporter) -> None:
        from streamlets.traces.exporting import WarningExporter

        self._context = context
        self._exporter = WarningExporter(exporter, self._failed)

    def __enter__(self) -> Self:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        from streamlets.traces.spans import ChosenIds, Spans

        ids, plan = ChosenIds(), self._context.plan
        name = os.environ.get("OTEL_SERVICE_NAME") or plan.name
        self._provider = TracerProvider(
            resource=Resource.create({"service.name": name}), id_generator=ids, shutdown_on_exit=False
        )
        self._provider.add_span_processor(BatchSpanProcessor(self._exporter))
        self._spans = Spans(plan, self._context.state, self._provider, ids)
        return self

    def __exit__(self, *error: object) -> None:
        """Send what waits, but not for long: a receiver that does not answer must not delay the end of a run."""
        closing = Thread(target=self._provider.shutdown, name="traces", daemon=True)
        closing.start()
        closing.join(_PATIENCE)

    def event(self, event: Event, status: RunStatus) -> None:
        """Make the spans of an event."""
        self._spans.add(event, status)

    def _failed(self, cause: str) -> None:
        about = self._secrets().masked(cause) if cause else "its receiver has refused them"
        self._context.warn(f"traces cannot be sent, and are lost until they can; the run goes on: {about}")

    def _secrets(self) -> Secrets:
        secrets = secrets_of_process(self._context.plan, os.environ)
        headers = [pair for name in _HEADERS for pair in os.environ.get(name, "").split(",")]
        secrets.add(value for pair in headers if (value := pair.partition("=")[2].strip()))
        return secrets
