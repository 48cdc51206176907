"""Traces of real runs: batches with their phases and links, failures, the ids in the log, and dead receivers."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from streamlets.runner.events.phases import PHASES
from tests.streamlets.traces.receiver import plain, receiving

MODULE = """
from pathlib import Path

from pyspark.sql import functions as F

from streamlets import AvroInlet, AvroOutlet, GeneratorSpout, SparkStreamlet, SparkStreamletLogic

NUMBER = "number bigint not null"


class Numbers(GeneratorSpout):
    out = AvroOutlet(schema=NUMBER)

    def run(self, out, resume):
        for number in range(3):
            yield out.transaction([{"number": number}])


class Twice(SparkStreamlet):
    source, out = AvroInlet(schema=NUMBER), AvroOutlet(schema=NUMBER)

    class Logic(SparkStreamletLogic["Twice"]):
        def build_streaming_queries(self):
            rows = self.read_stream(self.streamlet.source)
            return self.write_stream(rows.select((F.col("number") * 2).alias("number")), self.streamlet.out)


class Last(SparkStreamlet):
    source = AvroInlet(schema=NUMBER)

    class Logic(SparkStreamletLogic["Last"]):
        def build_streaming_queries(self):
            def take(rows, batch):
                rows.count()
                if not Path("failed").exists():
                    Path("failed").touch()
                    raise ValueError("the first attempt fails: the password is hunter2-is-secret")

            return self.query("last", self.read_stream(self.streamlet.source).writeStream.foreachBatch(take))
"""
BLUEPRINT = """
blueprint {
  streamlets { numbers = traced_app.Numbers, twice = traced_app.Twice, last = traced_app.Last }
  topics { numbers { producers = [numbers.out], consumers = [twice.source] }
           doubled { producers = [twice.out], consumers = [last.source] } }
}
flow.retry.min-backoff = 100 ms
flow.streamlets.twice.inlets.source.max-records = 1
"""

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a function that runs an application of three streamlets, of which the last one fails once."""
    (tmp_path / "traced_app.py").write_text(MODULE)
    (tmp_path / "blueprint.conf").write_text(BLUEPRINT)

    def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "cli.main", "run", "--available-now", *arguments],
            cwd=tmp_path, env={**os.environ, **variables}, capture_output=True, text=True, timeout=600,
        )  # fmt: skip

    return run


@pytest.mark.spark
@pytest.mark.slow
def test_batches_are_traces_that_are_linked_by_what_they_read(run: Run, tmp_path: Path) -> None:
    """A receiver gets each batch with its phases and the batches whose records it has read, and each failure."""
    with receiving() as received:
        done = run(
            f'flow.telemetry.endpoint="{received.address}"', "--log-format", "json",
            APP_PASSWORD="hunter2-is-secret", OTEL_EXPORTER_OTLP_HEADERS="api-key=for the receiver",
        )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in done.stdout
    assert received.services == {tmp_path.name}
    assert all(headers["api-key"] == "for the receiver" for headers in received.headers)

    twice, (failed, last) = received.named("twice.out batch"), received.named("last.last batch")
    assert [plain(span.attributes)["streamlets.batch"] for span in twice] == [0, 1, 2]
    assert len(received.named("numbers transaction")) == 3
    assert all(span.kind == Span.SPAN_KIND_CONSUMER and not span.links for span in twice), "spouts have no batches"
    assert {(link.trace_id, link.span_id) for link in last.links} == {(span.trace_id, span.span_id) for span in twice}
    assert plain(last.links[0].attributes) == {"streamlets.topic": "doubled", "streamlets.inlet": "source"}
    assert plain(twice[1].attributes)["streamlets.inlet.source.after"], "where it has begun to read"

    children = [span for span in received.spans if span.parent_span_id == twice[0].span_id]
    assert {span.trace_id for span in children} == {twice[0].trace_id}
    assert "executing" in {span.name for span in children} <= {phase.name for phase in PHASES}
    spent = sum(span.end_time_unix_nano - span.start_time_unix_nano for span in children)
    assert abs(spent - (twice[0].end_time_unix_nano - twice[0].start_time_unix_nano)) < 10e6

    assert failed.status.code == Status.STATUS_CODE_ERROR and failed.trace_id == last.trace_id
    assert failed.span_id != last.span_id
    (exception,) = failed.events
    assert "the first attempt fails" in str(plain(exception.attributes)["exception.message"])
    assert "hunter2" not in str(received.spans)
    assert [event.name for event in last.events] == ["restarted"]
    _assert_the_log_has_the_ids_of(failed, tmp_path)


def _assert_the_log_has_the_ids_of(failed: Span, directory: Path) -> None:
    (log,) = directory.glob(".flow/*/logs/run.log")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    (retried,) = [line for line in lines if line.get("state") == "backing-off"]
    assert (retried["trace_id"], retried["span_id"]) == (failed.trace_id.hex(), failed.span_id.hex())
    assert {line["trace_id"] for line in lines if line["event"] == "failure"} == {failed.trace_id.hex()}
    assert not [line for line in lines if line["event"] == "run-started" and "trace_id" in line]


@pytest.mark.spark
@pytest.mark.slow
def test_a_dead_receiver_changes_nothing_but_a_warning(run: Run, tmp_path: Path) -> None:
    """The run ends as without traces, and says once that they are lost; without them, the log has no ids."""
    (tmp_path / "failed").touch()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        done = run("--view", f"traces=http://127.0.0.1:{taken.getsockname()[1]}", OTEL_BSP_SCHEDULE_DELAY="100")
    assert done.returncode == 0, done.stdout + done.stderr
    (warning,) = [line for line in (done.stdout + done.stderr).splitlines() if "traces" in line]
    assert warning.startswith("warning: traces cannot be sent, and are lost until they can; the run goes on: ")
    assert "refused" in warning
    assert "Traceback" not in done.stdout + done.stderr
