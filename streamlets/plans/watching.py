"""Watches what logic does while it is built: nothing is started or written, and it is known where frames are made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

from streamlets.api.declared import Declared
from streamlets.api.errors import StreamletError
from streamlets.plans.lineage import traced
from streamlets.plans.places import Places
from streamlets.plans.standin import StreamingQuery
from streamlets.spark.patches import COMMAND, WRITING, WRITING_TABLES, patched
from streamlets.spark.stream_writer import with_arguments

if TYPE_CHECKING:
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_GIVING = ("collect", "count", "first", "head", "isEmpty", "rdd", "show", "tail", "take", "toArrow", "toJSON",
           "toLocalIterator", "toPandas")  # fmt: skip
_DOING = ("checkpoint", "foreach", "foreachPartition", "localCheckpoint")
_KEEPING = ("cache", "persist")  # on what is no stream they run nothing
_NOT_TRACED = {*_GIVING, *_DOING, *_KEEPING, "transform"}  # they give no frame, the same, or one of the author's making
_PYTHON_A_ROW = (100, 101)
"""Spark's kinds of Python functions that see one record at a time (the second gets them by way of Arrow)."""


@dataclass(frozen=True, slots=True)
class PythonCall:
    """A Python function that the author applies to each record."""

    function: str
    place: Declared | None


@dataclass(slots=True)
class Seen:
    """What one building did.

    Arguments:
        started: queries that it would have started.
        actions: jobs that it ran on what is no stream, by name and place.
        functions: Python functions applied to each record.
    """

    started: list[StreamingQuery] = field(default_factory=list)
    actions: list[tuple[str, Declared | None]] = field(default_factory=list)
    functions: list[PythonCall] = field(default_factory=list)


class Watch:
    """Takes the place of Spark's methods that do something, while `watching`."""

    def __init__(self, places: Places) -> None:
        self.seen = Seen()
        self._places = places
        self._on_batch = False
        self._inside = False

    @contextmanager
    def on_batch(self) -> Iterator[None]:
        """While code runs that in an application is given batches: there, counting and collecting are right."""
        before, self._on_batch = self._on_batch, True
        try:
            yield
        finally:
            self._on_batch = before

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Patch Spark's classes for as long as logic is built; the process has one of each."""
        from pyspark.sql import DataFrameWriter, SparkSession
        from pyspark.sql.classic.dataframe import DataFrame
        from pyspark.sql.group import GroupedData
        from pyspark.sql.merge import MergeIntoWriter
        from pyspark.sql.readwriter import DataFrameWriterV2
        from pyspark.sql.streaming.query import StreamingQueryManager
        from pyspark.sql.streaming.readwriter import DataStreamReader, DataStreamWriter
        from pyspark.sql.udf import UserDefinedFunction

        frames = (DataFrame, GroupedData)
        tracing: list[tuple[type, str]] = [(DataStreamReader, "load"), (DataStreamReader, "table")]
        tracing += [(DataFrame, name) for name in _methods(DataFrame) if name not in _NOT_TRACED]
        tracing += [(GroupedData, name) for name in _methods(GroupedData)]
        with ExitStack() as patches:
            patch = partial(patched, patches)
            for owner, name in tracing:
                patch(owner, name, lambda method, _: traced(method, self._places.here, frames))
            for name in (*_GIVING, *_DOING, *_KEEPING):
                patch(DataFrame, name, self._action)
            for name in WRITING:
                patch(DataFrameWriter, name, self._writing)
            for name in WRITING_TABLES:
                patch(DataFrameWriterV2, name, self._writing)
            patch(MergeIntoWriter, "merge", self._writing)
            patch(DataStreamWriter, "start", self._start)
            patch(DataStreamWriter, "toTable", self._start)
            patch(SparkSession, "sql", self._sql)
            patch(SparkSession, "stop", self._stopping)
            patch(StreamingQueryManager, "awaitAnyTermination", self._stopping)
            patch(UserDefinedFunction, "__call__", self._function)
            yield

    def _action(self, method: Any, name: str) -> Any:
        run: Any = method.fget if isinstance(method, property) else method

        @wraps(run)
        def call(frame: Any, *args: Any, **named: Any) -> Any:
            if self._inside or self._on_batch:
                return run(frame, *args, **named)
            if frame.isStreaming:
                raise StreamletError(
                    f"`{name}` is asked of a stream while the logic is built, when it has no records: "
                    "take the records of each batch with `df.writeStream.foreachBatch(...)`",
                    self._places.here(),
                    code="action-in-logic",
                )
            if name in _DOING:
                raise _effect(name, self._places.here())
            if name not in _KEEPING:
                self.seen.actions.append((name, self._places.here()))
            self._inside = True
            try:
                return run(frame, *args, **named)
            finally:
                self._inside = False

        return property(call) if isinstance(method, property) else call

    def _writing(self, method: Any, name: str) -> Any:
        @wraps(method)
        def call(*args: Any, **named: Any) -> Any:
            raise _effect(name, self._places.here())

        return call

    def _start(self, method: Any, name: str) -> Any:
        @wraps(method)
        def call(writer: DataStreamWriter, *args: Any, **named: Any) -> StreamingQuery:
            query = StreamingQuery(
                with_arguments(writer, name, args, named), named.get("queryName"), self._places.here()
            )
            self.seen.started.append(query)
            return query

        return call

    def _sql(self, method: Any, name: str) -> Any:
        @wraps(method)
        def call(session: Any, query: Any, *args: Any, **named: Any) -> Any:
            command = COMMAND.match(query) if isinstance(query, str) else None
            if command:
                raise _effect(command[1].upper(), self._places.here())
            return method(session, query, *args, **named)

        return call

    def _stopping(self, method: Any, name: str) -> Any:
        @wraps(method)
        def call(*args: Any, **named: Any) -> Any:
            raise StreamletError(
                f"`{name}` is called while the logic is built: the session and its queries are the runner's",
                self._places.here(),
                code="action-in-logic",
            )

        return call

    def _function(self, method: Any, name: str) -> Any:
        @wraps(method)
        def call(function: Any, *args: Any, **named: Any) -> Any:
            if function.evalType in _PYTHON_A_ROW:
                self.seen.functions.append(PythonCall(str(function._name), self._places.here()))  # noqa: SLF001
            return method(function, *args, **named)

        return call


def _methods(owner: type) -> list[str]:
    return [name for name, each in vars(owner).items() if callable(each) and name[0] != "_"]


def _effect(name: str, place: Declared | None) -> StreamletError:
    return StreamletError(
        f"`{name}` has an effect each time the logic is built, at every restart: "
        "let a query do it, with `df.writeStream.foreachBatch(...)`",
        place,
        code="action-in-logic",
    )
