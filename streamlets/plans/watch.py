"""`Watch`: observes logic while it is built, prevents side effects, and records where frames are created."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

from streamlets.api.errors import StreamletError
from streamlets.api.source_location import SourceLocation
from streamlets.plans.frame_origins import traced
from streamlets.plans.places import Places
from streamlets.plans.unstarted_query import UnstartedQuery
from streamlets.spark.patches import COMMAND, WRITING, WRITING_TABLES, patched
from streamlets.spark.stream_writer import with_arguments

if TYPE_CHECKING:
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_ACTIONS = ("collect", "count", "first", "head", "isEmpty", "rdd", "show", "tail", "take", "toArrow", "toJSON",
           "toLocalIterator", "toPandas")  # fmt: skip
_EFFECTS = ("checkpoint", "foreach", "foreachPartition", "localCheckpoint")
_CACHING = ("cache", "persist")  # they run no job on a batch DataFrame
_NOT_TRACED = {
    *_ACTIONS,
    *_EFFECTS,
    *_CACHING,
    "transform",
}  # they return no frame, the same frame, or one of the author
_ROW_FUNCTIONS = (100, 101)
"""Spark's codes for Python functions that take one record at a time (the second gets records as Arrow batches)."""


@dataclass(frozen=True, slots=True)
class PythonCall:
    """A Python function that the logic applies to each record."""

    function: str
    place: SourceLocation | None


@dataclass(slots=True)
class Observations:
    """The effects of one build of a logic.

    Arguments:
        started: the queries that it would have started.
        actions: the names and locations of actions that it ran on batch DataFrames.
        functions: the Python functions that it applies to each record.
        statements: the location of each text that it executes as SQL, by the text.
    """

    started: list[UnstartedQuery] = field(default_factory=list)
    actions: list[tuple[str, SourceLocation | None]] = field(default_factory=list)
    functions: list[PythonCall] = field(default_factory=list)
    statements: dict[str, SourceLocation] = field(default_factory=dict)


class Watch:
    """Replaces methods of Spark that have effects, while `watching` is active."""

    def __init__(self, places: Places) -> None:
        self.observations = Observations()
        self._places = places
        self._on_batch = False
        self._inside = False

    @contextmanager
    def on_batch(self) -> Iterator[None]:
        """Mark code that gets batches in an application, which may count and collect."""
        before, self._on_batch = self._on_batch, True
        try:
            yield
        finally:
            self._on_batch = before

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Patch Spark's classes while logic is built; the patches apply to the whole process."""
        from pyspark import SparkContext
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
            for name in (*_ACTIONS, *_EFFECTS, *_CACHING):
                patch(DataFrame, name, self._action)
            for name in WRITING:
                patch(DataFrameWriter, name, self._writing)
            for name in WRITING_TABLES:
                patch(DataFrameWriterV2, name, self._writing)
            patch(MergeIntoWriter, "merge", self._writing)
            patch(DataStreamWriter, "start", self._start)
            patch(DataStreamWriter, "toTable", self._start)
            patch(SparkSession, "sql", self._sql)
            patch(SparkSession, "stop", self._forbidden)
            patch(SparkContext, "stop", self._forbidden)
            patch(StreamingQueryManager, "awaitAnyTermination", self._forbidden)
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
                    f"`{name}` is called on a stream, which has no records while the logic is built: "
                    "process the records of each batch with `df.writeStream.foreachBatch(...)`",
                    self._places.here(),
                    code="action-in-logic",
                )
            if name in _EFFECTS:
                raise _effect_error(name, self._places.here())
            if name not in _CACHING:
                self.observations.actions.append((name, self._places.here()))
            self._inside = True
            try:
                return run(frame, *args, **named)
            finally:
                self._inside = False

        return property(call) if isinstance(method, property) else call

    def _writing(self, method: Any, name: str) -> Any:
        @wraps(method)
        def call(*args: Any, **named: Any) -> Any:
            raise _effect_error(name, self._places.here())

        return call

    def _start(self, method: Any, name: str) -> Any:
        @wraps(method)
        def call(writer: DataStreamWriter, *args: Any, **named: Any) -> UnstartedQuery:
            query = UnstartedQuery(
                with_arguments(writer, name, args, named), named.get("queryName"), self._places.here()
            )
            self.observations.started.append(query)
            return query

        return call

    def _sql(self, method: Any, name: str) -> Any:
        @wraps(method)
        def call(session: Any, query: Any, *args: Any, **named: Any) -> Any:
            command = COMMAND.match(query) if isinstance(query, str) else None
            if command:
                raise _effect_error(command[1].upper(), self._places.here())
            if isinstance(query, str) and (place := self._places.here()) is not None:
                self.observations.statements[query] = place
            return method(session, query, *args, **named)

        return call

    def _forbidden(self, method: Any, name: str) -> Any:
        @wraps(method)
        def call(*args: Any, **named: Any) -> Any:
            raise StreamletError(
                f"`{name}` is called while the logic is built, but the session and its queries belong to the runner: "
                "remove the call",
                self._places.here(),
                code="action-in-logic",
            )

        return call

    def _function(self, method: Any, name: str) -> Any:
        @wraps(method)
        def call(function: Any, *args: Any, **named: Any) -> Any:
            if function.evalType in _ROW_FUNCTIONS:
                self.observations.functions.append(PythonCall(str(function._name), self._places.here()))  # noqa: SLF001
            return method(function, *args, **named)

        return call


def _methods(owner: type) -> list[str]:
    return [name for name, value in vars(owner).items() if callable(value) and name[0] != "_"]


def _effect_error(name: str, place: SourceLocation | None) -> StreamletError:
    return StreamletError(
        f"`{name}` has a side effect each time the logic is built, also at each restart: "
        "do it in a query, with `df.writeStream.foreachBatch(...)`",
        place,
        code="action-in-logic",
    )
