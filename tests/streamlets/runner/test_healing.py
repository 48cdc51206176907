"""A query whose source's process is killed, or which is stopped from outside, runs again."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from blueprint.core_settings import Retry
from blueprint.plan import StreamletPlan
from streamlets.runner.events.event import Event
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.unit_events import UnitChanged, UnitProgressed
from streamlets.runner.supervision.facts import Fact, StopNow
from streamlets.runner.supervision.workers import Workers
from streamlets.runner.units.site import Site, SiteContext
from streamlets.runner.units.units import StreamletUnit
from streamlets.spark.listener import QueryListener
from streamlets.spark.session import Spark
from tests.streamlets.runner.supervision.bench import real_time, supervise

PATIENCE = 300.0
_MODULE = '''
from pathlib import Path

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from streamlets import SparkStreamlet, SparkStreamletLogic


def source():  # its classes are pickled by value: Spark's processes cannot import this module
    class Numbers(DataSourceStreamReader):
        def initialOffset(self):
            return {"n": 0}

        def latestOffset(self, start, limit):
            import os
            Path("PID").write_text(str(os.getpid()))
            return {"n": start["n"] + 1}

        def partitions(self, start, end):
            return [InputPartition((start["n"], end["n"]))]

        def read(self, partition):
            for n in range(*partition.value):
                yield (n,)

    class Source(DataSource):
        @classmethod
        def name(cls):
            return "numbers"

        def schema(self):
            return "n bigint"

        def streamReader(self, schema):
            return Numbers()

    return Source


class Ticks(SparkStreamlet):
    """Numbers into nothing; it counts its starts."""

    class Logic(SparkStreamletLogic["Ticks"]):
        def on_start(self):
            self.note("on_start")

        def on_stop(self, cause):
            self.note(f"on_stop {cause}")

        def note(self, what):
            with open("HOOKS", "a") as file:
                print(what, self.session.version, file=file)

        def build_streaming_queries(self):
            self.session.dataSource.register(source())
            rows = self.source("ticks", format="numbers")
            return self.query("out", rows.writeStream.format("noop").option("pstl.retry.min-backoff", "10ms"))
'''


class Run:
    """A supervisor over one streamlet on the shared Spark, with real time."""

    def __init__(self, spark: Any, directory: Path) -> None:
        self.pid = directory / "pid"
        self.hooks = directory / "hooks"
        module = _MODULE.replace("PID", str(self.pid)).replace("HOOKS", str(self.hooks))
        (directory / "healing_ticks.py").write_text(module)
        descriptor: Any = None
        plan = StreamletPlan(
            ref="ticks",
            class_name="healing_ticks.Ticks",
            descriptor=descriptor,
        )
        process: subprocess.Popen[bytes] = spark.sparkContext._gateway.proc
        running = Spark(spark, process)
        keeper: Any = SimpleNamespace(spark=lambda: running, alive=True, failure=lambda: None)
        self.inbox: SimpleQueue[Fact] = SimpleQueue()
        context = SiteContext(
            application="app", directory=str(directory), spark=keeper, topics={}, channels={},
            checkpoints=directory / "checkpoints", listener=QueryListener(), report=self.inbox.put,
        )  # fmt: skip
        self.site = Site(plan, context)
        self.events: list[Event] = []
        unit = StreamletUnit(UnitId("ticks", ""), self.site, Retry(), Workers(2), self.inbox.put, lambda _, text: None)
        self.supervisor = real_time([unit], self.events.append)

    def until(self, reached: Callable[[], bool]) -> None:
        """Supervise until a condition is reached."""
        supervise(self.supervisor, self.inbox, reached, seconds=PATIENCE, details=self.events)

    def progress_after(self, event: Event) -> bool:
        """Whether a batch with rows was finished after an event."""
        later = self.events[self.events.index(event) + 1 :]
        return any(isinstance(each, UnitProgressed) and each.rows_in for each in later)

    def changes(self, state: str) -> list[UnitChanged]:
        """The events of entering a state, of the query."""
        return [e for e in self.events if isinstance(e, UnitChanged) and e.state == state and e.unit.part]


@pytest.fixture
def run(spark: Any, tmp_path: Path) -> Iterator[Run]:
    """A run that is up and has made progress."""
    made = Run(spark, tmp_path)
    made.until(lambda: bool(made.changes("running")) and made.progress_after(made.changes("running")[0]))
    yield made
    made.supervisor.handle(StopNow())
    made.until(lambda: made.supervisor.done)
    assert made.hooks.read_text().splitlines()[-1].startswith("on_stop stopped")


@pytest.mark.spark
def test_a_query_runs_again_after_its_source_died_and_after_somebody_stopped_it(run: Run) -> None:
    """The process of its Python data source is killed, then it is stopped behind the runner's back: both are failures,
    each with its cause, after which it makes progress again; its own option says how long to wait. The hooks of its
    logic frame each of its runs, as it is the only query of its streamlet."""
    psutil.Process(int(run.pid.read_text())).kill()
    run.until(lambda: len(run.changes("backing-off")) == 1)
    died = run.changes("backing-off")[0]
    assert died.cause
    assert died.retry_in == pytest.approx(0.01)
    run.until(lambda: len(run.changes("running")) == 2 and run.progress_after(run.changes("running")[1]))

    assert run.site._context is not None
    (query,) = run.site._context.session.streams.active
    query.stop()
    run.until(lambda: len(run.changes("backing-off")) == 2)
    assert run.changes("backing-off")[1].cause == "it ended without a request to stop"
    run.until(lambda: len(run.changes("running")) == 3 and run.progress_after(run.changes("running")[2]))
    assert not run.changes("failed")
    hooks = [line.split(":")[0].split()[:2] for line in run.hooks.read_text().splitlines()]
    again = ["on_start", run.site._context.session.version]
    assert hooks == [again, ["on_stop", "failed"], again, ["on_stop", "completed"], again]
