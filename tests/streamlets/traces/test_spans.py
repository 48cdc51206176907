"""Spans of events, without Spark: what a batch has read is in a checkpoint that the test writes."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import StatusCode

from streamlets.runner.events.status import RunStatus, UnitId, UnitStatus
from streamlets.runner.events.unit_events import UnitChanged, UnitProgressed
from streamlets.runner.trace_ids import LoggedIds, batch_id
from streamlets.traces import spans
from streamlets.traces.spans import ChosenIds, Spans
from tests.streamlets.channels.topics import READING, batch, made

UNIT = UnitId("mean", "out")
OWN, FEED = str(uuid.UUID(int=9)), str(uuid.UUID(int=1))
SPAN = "mean.out batch"


class Traced:
    """A query that reads a topic to which a batch of another query is added before each of its own."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch, starting: str = "earliest", **provider: Any):
        self.topic = made(directory / "topics")
        self.checkpoint = directory / "checkpoints" / "mean" / "out"
        for part in ("offsets", "commits"):
            (self.checkpoint / part).mkdir(parents=True)
        (self.checkpoint / "metadata").write_text(json.dumps({"id": OWN}))
        inlet = SimpleNamespace(name="in", topic="readings", settings=SimpleNamespace(starting=starting))
        plan: Any = SimpleNamespace(
            topics=(self.topic.plan,), streamlets=(SimpleNamespace(ref="mean", inlets=(inlet,)),)
        )
        state: Any = SimpleNamespace(checkpoints=directory / "checkpoints")
        channel = SimpleNamespace(topic=lambda plan: self.topic)
        monkeypatch.setattr(spans, "channels_of", lambda plan, state: {"delta": channel})
        self.sent, ids = InMemorySpanExporter(), ChosenIds()
        made_by = TracerProvider(id_generator=ids, shutdown_on_exit=False, **provider)
        made_by.add_span_processor(SimpleSpanProcessor(self.sent))
        self.spans = Spans(plan, state, made_by, ids)
        self.logged = LoggedIds(state.checkpoints)

    def write(self, number: int, writer: str = f"feed.out-{FEED}") -> None:
        """Add a batch of another query, or what another writer appends."""
        with self.topic.appender(READING, writer=writer) as appender:
            appender.append([batch([number])], number)

    def planned(self, number: int, time: float = 0.0) -> None:
        """Plan a batch, up to the end of the topic."""
        head = json.dumps({"batchTimestampMs": int(time * 1000)})
        (self.checkpoint / "offsets" / str(number)).write_text(f"v1\n{head}\n{self.topic.end().json}")

    def finished(self, number: int, **more: Any) -> ReadableSpan:
        """Plan and finish a batch; return its span."""
        self.planned(number)
        (self.checkpoint / "commits" / str(number)).write_text("v1\n{}")
        event = UnitProgressed(1000.0 + number, UNIT, number, 1, {"out": 1}, inlets={"in": 1}, seconds=0.5, **more)
        self.spans.add(event, RunStatus())
        return self.named(SPAN)[-1]

    def named(self, name: str) -> list[ReadableSpan]:
        """Return the spans with a name."""
        return [span for span in self.sent.get_finished_spans() if span.name == name]


def _links(span: ReadableSpan) -> list[tuple[str, str]]:
    return [(f"{link.context.trace_id:032x}", f"{link.context.span_id:016x}") for link in span.links]


def _of(query: str, number: int) -> tuple[str, str]:
    id = batch_id(query, number)
    return id.trace, id.span


def test_a_batch_is_linked_to_exactly_what_it_has_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the positions in the checkpoint; a batch that reads nothing new has no links."""
    traced = Traced(tmp_path, monkeypatch)
    traced.write(0)
    traced.write(1)
    assert _links(traced.finished(0)) == [_of(FEED, 1), _of(FEED, 0)]
    traced.write(0, "spout")
    traced.write(2)
    second = traced.finished(1)
    assert _links(second) == [_of(FEED, 2)]
    assert (f"{second.context.trace_id:032x}", f"{second.context.span_id:016x}") == _of(OWN, 1)
    assert _links(traced.finished(2)) == []


def test_the_first_batch_of_a_reader_that_starts_at_the_end_has_no_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it has begun is not known, and a guess would be wrong."""
    traced = Traced(tmp_path, monkeypatch, starting="latest")
    traced.write(0)
    assert _links(traced.finished(0)) == []
    traced.write(1)
    assert _links(traced.finished(1)) == [_of(FEED, 1)]


def test_only_the_newest_batches_are_linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many a batch has read."""
    monkeypatch.setattr(spans, "MOST_LINKS", 3)
    traced = Traced(tmp_path, monkeypatch)
    for number in range(10):
        traced.write(number)
    assert _links(traced.finished(0)) == [_of(FEED, number) for number in (9, 8, 7)]


def test_phases_follow_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the start of the batch to its end."""
    whole = Traced(tmp_path, monkeypatch)
    batch = whole.finished(0, phases={"committing": 0.1, "planning": 0.15, "executing": 0.25})
    children = [whole.named(name)[0] for name in ("planning", "executing", "committing")]
    assert [child.parent for child in children] == [batch.context] * 3
    assert children[0].start_time == batch.start_time == 999_500_000_000
    assert children[1].start_time == children[0].end_time
    assert children[2].end_time == batch.end_time == 1000_000_000_000


def test_a_failure_is_a_span_with_the_ids_in_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the trace of the batch, from when it was planned; without a batch in a trace of its own."""
    traced = Traced(tmp_path, monkeypatch)
    traced.planned(0, time=500.0)
    traced.spans.add(UnitChanged(490.0, UNIT, "starting"), RunStatus())
    failed = UnitChanged(510.0, UNIT, "backing-off", "ValueError: bad\nmore", ("app.py:3 in f",), retry_in=1.0)
    traced.spans.add(failed, RunStatus())
    (attempt,) = traced.named(SPAN)
    assert (attempt.start_time, attempt.end_time) == (500_000_000_000, 510_000_000_000)
    assert (attempt.status.status_code, attempt.status.description) == (StatusCode.ERROR, "ValueError: bad")
    context = attempt.context
    assert context is not None
    ids = {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}
    assert traced.logged.of(failed) == ids
    assert traced.logged.of_failure(UNIT) == {"trace_id": ids["trace_id"]}
    up = RunStatus(units={UNIT: UnitStatus(UNIT, "running", 511.0, restarts=1)})
    traced.spans.add(UnitChanged(511.0, UNIT, "running"), up)
    batch = traced.finished(0)
    assert batch.context is not None and batch.context.trace_id == context.trace_id
    assert [event.name for event in batch.events] == ["restarted"]
    assert traced.logged.of_failure(UNIT) == {}
    traced.spans.add(UnitChanged(520.0, UnitId("mean"), "failed", "ImportError: no module"), RunStatus())
    (start,) = traced.named("mean start")
    assert start.status.status_code is StatusCode.ERROR and traced.logged.of(failed) == {}


def test_a_sampler_decides_for_batches_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch that it drops sends nothing, and disturbs nothing."""
    traced = Traced(tmp_path, monkeypatch, sampler=ALWAYS_OFF)
    traced.planned(0)
    traced.spans.add(UnitProgressed(1.0, UNIT, 0, 1, phases={"executing": 0.1}), RunStatus())
    traced.spans.add(UnitProgressed(1.0, UnitId("spout"), None, 0, {"out": 5}), RunStatus())
    assert traced.sent.get_finished_spans() == ()
