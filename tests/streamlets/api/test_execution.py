"""`StreamletExecution`: the queries of a streamlet, started together and stopped together."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from streamlets import (
    QueriesFailedError,
    SparkStreamlet,
    SparkStreamletContext,
    SparkStreamletLogic,
    StreamletExecution,
    triggers,
)


class Query:
    """A query in the hands of the test."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.isActive = True
        self.runId = uuid.uuid4()
        self.failure = failure
        self.stops = 0

    def exception(self) -> Exception | None:
        """Why it failed, once it has ended."""
        return None if self.isActive else self.failure

    def stop(self) -> None:
        """End."""
        self.stops += 1
        self.isActive = False


def running(*queries: Query, bounded: tuple[Query, ...] = ()) -> StreamletExecution:
    """An execution of these; the bounded ones may end by themselves."""
    return StreamletExecution(queries, frozenset(str(query.runId) for query in bounded))  # type: ignore[arg-type]


def test_it_is_ready_at_once_and_completed_when_stopped() -> None:
    """All queries are stopped, without an error."""
    one, two = Query(), Query()
    execution = running(one, two)
    assert execution.ready.done() and not execution.completed.done()
    execution.stop().result(300)
    assert (one.stops, two.stops) == (1, 1)


def test_a_query_that_fails_stops_the_others() -> None:
    """And `completed` raises, with the first failure as its cause."""
    one, two = Query(failure := ValueError("bad row")), Query()
    execution = running(one, two)
    one.isActive = False
    with pytest.raises(QueriesFailedError, match="bad row") as caught:
        execution.completed.result(300)
    assert caught.value.__cause__ is failure and two.stops == 1


def test_all_failures_are_told() -> None:
    """Not only the first."""
    one, two = Query(ValueError("bad row")), Query(ValueError("bad disk"))
    one.isActive = two.isActive = False
    with pytest.raises(QueriesFailedError, match=r"(?s)bad row.*bad disk"):
        running(one, two).completed.result(300)


def test_a_query_that_ends_though_nobody_asked_stops_the_others() -> None:
    """As in Cloudflow: one of them is no longer there."""
    one, two = Query(), Query()
    execution = running(one, two)
    one.isActive = False
    execution.completed.result(300)
    assert two.stops == 1


def test_a_bounded_query_that_ends_lets_the_others_go_on() -> None:
    """`available-now` is meant to end; the execution ends with the last of them."""
    one, two = Query(), Query()
    execution = running(one, two, bounded=(one, two))
    one.isActive = False
    time.sleep(0.3)
    assert not execution.completed.done() and two.stops == 0
    two.isActive = False
    execution.completed.result(300)


def test_without_queries_it_runs_until_stopped() -> None:
    """A streamlet may have nothing to run."""
    execution = running()
    time.sleep(0.3)
    assert not execution.completed.done()
    execution.stop().result(300)


def test_a_broken_gateway_is_told_to_who_waits() -> None:
    """Whoever waits must not wait for ever."""

    class Broken(Query):
        """Cannot be asked."""

        def __getattribute__(self, name: str) -> Any:
            if name == "isActive":
                raise ConnectionError("gone")
            return super().__getattribute__(name)

    with pytest.raises(ConnectionError, match="gone"):
        running(Broken()).completed.result(300)


class Console:
    """A binding that has only checkpoints."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def checkpoint_dir(self, name: str) -> str:
        """Below the test's folder."""
        return str(self.folder / name)


def two_queries(first: Callable[[Any], None], bounded: bool) -> type[SparkStreamlet]:
    """A streamlet of two endless queries (or bounded ones), the first with a function for each batch."""

    class Two(SparkStreamlet):
        """Two queries."""

        class Logic(SparkStreamletLogic["Two"]):
            """Into functions."""

            def build_streaming_queries(self) -> Any:
                """From Spark's rate source."""
                trigger = triggers.available_now() if bounded else triggers.processing_time("100ms")

                def rows(name: str) -> Any:
                    return self.source(name, format="rate", options={"rowsPerSecond": 50})

                return [
                    self.query("one", rows("a").writeStream.foreachBatch(lambda batch, _: first(batch)), trigger),
                    self.query("two", rows("b").writeStream.format("noop"), trigger),
                ]

    return Two


@pytest.fixture
def context(spark: Any, tmp_path: Path) -> Iterator[SparkStreamletContext]:
    """A context with a session and checkpoints of its own."""
    session = spark.newSession()
    yield SparkStreamletContext(session, "both", {}, {}, Console(tmp_path))  # type: ignore[arg-type]
    for query in session.streams.active:
        query.stop()


@pytest.mark.spark
def test_running_starts_all_queries_under_their_names(context: SparkStreamletContext, tmp_path: Path) -> None:
    """Name, checkpoint and trigger are set; stopping ends them."""
    execution = two_queries(lambda batch: None, bounded=False)().run(context)
    assert {query.name for query in execution.queries} == {"both.one", "both.two"}
    assert sorted(folder.name for folder in tmp_path.iterdir()) == ["one", "two"]
    assert all(query.isActive for query in execution.queries)
    execution.stop().result(60)
    assert not any(query.isActive for query in execution.queries)


@pytest.mark.spark
def test_a_failing_query_of_spark_ends_the_streamlet(context: SparkStreamletContext) -> None:
    """The author's exception is in the message."""

    def fail(batch: Any) -> None:
        if batch.count():
            raise RuntimeError("this batch is not for me")

    execution = two_queries(fail, bounded=False)().run(context)
    with pytest.raises(QueriesFailedError, match="this batch is not for me"):
        execution.completed.result(60)
    assert not any(query.isActive for query in execution.queries)


@pytest.mark.spark
def test_bounded_queries_of_spark_complete(context: SparkStreamletContext) -> None:
    """`available-now` wishes end by themselves."""
    execution = two_queries(lambda batch: None, bounded=True)().run(context)
    execution.completed.result(60)
    assert not any(query.isActive for query in execution.queries)


def test_waiting_is_what_futures_do() -> None:
    """`ready` and `completed` are plain futures: callbacks, timeouts, several waiters."""
    execution, seen = running(Query()), threading.Event()
    assert isinstance(execution.completed, Future)
    execution.completed.add_done_callback(lambda _: seen.set())
    with pytest.raises(TimeoutError):
        execution.completed.result(0.01)
    execution.stop()
    assert seen.wait(10)


def test_settings_name_paths_from_the_blueprint_folder(tmp_path: Path) -> None:
    """A relative path in a setting starts in the blueprint's folder, an absolute one stays."""
    context = SparkStreamletContext(None, "one", {}, {}, None, tmp_path)  # type: ignore[arg-type]
    assert context.path("out/delays") == tmp_path / "out" / "delays"
    assert context.path("/data/out") == Path("/data/out")
