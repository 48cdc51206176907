"""Units on Spark: batches are counted once whatever Spark's bus drops, and queries the author started stay together."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest

from blueprint.core_settings import Retry
from blueprint.plan import StreamletPlan
from streamlets.api.context import StreamingWrite
from streamlets.batches import BatchWritten
from streamlets.runner.checkpoints.checkpoint import latest
from streamlets.runner.events.record_events import RecordsLate
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.unit_events import BatchStuck, UnitProgressed, UnitWarned
from streamlets.runner.supervision.facts import Became, Ended, Fact, Progressed, Seen, Started
from streamlets.runner.supervision.workers import Workers
from streamlets.runner.units.hooks import HookedLogic, HookLimits
from streamlets.runner.units.site import Site, SiteContext
from streamlets.runner.units.units import QueryUnit, StreamletUnit
from streamlets.spark.failure import Failure
from streamlets.spark.listener import QueryListener
from streamlets.spark.session import Spark

PATIENCE = 300.0
F = TypeVar("F", bound=Fact)


def _report(batch: int, rows: int) -> dict[str, Any]:
    sources, steps = [{"numInputRows": rows}], {"latestOffset": 1, "addBatch": 2}
    return {"batchId": batch, "runId": "r", "sources": sources, "sink": {"numOutputRows": -1}, "durationMs": steps}


def _idle_report(batch: int) -> dict[str, Any]:
    return _report(batch, 0) | {"durationMs": {"latestOffset": 1}}


@dataclass
class FakeQuery:
    """A query that keeps its reports, as in Spark; the listener only gets those that a test passes on."""

    reports: list[dict[str, Any]]
    runId: str = "r"  # noqa: N815 - as Spark has it
    isActive: bool = True  # noqa: N815
    name: str = ""
    stop: Callable[[], None] = lambda: None
    status: dict[str, str] = field(default_factory=lambda: {"message": "Waiting for data to arrive"})

    def exception(self) -> None:
        """It never fails."""

    @property
    def _jsq(self) -> Any:
        known = [
            SimpleNamespace(batchId=lambda r=r: r["batchId"], json=lambda r=r: json.dumps(r)) for r in self.reports
        ]
        thread = SimpleNamespace(isAlive=lambda: self.isActive)
        return SimpleNamespace(
            lastProgress=lambda: known[-1],
            recentProgress=lambda: known,
            streamingQuery=lambda: SimpleNamespace(queryExecutionThread=lambda: thread),
        )


@dataclass
class FakeSite:
    """The place of one query `out`."""

    query: FakeQuery
    batches: dict[int, BatchWritten]
    listener: QueryListener = field(default_factory=QueryListener)
    bounded: bool = True
    alive: bool = True
    logic: HookedLogic = field(
        default_factory=lambda: HookedLogic(HookLimits(60, 60), lambda logic: None, lambda text: None)
    )
    output_modes: dict[str, str] = field(default_factory=dict)
    followups: Any = field(
        default_factory=lambda: SimpleNamespace(
            invalid=lambda report: 0, batch=lambda query, report: None, finish=lambda: None, unwritten=lambda query: ""
        )
    )

    def start(self, write: StreamingWrite, *, last: bool = False) -> FakeQuery:
        """Up at once."""
        return self.query

    def written(self, query: str, batch: int) -> BatchWritten | None:
        """Return what the channel reported, once."""
        return self.batches.pop(batch, None)

    def rows_read(self, report: dict[str, Any], executions: int) -> dict[str, int]:
        """As Spark counts them."""
        return {"in": sum(int(source["numInputRows"]) for source in report["sources"]) // executions}

    def shared(self, progress: UnitProgressed, report: object, executions: int) -> UnitProgressed:
        """Nothing is fused into the query."""
        return progress

    def backlog(self, report: object) -> dict[str, int]:
        """Nothing is known of it."""
        return {}

    def records_late(self, report: dict[str, Any], unit: UnitId, time: float, executions: int) -> RecordsLate | None:
        """As a report has them."""
        records = report.get("late", 0) // executions
        return (
            RecordsLate(time=time, unit=unit, batch=report["batchId"], inlet="in", records=records, watermark="")
            if records
            else None
        )

    def trigger(self, write: StreamingWrite) -> None:
        """As fast as it goes."""

    def failure(self) -> None:
        """Spark is there."""


def _next(facts: SimpleQueue[Fact], kind: type[F]) -> F:
    """The next fact of a kind; others are passed over."""
    while True:
        fact = facts.get(timeout=PATIENCE)
        if isinstance(fact, kind):
            return fact


def test_batches_that_the_bus_dropped_are_counted_once() -> None:
    """Missing reports are read from the query at its end, repeated ones count once, and the rows of a last batch
    without input are reported before the end."""
    query = FakeQuery([_report(0, 10), _report(1, 5), _report(2, 0)])
    written = {n: BatchWritten("a", "out", n, {"out": rows}) for n, rows in enumerate((7, 5, 3))}
    site, facts = FakeSite(query, written), SimpleQueue[Fact]()
    write = StreamingWrite("out", None)  # type: ignore[arg-type]
    unit = QueryUnit(UnitId("a", "out"), site, Retry(), Workers(1), facts.put, lambda _, text: None, write)  # type: ignore[arg-type]
    unit.start(1)
    _next(facts, Started)
    for _ in range(2):
        site.listener.onQueryProgress(
            SimpleNamespace(progress=lambda: SimpleNamespace(json=lambda: json.dumps(_report(0, 10))))
        )
    query.isActive = False
    unit.check()
    assert facts.qsize() == 1  # the event of its end may be under way
    unit.check()
    rest = [facts.get() for _ in range(facts.qsize())]
    found = [(f.progress.batch, f.progress.rows_in, f.progress.rows_out) for f in rest if isinstance(f, Progressed)]
    assert found == [(0, 10, {"out": 7}), (1, 5, {"out": 5}), (2, 0, {"out": 3})]
    assert rest[-1] == Ended(unit.id, 1)


def test_late_records_are_reported_before_their_batch() -> None:
    """So that the sums of late rows do not have them, too. They are counted once in a batch that was executed twice."""
    query, facts = FakeQuery([_report(0, 10), _report(1, 5) | {"late": 6}]), SimpleQueue[Fact]()
    site: Any = FakeSite(query, {1: BatchWritten("a", "out", 1, {"out": 2}, executions=2)})
    write = StreamingWrite("out", None)  # type: ignore[arg-type]
    unit = QueryUnit(UnitId("a", "out"), site, Retry(), Workers(1), facts.put, lambda _, text: None, write)
    unit.start(1)
    _next(facts, Started)
    query.isActive = False
    unit.check()
    unit.check()
    first, event, second, _ = [facts.get() for _ in range(facts.qsize())]
    assert isinstance(first, Progressed)
    assert isinstance(event, Seen)
    assert isinstance(event.event, RecordsLate)
    assert isinstance(second, Progressed)
    assert (event.event.unit, event.event.batch, event.event.records) == (unit.id, 1, 3)


def test_an_idle_query_has_no_batch() -> None:
    """Spark's report of a look for data that found none has the number of a batch that was not executed: a query that
    fails in that batch must not seem to have committed it."""
    query, facts = FakeQuery([_report(4, 10), _idle_report(5)]), SimpleQueue[Fact]()
    site: Any = FakeSite(query, {})
    write = StreamingWrite("out", None)  # type: ignore[arg-type]
    unit = QueryUnit(UnitId("a", "out"), site, Retry(), Workers(1), facts.put, lambda _, text: None, write)
    unit.start(1)
    _next(facts, Started)
    query.isActive = False
    unit.check()
    unit.check()
    facts_left = [facts.get() for _ in range(facts.qsize())]
    assert [fact.progress.batch for fact in facts_left if isinstance(fact, Progressed)] == [4]


def test_the_end_of_a_query_is_reported_despite_an_error_in_its_counts() -> None:
    """An exception while the last batches are counted is logged; the supervisor would otherwise wait for ever."""
    query, facts, logged = FakeQuery([_report(0, 10)]), SimpleQueue[Fact](), list[str]()
    site: Any = FakeSite(query, {})

    def broken(report: object) -> dict[str, int]:
        raise RuntimeError("no count today")

    site.backlog = broken
    write = StreamingWrite("out", None)  # type: ignore[arg-type]
    unit = QueryUnit(
        UnitId("a", "out"), site, Retry(), Workers(1), facts.put, lambda _, text: logged.append(text), write
    )
    unit.start(1)
    _next(facts, Started)
    query.isActive = False
    unit.check()
    unit.check()
    assert _next(facts, Ended) == Ended(unit.id, 1)
    assert "no count today" in logged[0]


def test_a_query_that_cannot_be_stopped_has_not_ended() -> None:
    """That is reported once, and its end when it comes: it must not be started again before."""

    def stop() -> None:
        raise RuntimeError("Stream Execution thread for stream failed to stop within 30000 milliseconds")

    query, facts = FakeQuery([_report(0, 10)], stop=stop), SimpleQueue[Fact]()
    site: Any = FakeSite(query, {})
    write = StreamingWrite("out", None)  # type: ignore[arg-type]
    unit = QueryUnit(UnitId("a", "out"), site, Retry(), Workers(1), facts.put, lambda _, text: None, write)
    unit.start(1)
    _next(facts, Started)
    unit.stop()
    warned = _next(facts, Seen).event
    assert isinstance(warned, UnitWarned)
    assert warned.what == "its batch cannot be interrupted and still runs; the query ends when the batch does"
    unit.kill()
    unit.check()
    assert facts.empty()
    query.isActive = False
    unit.check()
    unit.check()
    assert _next(facts, Ended) == Ended(unit.id, 1)


def test_a_query_that_fails_while_the_next_one_starts_ends_with_it() -> None:
    """The unit ends once, when all its queries have: the one that was being started is stopped, and the failure of the
    first is the cause."""
    mine, other, facts = FakeQuery([], "mine"), FakeQuery([], "other"), SimpleQueue[Fact]()
    site: Any = FakeSite(mine, {}, bounded=False)

    def ends(query: FakeQuery, error: str | None) -> None:
        query.isActive = False
        exception = SimpleNamespace(isDefined=lambda: error is not None, get=lambda: error)
        site.listener.onQueryTerminated(SimpleNamespace(exception=lambda: exception, runId=lambda: query.runId))

    def start(write: StreamingWrite, *, last: bool) -> FakeQuery:
        ends(mine, "it broke")
        return other

    other.stop = lambda: ends(other, None)
    site.build = lambda unit, *, last, replicas: (mine, StreamingWrite("other", None))  # type: ignore[arg-type]
    site.start = start
    unit = StreamletUnit(UnitId("a", ""), site, Retry(), Workers(1), facts.put, lambda _, text: None)
    unit.start(1)
    ended = _next(facts, Ended)
    assert ended.failure is not None
    assert ended.failure.cause == "it broke"
    assert not other.isActive
    assert facts.empty()


def test_a_query_that_another_process_had_built_is_started() -> None:
    """It is built again and selected by its name; a query that no longer exists fails for good. It is not checked while
    Spark is not running."""
    query, facts = FakeQuery([_report(0, 10)]), SimpleQueue[Fact]()
    site: Any = FakeSite(query, {})
    site.build = lambda unit, *, last, replicas: (StreamingWrite("other", None), StreamingWrite("out", None))  # type: ignore[arg-type]
    unit = QueryUnit(UnitId("a", "out"), site, Retry(), Workers(1), facts.put, lambda _, text: None)
    unit.start(4)
    assert _next(facts, Started) == Started(unit.id, 4)
    site.alive = query.isActive = False
    for _ in range(3):
        unit.check()
    assert facts.empty()
    gone = QueryUnit(UnitId("a", "removed"), site, Retry(), Workers(1), facts.put, lambda _, text: None)
    gone.start(1)
    failure = _next(facts, Ended).failure
    assert failure is not None
    assert failure.fatal


def test_the_next_query_starts_when_the_one_before_has_found_its_sources() -> None:
    """A worker starts them one after the other: the processes that plan for them do not all start at once."""
    facts, workers, calls = SimpleQueue[Fact](), Workers(1), list[str]()

    class Starting:
        def __init__(self, name: str) -> None:
            self.runId = self.name = name

        @property
        def status(self) -> dict[str, str]:
            calls.append(f"{self.name} looks")
            found = calls.count(f"{self.name} looks") == 3
            return {"message": "Waiting for data to arrive" if found else "Getting offsets from PythonMicroBatchStream"}

    def unit(name: str) -> QueryUnit:
        query: Any = Starting(name)
        site: Any = FakeSite(query, {})

        def start(write: StreamingWrite, *, last: bool) -> Any:
            calls.append(f"{name} starts")
            return query

        site.start = start
        write: Any = StreamingWrite("out", None)  # type: ignore[arg-type]
        return QueryUnit(UnitId(name, "out"), site, Retry(), workers, facts.put, lambda _, text: None, write)

    for each in (unit("a"), unit("b")):
        each.start(1)
    assert {_next(facts, Started).unit.streamlet for _ in range(2)} == {"a", "b"}
    assert calls[:5] == ["a starts", "a looks", "a looks", "a looks", "b starts"]


def test_a_last_run_is_built_for_its_end() -> None:
    """The query that was built for an endless run is not used; the run ends without a failure if it has written all."""
    query, facts, calls = FakeQuery([_report(0, 10)]), SimpleQueue[Fact](), list[object]()
    written, unwritten = StreamingWrite("out", None), ["messages of batch 0 are not in the dead letters yet"]  # type: ignore[arg-type]
    site: Any = FakeSite(query, {}, bounded=False)
    site.followups.unwritten = lambda name: unwritten[0]

    def build(unit: UnitId, *, last: bool, replicas: int | None) -> tuple[StreamingWrite, ...]:
        calls.append(("build", last, replicas))
        return (written,)

    def start(write: StreamingWrite, *, last: bool) -> FakeQuery:
        calls.append(("start", last))
        return query

    def ends() -> Ended:
        exception = SimpleNamespace(isDefined=lambda: False)
        site.listener.onQueryTerminated(SimpleNamespace(exception=lambda: exception, runId=lambda: query.runId))
        return _next(facts, Ended)

    site.build, site.start = build, start
    unit = QueryUnit(UnitId("a", "out"), site, Retry(), Workers(1), facts.put, lambda _, text: None, written)
    unit.start(1, last=True)
    _next(facts, Started)
    assert calls == [("build", True, None), ("start", True)]
    assert ends().failure == Failure(unwritten[0])
    unwritten[0] = ""
    unit.start(2, last=True)
    _next(facts, Started)
    assert ends().failure is None
    unit.start(3)
    _next(facts, Started)
    assert calls[-2:] == [("build", False, None), ("start", False)]


def test_a_query_is_built_again_for_another_number_of_replicas() -> None:
    """The query that was built with the streamlet is used only if it was built for as many."""
    query, facts, calls = FakeQuery([_report(0, 10)]), SimpleQueue[Fact](), list[object]()
    built: Any = StreamingWrite("out", None)  # type: ignore[arg-type]
    site: Any = FakeSite(query, {}, bounded=False)

    def build(unit: UnitId, *, last: bool, replicas: int | None) -> tuple[StreamingWrite, ...]:
        calls.append(replicas)
        return (built,)

    site.build, site.start = build, lambda write, *, last: query
    for built_for, replicas, expected in ((2, 2, []), (2, 4, [4]), (None, 4, [4]), (2, None, [None]), (None, None, [])):
        calls.clear()
        unit = QueryUnit(
            UnitId("a", "out"), site, Retry(), Workers(1), facts.put, lambda _, text: None, built, built_for
        )
        unit.start(1, replicas=replicas)
        _next(facts, Started)
        assert calls == expected


_MODULE = '''
import time
from pathlib import Path
from streamlets import SparkStreamlet, SparkStreamletLogic

class Rates(SparkStreamlet):
    """Two queries, the first started here."""

    class Logic(SparkStreamletLogic["Rates"]):
        def build_streaming_queries(self):
            def look(rows, number):
                while Path("HANGING").exists():
                    time.sleep(0.1)
                if not Path("FIXED").exists():
                    raise RuntimeError("not fixed yet")
            mine = self.source("mine", format="rate", options={"rowsPerSecond": 50}).writeStream.foreachBatch(look)
            other = self.source("other", format="rate", options={"rowsPerSecond": 50}).writeStream.format("noop")
            started = mine.option("checkpointLocation", self.context.checkpoint_dir("mine")).start()
            if Path("BROKEN").exists():
                raise RuntimeError("broken behind it")
            return [started, self.query("other", other)]
'''


@pytest.fixture
def site(spark: Any, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Site]:
    """A place for the streamlet above, in a session of its own."""
    name = f"started_{request.node.name}"
    (tmp_path / f"{name}.py").write_text(
        _MODULE.replace("FIXED", str(tmp_path / "fixed"))
        .replace("BROKEN", str(tmp_path / "broken"))
        .replace("HANGING", str(tmp_path / "hanging"))
    )
    descriptor: Any = None
    plan = StreamletPlan(
        ref="rates",
        class_name=f"{name}.Rates",
        descriptor=descriptor,
    )
    process: subprocess.Popen[bytes] = spark.sparkContext._gateway.proc
    running = Spark(spark, process)
    keeper: Any = SimpleNamespace(spark=lambda: running, alive=True, failure=lambda: None)
    context = SiteContext(
        application="app", directory=str(tmp_path), spark=keeper, topics={}, channels={},
        checkpoints=tmp_path / "checkpoints", listener=QueryListener(), report=lambda fact: None,
    )  # fmt: skip
    made = Site(plan, context)
    yield made
    if made._context is not None:
        for query in made._context.session.streams.active:
            query.stop()


@pytest.mark.spark
def test_queries_the_author_started_stay_one_unit(site: Site, tmp_path: Path) -> None:
    """A streamlet that starts a query itself is never split: a failing query ends all of them, a restart builds all of
    them again, and a drain ends each of them after a commit."""
    facts: SimpleQueue[Fact] = SimpleQueue()
    unit = StreamletUnit(UnitId("rates", ""), site, Retry(), Workers(2), facts.put, lambda _, text: None)
    unit.start(1)
    ended = _next(facts, Ended)
    assert (ended.unit, ended.run) == (unit.id, 1)
    assert ended.failure is not None
    assert ended.failure.cause == "RuntimeError: not fixed yet"
    assert [frame.rpartition(" in ")[2] for frame in ended.failure.frames] == ["look"]
    assert _active(site) == set()

    (tmp_path / "fixed").touch()
    unit.start(2)
    assert _next(facts, Started) == Started(unit.id, 2)
    progress = _next(facts, Progressed).progress
    assert progress.unit == unit.id
    assert {"planning", "executing", "committing"} <= set(progress.phases), "the steps of Spark have known names"
    assert sum(progress.phases.values()) == pytest.approx(progress.seconds, abs=0.01)
    assert "app.rates.other" in _active(site)
    assert len(_active(site)) == 2
    unit.drain()
    assert _next(facts, Ended) == Ended(unit.id, 2)
    assert _active(site) == set()
    for query in (tmp_path / "checkpoints" / "rates").iterdir():
        assert latest(query / "offsets") == latest(query / "commits")


@pytest.mark.spark
def test_where_a_batch_is(site: Site, tmp_path: Path) -> None:
    """Of a function of `foreachBatch` that hangs the author's line is reported, else where Spark's own thread is."""
    (tmp_path / "fixed").touch()
    (tmp_path / "hanging").touch()
    facts: SimpleQueue[Fact] = SimpleQueue()
    unit = StreamletUnit(UnitId("rates", ""), site, Retry(), Workers(2), facts.put, lambda _, text: None)
    unit.start(1)
    assert _next(facts, Started) == Started(unit.id, 1)
    deadline = time.monotonic() + PATIENCE
    while not (stuck := _located(unit, facts)).frames:  # its first batch has not begun
        assert time.monotonic() < deadline
        assert stuck.stack
        assert not any(frame.startswith("java.") for frame in stuck.stack)
    (frame,) = stuck.frames
    assert frame.endswith(" in look")
    (tmp_path / "hanging").unlink()
    unit.stop()
    _next(facts, Ended)


def _located(unit: StreamletUnit, facts: SimpleQueue[Fact]) -> BatchStuck:
    unit.locate(0, 1000.0)
    stuck = _next(facts, Seen).event
    assert isinstance(stuck, BatchStuck)
    return stuck


@pytest.mark.spark
def test_a_failure_while_the_author_starts_leaves_nothing_running(site: Site, tmp_path: Path) -> None:
    """When the second query cannot be started, or the author's code fails after the first, the running query is
    stopped, and the failure is reported."""
    (tmp_path / "fixed").touch()
    (tmp_path / "checkpoints" / "rates").mkdir(parents=True)
    (tmp_path / "checkpoints" / "rates" / "other").write_text("a file where a folder is to be")
    facts: SimpleQueue[Fact] = SimpleQueue()
    unit = StreamletUnit(UnitId("rates", ""), site, Retry(), Workers(1), facts.put, lambda _, text: None)
    unit.start(1)
    assert _next(facts, Ended).failure is not None
    assert _active(site) == set()
    (tmp_path / "broken").touch()
    unit.start(2)
    while (ended := _next(facts, Ended)).run == 1:
        pass  # the end of the first query is reported, too
    assert ended.failure is not None
    assert ended.failure.cause == "RuntimeError: broken behind it"
    assert _active(site) == set()


def _active(site: Site) -> set[str | None]:
    assert site._context is not None
    return {query.name for query in site._context.session.streams.active}


def test_no_queries_is_a_failure_for_good() -> None:
    """A logic without queries fails for good at once."""
    facts: SimpleQueue[Fact] = SimpleQueue()
    site: Any = FakeSite(FakeQuery([]), {}, bounded=False)
    site.build = lambda unit, *, last, replicas: ()
    StreamletUnit(UnitId("a", ""), site, Retry(), Workers(1), facts.put, lambda _, text: None).start(1)
    failure = _next(facts, Ended).failure
    assert failure is not None
    assert failure.fatal


def test_queries_the_runner_starts_become_units_of_their_own() -> None:
    """Unstarted writes are supervised separately, with their own options where there are no settings."""
    facts: SimpleQueue[Fact] = SimpleQueue()
    options = {"max_attempts": 3, "random_factor": 0.2}
    writes = (StreamingWrite("x", None), StreamingWrite("y", None, retry=options))  # type: ignore[arg-type]
    plan = SimpleNamespace(settings=SimpleNamespace(retry_set=frozenset({"random_factor"})))
    site: Any = FakeSite(FakeQuery([]), {}, bounded=False)
    site.build, site.plan = lambda unit, *, last, replicas: writes, plan
    StreamletUnit(UnitId("a", ""), site, Retry(), Workers(1), facts.put, lambda _, text: None).start(1)
    parts = _next(facts, Became).parts
    assert [str(part.id) for part in parts] == ["a.x", "a.y"]
    assert [part.retry for part in parts] == [Retry(), Retry(max_attempts=3)]


_CONTINUOUS = """
from streamlets import SparkStreamlet, SparkStreamletLogic

class Rates(SparkStreamlet):
    class Logic(SparkStreamletLogic["Rates"]):
        def build_streaming_queries(self):
            rates = self.source("rates", format="rate")
            writer = rates.writeStream.format("noop").queryName("rates").trigger(continuous="1 second")
            return RESULT
"""


@pytest.mark.spark
@pytest.mark.parametrize("result", ['self.query("rates", writer)', "writer.start()"], ids=["returned", "started"])
def test_a_continuous_trigger_is_refused_at_the_start(site: Site, tmp_path: Path, result: str) -> None:
    """The streamlet fails for good, also if the author has started the query, which is then stopped."""
    (tmp_path / f"{site.plan.class_name.partition('.')[0]}.py").write_text(_CONTINUOUS.replace("RESULT", result))
    facts: SimpleQueue[Fact] = SimpleQueue()
    unit = StreamletUnit(UnitId("rates", ""), site, Retry(), Workers(2), facts.put, lambda _, text: None)
    unit.start(1)
    failure = _next(facts, Ended).failure
    assert failure is not None
    assert failure.cause.startswith(
        "StreamletError: the query `rates` has a continuous trigger, which is not supported"
    )
    assert failure.fatal
    assert facts.empty()
    assert _active(site) == set()
