"""`StreamletExecution`: the queries of a streamlet start and stop together."""

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
    """A query that the test controls."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.isActive = True
        self.runId = uuid.uuid4()
        self.failure = failure
        self.stops = 0

    def exception(self) -> Exception | None:
        """Return the failure, once the query has ended."""
        return None if self.isActive else self.failure

    def stop(self) -> None:
        """End the query."""
        self.stops += 1
        self.isActive = False


def running(*queries: Query, bounded: tuple[Query, ...] = ()) -> StreamletExecution:
    """Return an execution of queries; bounded ones may end by themselves."""
    return StreamletExecution(queries, frozenset(str(query.runId) for query in bounded))  # type: ignore[arg-type]


def test_it_is_ready_at_once_and_completed_when_stopped() -> None:
    """All queries are stopped, without an error."""
    first, second = Query(), Query()
    execution = running(first, second)
    assert execution.ready.done() and not execution.completed.done()
    execution.stop().result(300)
    assert (first.stops, second.stops) == (1, 1)


def test_a_query_that_fails_stops_the_others() -> None:
    """`completed` raises an error whose cause is the first failure."""
    first, second = Query(failure := ValueError("bad row")), Query()
    execution = running(first, second)
    first.isActive = False
    with pytest.raises(QueriesFailedError, match="bad row") as raised:
        execution.completed.result(300)
    assert raised.value.__cause__ is failure and second.stops == 1


def test_all_failures_are_reported() -> None:
    """The message has the reason of each failed query."""
    first, second = Query(ValueError("bad row")), Query(ValueError("bad disk"))
    first.isActive = second.isActive = False
    with pytest.raises(QueriesFailedError, match=r"(?s)bad row.*bad disk"):
        running(first, second).completed.result(300)


def test_a_query_that_ends_without_request_stops_the_others() -> None:
    """As in Cloudflow, a streamlet does not run with a part of its queries."""
    first, second = Query(), Query()
    execution = running(first, second)
    first.isActive = False
    execution.completed.result(300)
    assert second.stops == 1


def test_the_end_of_a_bounded_query_does_not_stop_the_others() -> None:
    """The end of an `available-now` query is expected; the execution ends with the last query."""
    first, second = Query(), Query()
    execution = running(first, second, bounded=(first, second))
    first.isActive = False
    time.sleep(0.3)
    assert not execution.completed.done() and second.stops == 0
    second.isActive = False
    execution.completed.result(300)


def test_without_queries_it_runs_until_stopped() -> None:
    """A streamlet may have no queries."""
    execution = running()
    time.sleep(0.3)
    assert not execution.completed.done()
    execution.stop().result(300)


def test_a_broken_gateway_completes_with_an_error() -> None:
    """A thread that waits for the execution must not wait forever."""

    class Broken(Query):
        """A query that raises an error."""

        def __getattribute__(self, name: str) -> Any:
            if name == "isActive":
                raise ConnectionError("gateway closed")
            return super().__getattribute__(name)

    with pytest.raises(ConnectionError, match="gateway closed"):
        running(Broken()).completed.result(300)


class Console:
    """A port binding with checkpoints only."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def checkpoint_dir(self, name: str) -> str:
        """Return a directory below that of the test."""
        return str(self.directory / name)


def two_queries(first: Callable[[Any], None], bounded: bool) -> type[SparkStreamlet]:
    """Return a streamlet with two queries, bounded or not, the first with a function for each batch."""

    class Two(SparkStreamlet):
        """Two queries."""

        class Logic(SparkStreamletLogic["Two"]):
            """Writes to functions."""

            def build_streaming_queries(self) -> Any:
                """Return two queries on Spark's rate source."""
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
    """Provide a context with its own session and checkpoints."""
    session = spark.newSession()
    console: Any = Console(tmp_path)
    yield SparkStreamletContext(session=session, streamlet_ref="both", config={}, volume_mounts={}, ports=console)
    for query in session.streams.active:
        query.stop()


@pytest.mark.spark
def test_all_queries_start_with_their_names(context: SparkStreamletContext, tmp_path: Path) -> None:
    """Name, checkpoint and trigger are set, and `stop` ends the queries."""
    execution = two_queries(lambda batch: None, bounded=False)().run(context)
    assert {query.name for query in execution.queries} == {"both.one", "both.two"}
    assert sorted(directory.name for directory in tmp_path.iterdir()) == ["one", "two"]
    assert all(query.isActive for query in execution.queries)
    execution.stop().result(300)
    assert not any(query.isActive for query in execution.queries)


@pytest.mark.spark
def test_a_spark_query_that_fails_stops_the_streamlet(context: SparkStreamletContext) -> None:
    """The author's exception is in the message."""

    def fail(batch: Any) -> None:
        if batch.count():
            raise RuntimeError("invalid batch")

    execution = two_queries(fail, bounded=False)().run(context)
    with pytest.raises(QueriesFailedError, match="invalid batch"):
        execution.completed.result(300)
    assert not any(query.isActive for query in execution.queries)


@pytest.mark.spark
def test_bounded_spark_queries_complete(context: SparkStreamletContext) -> None:
    """Queries with an `available-now` trigger end by themselves."""
    execution = two_queries(lambda batch: None, bounded=True)().run(context)
    execution.completed.result(300)
    assert not any(query.isActive for query in execution.queries)


def test_ready_and_completed_are_futures() -> None:
    """Callbacks and timeouts work as for other futures."""
    execution, called = running(Query()), threading.Event()
    assert isinstance(execution.completed, Future)
    execution.completed.add_done_callback(lambda _: called.set())
    with pytest.raises(TimeoutError):
        execution.completed.result(0.01)
    execution.stop()
    assert called.wait(300)


def test_relative_paths_start_in_the_directory_of_the_blueprint(tmp_path: Path) -> None:
    """An absolute path in a setting stays unchanged."""
    unused: Any = None
    context = SparkStreamletContext(
        session=unused, streamlet_ref="one", config={}, volume_mounts={}, ports=unused, directory=tmp_path
    )
    assert context.path("out/delays") == tmp_path / "out" / "delays"
    assert context.path("/data/out") == Path("/data/out")
