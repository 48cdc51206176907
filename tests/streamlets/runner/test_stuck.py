"""Real batches that hang, in a worker of Spark and in this process, are interrupted and repeated: nothing is lost or
doubled."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any

import pyarrow.dataset as ds
import pytest

from benchmarks.processes import events, killed_at_end, wait_until
from blueprint.core_settings import Retry
from blueprint.plan import StreamletPlan
from streamlets.runner.events.event import Event
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.unit_events import UnitChanged, UnitWarned
from streamlets.runner.supervision import interruption
from streamlets.runner.supervision.facts import Fact, Overlong, StopNow
from streamlets.runner.supervision.workers import Workers
from streamlets.runner.units.site import Site, SiteContext
from streamlets.runner.units.units import StreamletUnit
from streamlets.spark.listener import QueryListener
from streamlets.spark.session import Spark
from tests.streamlets.runner.supervision.bench import real_time, supervise

PATIENCE = 300.0
REPOSITORY = Path(__file__).resolve().parents[3]
NUMBERS = range(3)
_MODULE = '''
import time
from pathlib import Path
from pyspark.sql import functions as F
from streamlets import SparkStreamlet, SparkStreamletLogic

HERE = Path("DIRECTORY")


class Hanging(SparkStreamlet):
    """Two queries that hang as long as there is a file with their name, and one batch for each file of numbers."""

    class Logic(SparkStreamletLogic["Hanging"]):
        def build_streaming_queries(self):
            def in_worker(n):
                Path("DIRECTORY/worker-began").touch()
                while Path("DIRECTORY/worker-hangs").exists():
                    import time
                    time.sleep(0.05)
                return n

            def in_driver(rows, number):
                text = "".join(f"{row.n}\\n" for row in rows.collect())
                wait_for_the_database()
                (HERE / "driver" / f"{number}.txt").write_text(text)

            def numbers(name):
                options = {"path": str(HERE / "in"), "maxFilesPerTrigger": 1}
                return self.source(name, format="json", schema="n bigint", options=options)

            rows = numbers("for_worker").select(F.udf(in_worker, "bigint")("n").alias("n"))
            sink = rows.writeStream.format("parquet").option("path", str(HERE / "worker"))
            each = numbers("for_driver").writeStream.foreachBatch(in_driver)
            return [self.query("worker", sink), self.query("driver", each)]


def wait_for_the_database():
    (HERE / "driver-began").touch()
    while (HERE / "driver-hangs").exists():
        time.sleep(0.05)
'''


class Run:
    """A supervisor over the streamlet on the shared Spark, with real time."""

    def __init__(self, spark: Any, directory: Path) -> None:
        self.directory = directory
        (directory / "hanging_app.py").write_text(_MODULE.replace("DIRECTORY", str(directory)))
        (directory / "driver").mkdir()
        (directory / "in").mkdir()
        for n in NUMBERS:
            (directory / "in" / f"{n}.json").write_text(json.dumps({"n": n}))
        descriptor: Any = None
        plan = StreamletPlan(ref="hang", class_name="hanging_app.Hanging", descriptor=descriptor)
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
        unit = StreamletUnit(UnitId("hang"), self.site, Retry(), Workers(2), self.inbox.put, lambda _, text: None)
        self.supervisor = real_time([unit], self.events.append)

    def until(self, reached: Callable[[], bool]) -> None:
        """Supervise until a condition is reached."""
        supervise(self.supervisor, self.inbox, reached, seconds=PATIENCE, details=self.events)

    def changes(self, query: str, state: str) -> list[UnitChanged]:
        """The events of a query entering a state."""
        unit = UnitId("hang", query)
        return [e for e in self.events if isinstance(e, UnitChanged) and e.unit == unit and e.state == state]

    def is_stuck(self, query: str) -> None:
        """Report that the first batch of a query, which hangs, takes too long."""
        self.until((self.directory / f"{query}-began").exists)
        self.supervisor.handle(Overlong(UnitId("hang", query), 0, time.time() - 61, restart=True))

    def numbers(self, query: str) -> Counter[int]:
        """How often a query has written each number."""
        if query == "driver":
            return Counter(int(n) for file in (self.directory / query).iterdir() for n in file.read_text().split())
        files = self.directory / query / "_spark_metadata"
        if not files.exists():
            return Counter()
        entries = [json.loads(line) for log in files.glob("[0-9]*") for line in log.read_text().splitlines()[1:]]
        paths = {entry["path"].removeprefix("file://") for entry in entries}  # Spark also repeats them in one log
        return Counter(n for path in paths for n in ds.dataset(path).to_table()["n"].to_pylist())


@pytest.fixture
def run(spark: Any, tmp_path: Path) -> Iterator[Run]:
    """A run whose queries hang in their first batches."""
    for query in ("worker", "driver"):
        (tmp_path / f"{query}-hangs").touch()
    made = Run(spark, tmp_path)
    yield made
    for query in ("worker", "driver"):
        (tmp_path / f"{query}-hangs").unlink(missing_ok=True)
    made.supervisor.handle(StopNow())
    made.until(lambda: made.supervisor.done)


@pytest.mark.spark
def test_batches_that_hang_are_interrupted_and_repeated(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark ends a task in a worker at once. A function in this process cannot be interrupted: that is reported, and
    the query is started again when the function has returned, not before. Both write each number once."""
    run.is_stuck("worker")
    run.until(lambda: bool(run.changes("worker", "backing-off")))
    (stuck,) = run.changes("worker", "backing-off")
    assert (stuck.cause, stuck.retry_in) == ("stuck: batch 0 has been running for 1 min 1 s", 1.0)
    assert stuck.frames
    (run.directory / "worker-hangs").unlink()
    run.until(lambda: len(run.numbers("worker")) == len(NUMBERS))

    monkeypatch.setattr(interruption, "STOPPED_WITHIN", 0.1)
    run.is_stuck("driver")
    run.until(lambda: any(isinstance(event, UnitWarned) for event in run.events))
    (warned,) = (event for event in run.events if isinstance(event, UnitWarned))
    assert warned.unit == UnitId("hang", "driver")
    assert warned.what == (
        "its batch cannot be interrupted and still runs; the query ends when the batch does; with `flow.isolation = "
        "process` its process would be replaced"
    )
    (draining,) = run.changes("driver", "draining")
    assert draining.frames[-1].endswith("in wait_for_the_database")
    assert (len(run.changes("driver", "running")), run.changes("driver", "backing-off")) == (1, [])
    (run.directory / "driver-hangs").unlink()
    run.until(lambda: len(run.numbers("driver")) == len(NUMBERS))
    (again,) = run.changes("driver", "backing-off")
    assert (again.cause, again.frames) == (draining.cause, draining.frames)
    assert [run.numbers(query) for query in ("worker", "driver")] == [Counter(NUMBERS)] * 2
    assert run.changes("driver", "running")[-1].restarts == 1


_BLOCKED_MODULE = """
import ctypes
from pathlib import Path
from streamlets import AvroInlet, AvroOutlet, GeneratorSpout, SparkStreamlet, SparkStreamletLogic

HERE = Path(__file__).parent
SCHEMA = "n bigint not null"


class Numbers(GeneratorSpout):
    out = AvroOutlet(schema=SCHEMA)

    def run(self, out, resume):
        for n in range(resume or 0, 5):
            yield out.transaction([{"n": n}], resume=n + 1)
        while not out.wait(3600):
            pass


class Archive(SparkStreamlet):
    incoming = AvroInlet("in", schema=SCHEMA)

    class Logic(SparkStreamletLogic["Archive"]):
        def build_streaming_queries(self):
            def write(rows, number):
                text = "".join(f"{row.n}\\n" for row in rows.collect())
                if (HERE / "blocks").exists():
                    (HERE / "blocks").unlink()
                    block_the_interpreter()
                (HERE / "out" / f"{number}.txt").write_text(text)

            return self.query("out", self.read_stream(self.streamlet.incoming).writeStream.foreachBatch(write))


def block_the_interpreter():
    c, mutex = ctypes.PyDLL(None), ctypes.create_string_buffer(64)
    c.pthread_mutex_lock(mutex)
    c.pthread_mutex_lock(mutex)
"""
_BLOCKED_BLUEPRINT = """
blueprint {
  streamlets {
    numbers = blocked_app.Numbers
    archive = blocked_app.Archive
    copy { class = streamlets.Sink, inlets.in = "n bigint not null", parameters { to = json, options.path = copied } }
  }
  topics.numbers { producers = [numbers.out], consumers = [archive.in, copy.in] }
}
flow { application = blocked, isolation = process, on-stuck = restart, stuck-after = 30s }
flow.streamlets { archive.group = all, copy.group = all, archive.inlets.in.max-records = 1 }
"""


@pytest.mark.full
@pytest.mark.slow
def test_a_driver_process_whose_interpreter_is_blocked_is_replaced(tmp_path: Path) -> None:
    """A real run: the new process continues from the checkpoints of both streamlets, and the cause has the line of the
    call into C. `tests/streamlets/runner/drivers/test_remote.py` has the smaller version, without Spark."""
    (tmp_path / "blocked_app.py").write_text(_BLOCKED_MODULE)
    (tmp_path / "blueprint.conf").write_text(_BLOCKED_BLUEPRINT)
    (tmp_path / "out").mkdir()
    (tmp_path / "blocks").touch()
    out = tmp_path / "run.out"
    command = [sys.executable, "-m", "cli.main", "run", str(tmp_path), "--format", "json"]
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}

    def written() -> Counter[int]:
        return Counter(int(n) for file in (tmp_path / "out").iterdir() for n in file.read_text().split())

    def copied() -> Counter[int]:
        lines = [line for file in (tmp_path / "copied").glob("*.json") for line in file.read_text().splitlines()]
        return Counter(json.loads(line)["n"] for line in lines)

    with out.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, cwd=tmp_path, env=environment)
    with killed_at_end(process):
        wait_until(process, out, lambda: len(written()) == 5 and len(copied()) == 5, seconds=PATIENCE)
        process.terminate()
        assert process.wait(PATIENCE) == 0
    assert (written(), copied()) == (Counter(range(5)), Counter(range(5)))
    changes = [event for event in events(out) if event.get("state") == "backing-off"]
    stuck = [event for event in changes if event["streamlet"] == "archive" and event["cause"].startswith("stuck: ")]
    assert any(frame.endswith(" in block_the_interpreter") for event in stuck for frame in event["frames"])
    copy = [event["cause"] for event in changes if event["streamlet"] == "copy"]
    assert copy, "it was in the same process"
    assert all(cause.startswith("stuck: ") or "was replaced" in cause for cause in copy), "its batch may have hung, too"
