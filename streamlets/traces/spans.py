"""`Spans`: makes spans of the events of a run: each batch is a trace, with its phases, and links to other batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from random import Random

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import Link, Span, SpanContext, SpanKind, Status, StatusCode, TraceFlags, set_span_in_context

from blueprint.plan import ApplicationPlan, InletPlan, StreamletPlan
from streamlets.channels.base import (
    ChannelUnavailableError,
    Position,
    TopicDamagedError,
    TopicLostError,
    TopicResource,
)
from streamlets.runner.checkpoints.checkpoint import Batch, Checkpoint, batch_in, initial_position
from streamlets.runner.events.event import Event
from streamlets.runner.events.phases import PHASES
from streamlets.runner.events.status import RunStatus, UnitId
from streamlets.runner.events.unit_events import UnitChanged, UnitProgressed
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.runner.topics import channels_of
from streamlets.runner.trace_ids import SpanId, batch_id, failed_attempt, query_checkpoint

MOST_LINKS = 128
"""The most links of a span, which is also OpenTelemetry's default: the newest batches that wrote what it read."""

_Attributes = dict[str, str | int | float]

# The query itself reports the error.
_UNKNOWN = (TopicLostError, TopicDamagedError, ChannelUnavailableError, ValueError, KeyError, TypeError, OSError)


class ChosenIds(IdGenerator):
    """Gives the next span the id that was chosen for it.

    Attributes:
        next: the id. A span with a parent is in the trace of its parent.
    """

    next = SpanId("0" * 32, "0" * 16)

    def generate_span_id(self) -> int:
        """Return the id of the span."""
        return int(self.next.span, 16)

    def generate_trace_id(self) -> int:
        """Return the id of the trace."""
        return int(self.next.trace, 16)


@dataclass(frozen=True, slots=True)
class _Read:
    """The part of a topic that a batch has read."""

    inlet: str
    topic: TopicResource
    after: Position | None
    until: Position


class Spans:
    """Makes the spans of a run.

    Arguments:
        plan: the application.
        state: its state directory, which has the checkpoints and the topics.
        provider: takes the spans.
        ids: gives the provider their ids.
    """

    def __init__(self, plan: ApplicationPlan, state: StateDirectory, provider: TracerProvider, ids: ChosenIds) -> None:
        channels = channels_of(plan, state)
        self._plan, self._checkpoints = plan, state.checkpoints
        self._topics = {topic.id: channels[topic.channel].topic(topic) for topic in plan.topics}
        self._tracer, self._ids = provider.get_tracer("streamlets"), ids
        self._others = Random()
        self._since: dict[UnitId, float] = {}
        self._restarts: dict[UnitId, tuple[float, int]] = {}

    def add(self, event: Event, status: RunStatus) -> None:
        """Make the spans of an event, if it has any.

        Arguments:
            event: the event.
            status: the status after it.
        """
        if isinstance(event, UnitProgressed):
            self._finished(event)
        elif isinstance(event, UnitChanged):
            if event.state in ("failed", "backing-off"):
                self._failed(event)
            elif event.state == "starting":
                self._since[event.unit] = event.time
            elif event.state == "running" and (restarts := status.units[event.unit].restarts):
                self._restarts[event.unit] = event.time, restarts

    def _finished(self, event: UnitProgressed) -> None:
        """Make the span of a batch, or of another amount of work, and the spans of its phases."""
        checkpoint = query_checkpoint(self._checkpoints, event.unit)
        number, query = event.batch, checkpoint.id
        id = batch_id(query, number) if number is not None and query else self._any()
        known = batch_in(checkpoint.directory, number) if number is not None and query else None
        reads = tuple(self._reads(checkpoint, known)) if known is not None else ()
        span = self._start(
            id,
            f"{event.unit} batch" if number is not None else f"{event.unit} transaction",
            event.time - event.seconds,
            _of_unit(event.unit) | _of_work(event) | {name: text for read in reads for name, text in _places(read)},
            kind=SpanKind.CONSUMER if event.inlets else SpanKind.PRODUCER,
            links=tuple(self._links(reads)),
        )
        if event.unit in self._restarts:
            time, restarts = self._restarts.pop(event.unit)
            span.add_event("restarted", {"streamlets.restarts": restarts}, _nanoseconds(time))
        start = event.time - event.seconds
        for phase in PHASES:
            if seconds := event.phases.get(phase.name, 0.0):
                own = batch_id(query, number, phase.name) if number is not None and query else self._any()
                child = self._start(own, phase.name, start, {}, parent=span)
                start += seconds
                child.end(_nanoseconds(start))
        span.end(_nanoseconds(event.time))

    def _failed(self, event: UnitChanged) -> None:
        """Make the span of an attempt that has failed: of a batch, or of the start of a unit."""
        checkpoint = query_checkpoint(self._checkpoints, event.unit)
        attempt, planned = failed_attempt(checkpoint, event.time), checkpoint.planned
        attributes, start = _of_unit(event.unit), self._since.get(event.unit, event.time)
        if attempt is not None and planned is not None:
            attributes["streamlets.batch"] = planned.number
            start = max(planned.time, start)  # a batch that is tried again was planned by an earlier attempt
        name = f"{event.unit} batch" if attempt is not None else f"{event.unit} start"
        span = self._start(attempt or self._any(), name, min(start, event.time), attributes)
        about: _Attributes = {"exception.message": event.cause}
        if event.frames:
            about["exception.stacktrace"] = "\n".join(event.frames)
        span.add_event("exception", about, _nanoseconds(event.time))
        if event.retry_in is not None:
            span.set_attribute("streamlets.retry_in", event.retry_in)
        span.set_status(Status(StatusCode.ERROR, event.cause.partition("\n")[0]))
        span.end(_nanoseconds(event.time))

    def _start(
        self, id: SpanId, name: str, time: float, attributes: _Attributes, *, parent: Span | None = None,
        kind: SpanKind = SpanKind.INTERNAL, links: tuple[Link, ...] = (),
    ) -> Span:  # fmt: skip
        self._ids.next = id
        context = set_span_in_context(parent) if parent is not None else None
        return self._tracer.start_span(name, context, kind, attributes, links, _nanoseconds(time))

    def _any(self) -> SpanId:
        """Return the id of a span that nothing refers to."""
        return SpanId(f"{self._others.getrandbits(128):032x}", f"{self._others.getrandbits(64):016x}")

    def _reads(self, checkpoint: Checkpoint, batch: Batch) -> Iterator[_Read]:
        streamlet = next((own for own in self._plan.streamlets if own.ref == checkpoint.streamlet), None)
        before = batch_in(checkpoint.directory, batch.number - 1)
        for source, end in batch.positions.items() if streamlet is not None else ():
            start = before.positions.get(source) if before is not None else None
            if before is None:
                start = initial_position(checkpoint.directory, source, end)
            until, after = Position(end), Position(start) if start is not None else None
            inlet = self._inlet(streamlet, source, until)
            known = after is not None or (inlet is not None and inlet.settings.starting == "earliest")
            if inlet is not None and known and after != until:
                yield _Read(inlet.name, self._topics[inlet.topic], after, until)

    def _inlet(self, streamlet: StreamletPlan | None, source: str, at: Position) -> InletPlan | None:
        """Return the inlet that a source reads; None for a source of the author's own."""
        own = sorted(streamlet.inlets, key=lambda inlet: inlet.name != source) if streamlet is not None else []
        with suppress(*_UNKNOWN):
            for inlet in own:
                if self._topics[inlet.topic].owns(at):
                    return inlet
        return None

    def _links(self, reads: tuple[_Read, ...]) -> Iterator[Link]:
        left = MOST_LINKS
        for read in reads:
            with suppress(*_UNKNOWN):
                for written in read.topic.written_by(read.after, read.until, left):
                    id = batch_id(written.query, written.number)
                    context = SpanContext(int(id.trace, 16), int(id.span, 16), True, TraceFlags(TraceFlags.SAMPLED))
                    yield Link(context, {"streamlets.topic": read.topic.plan.name, "streamlets.inlet": read.inlet})
                    left -= 1


def _of_unit(unit: UnitId) -> _Attributes:
    return {"streamlets.streamlet": unit.streamlet, "streamlets.query": unit.part}


def _of_work(event: UnitProgressed) -> _Attributes:
    attributes: Mapping[str, int | float | str | None] = {
        "streamlets.batch": event.batch,
        "streamlets.records.in": event.rows_in,
        "streamlets.records.out": sum(event.rows_out.values()),
        **{f"streamlets.inlet.{inlet}.records": rows for inlet, rows in event.inlets.items()},
        **{f"streamlets.outlet.{outlet}.records": rows for outlet, rows in event.rows_out.items()},
        "streamlets.dead_letters": event.dead_letters or None,
        "streamlets.late": event.late or None,
        "streamlets.state.rows": event.state_rows or None,
        "streamlets.watermark": event.watermark,
    }
    return {name: value for name, value in attributes.items() if value is not None}


def _places(read: _Read) -> Iterator[tuple[str, str]]:
    """Yield where a batch has begun and ended in a topic, as attributes."""
    name = f"streamlets.inlet.{read.inlet}"
    yield f"{name}.topic", read.topic.plan.name
    with suppress(*_UNKNOWN):
        yield f"{name}.until", read.topic.shown(read.until)
        if read.after is not None:
            yield f"{name}.after", read.topic.shown(read.after)


def _nanoseconds(time: float) -> int:
    return int(time * 1e9)
