"""The processor time that traces and the stored batches add to a batch: `python -m benchmarks.traces`.

The batches of a query on `delta` are played without Spark: each has read one batch of another query, and has five
phases. Its spans are made, encoded for OTLP, and not sent.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from blueprint.plan import ApplicationPlan
from blueprint.verification.verify import verify
from streamlets.project.catalog import ProjectCatalog
from streamlets.runner.events.status import RunStatus, UnitId
from streamlets.runner.events.unit_events import UnitProgressed
from streamlets.runner.samples.batches import BatchRing
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.runner.topics import channels_of
from streamlets.traces.spans import ChosenIds, Spans

_MODULE = """
from streamlets import AvroInlet, AvroOutlet, SparkStreamlet, SparkStreamletLogic


class Copy(SparkStreamlet):
    rows = AvroInlet("in", schema="n bigint not null")
    out = AvroOutlet(schema="n bigint not null")

    class Logic(SparkStreamletLogic["Copy"]):
        def build_streaming_queries(self):
            return self.write_stream(self.read_stream(self.streamlet.rows), self.streamlet.out)
"""
_BLUEPRINT = """
blueprint {
  streamlets { first = app.Copy, second = app.Copy }
  topics { source { consumers = [first.in], managed = false }
           middle { producers = [first.out], consumers = [second.in] }
           result.producers = [second.out] }
}
"""
_UNIT = UnitId("second", "out")
_KEPT = 100
"""The batches of which Spark keeps the positions."""


class _Encoding(SpanExporter):
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        encode_spans(spans).SerializeToString()
        return SpanExportResult.SUCCESS


def _planned(directory: Path) -> ApplicationPlan:
    (directory / "app.py").write_text(_MODULE)
    (directory / "blueprint.conf").write_text(_BLUEPRINT)
    blueprint = directory / "blueprint.conf"
    plan = verify(blueprint, catalog=ProjectCatalog(), environment={}, working_directory=directory).plan
    assert plan is not None
    return plan


def _write(plan: ApplicationPlan, state: StateDirectory) -> None:
    """Write a topic with a batch in each commit, and a checkpoint with a batch for each of them."""
    topic = channels_of(plan, state)["delta"].topic(plan.topic("middle"))
    contract = plan.streamlet("first").outlets[0].contract
    topic.create([contract])
    checkpoint = state.checkpoints / _UNIT.streamlet / _UNIT.part
    (checkpoint / "offsets").mkdir(parents=True)
    (checkpoint / "metadata").write_text(json.dumps({"id": str(uuid.uuid4())}))
    with topic.appender(contract, writer=f"first.out-{uuid.uuid4()}") as appender:
        for number in range(_KEPT):
            appender.append(pa.table({"n": [number]}).to_batches(), number)
            (checkpoint / "offsets" / str(number)).write_text(f'v1\n{{"batchTimestampMs":1}}\n{topic.end().json}')


def _cost(batches: int, take: Callable[[UnitProgressed], None], end: Callable[[], None]) -> float:
    """Return the processor time of a batch, in seconds."""
    phases = {"offsets": 0.012, "planning": 0.041, "executing": 0.388, "publishing": 0.052, "committing": 0.061}
    begin = time.process_time()
    for number in range(batches):
        at = 1 + number % (_KEPT - 1)
        take(UnitProgressed(time.time(), _UNIT, at, 1, {"out": 1}, inlets={"in": 1}, seconds=0.55, phases=phases))
    end()
    return (time.process_time() - begin) / batches


def main() -> None:
    """Print the cost of each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, default=2000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        state = StateDirectory(Path(directory) / ".flow", "traced")
        plan = _planned(Path(directory))
        _write(plan, state)
        ids = ChosenIds()
        provider = TracerProvider(id_generator=ids, shutdown_on_exit=False)
        provider.add_span_processor(BatchSpanProcessor(_Encoding()))
        spans, ring = Spans(plan, state, provider, ids), BatchRing(state)
        traced = _cost(arguments.batches, lambda event: spans.add(event, RunStatus()), provider.shutdown)
        stored = _cost(arguments.batches, ring.add, ring.write)
    print(f"a batch: {traced * 1e3:.2f} ms of processor time for its spans, {stored * 1e6:.0f} us to store it")


if __name__ == "__main__":
    main()
