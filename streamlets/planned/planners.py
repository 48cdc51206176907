"""The part in Python of planned streams: planners, which Java calls."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_FORMAT = "streamlets.spark.PlannedSource"
_READY = "_streamlets_planners"

Offset = dict[str, Any]


class Stretch(NamedTuple):
    """Consecutive rows of a Parquet file.

    Arguments:
        path: the path of the file.
        size: its size in bytes.
        row: the first row to read, from 0.
        rows: the number of rows to read.
        damaged: the message of the error if the file cannot be read, with `{}` for the reason.
    """

    path: str
    size: int
    row: int
    rows: int
    damaged: str


class Watch(NamedTuple):
    """What shows, without a call of the planner, that a stream has nothing new.

    Arguments:
        awaited: files that do not exist.
        directory: a directory that is not modified.
        modified: when it was last modified, in milliseconds since the epoch.
    """

    awaited: tuple[str, ...]
    directory: str
    modified: int


class BatchPlanner(Protocol):
    """Plans the batches of a stream. Its methods are called by one thread at a time."""

    def limit(self) -> int:
        """Return the maximum number of rows of a batch; 0 for no limit."""

    def initial(self) -> Offset:
        """Return the offset at which a new checkpoint begins."""

    def latest(self, start: Offset, *, all: bool) -> tuple[Offset, Watch | None]:
        """Return the end of the next batch, and how to notice news if there are none.

        Arguments:
            start: the end of the batch before.
            all: whether the limit does not hold.
        """

    def known(self) -> Offset | None:
        """Return the last known end of the stream."""

    def bound(self) -> None:
        """Make the current end of the stream the end of a bounded run."""

    def plan(self, start: Offset, end: Offset) -> list[list[Stretch]]:
        """Return the tasks of a batch, each with the stretches that it reads."""


_OPENED: dict[str, Callable[[str], BatchPlanner]] = {}


def register(session: SparkSession, kind: str, opened: Callable[[str], BatchPlanner]) -> None:
    """Register a kind of planned streams; `is_ready` then says whether this Spark has the part in Java.

    Arguments:
        session: a session of the Spark.
        kind: the name of the kind.
        opened: returns the planner for the options that `read` was called with.
    """
    _OPENED[kind] = opened
    gateway: Any = session.sparkContext._gateway  # noqa: SLF001 - there is no public way
    if _READY not in gateway.__dict__:
        gateway.__dict__[_READY] = _set_planners(gateway)


def is_ready(session: SparkSession) -> bool:
    """Return whether `register` found the part in Java."""
    gateway: Any = session.sparkContext._gateway  # noqa: SLF001 - there is no public way
    return bool(gateway.__dict__.get(_READY, False))


def read(session: SparkSession, kind: str, options: str, schema: StructType, name: str) -> DataFrame:
    """Return the rows of a planned stream as a streaming DataFrame.

    Arguments:
        session: the session.
        kind: a registered kind.
        options: what its planner is opened with.
        schema: the columns to read. Columns that a file lacks are null.
        name: the name of the source in the checkpoint; "" for none.
    """
    reader = session.readStream.format(_FORMAT).schema(schema).option("source", json.dumps([kind, options]))
    return (reader.name(name) if name else reader).load()


def _set_planners(gateway: Any) -> bool:
    from py4j.java_gateway import JavaClass

    source = gateway.jvm.streamlets.spark.PlannedSource
    if not isinstance(source, JavaClass) or gateway.__dict__.get("_callback_server") is None:
        return False
    source.setPlanners(_Planners())
    return True


class _Planners:
    """Opens planners; see `Planners.java`."""

    def open(self, source: str) -> _Planner:
        kind, options = json.loads(source)
        return _Planner(kind, options)

    class Java:
        implements = ("streamlets.spark.Planners",)


@dataclass(slots=True)
class _Planner:
    """A planner as Java calls it; see `Planner.java`."""

    kind: str
    options: str
    planner: BatchPlanner | None = None

    def limit(self) -> str:
        return self._answer(lambda planner: planner.limit())

    def initial(self) -> str:
        return self._answer(lambda planner: json.dumps(planner.initial()))

    def latest(self, start: str, all: bool) -> str:
        def latest(planner: BatchPlanner) -> object:
            end, watch = planner.latest(json.loads(start), all=all)
            return json.dumps(end), watch

        return self._answer(latest)

    def known(self) -> str:
        def known(planner: BatchPlanner) -> object:
            end = planner.known()
            return json.dumps(end) if end is not None else None

        return self._answer(known)

    def bound(self) -> str:
        return self._answer(lambda planner: planner.bound())

    def plan(self, start: str, end: str) -> str:
        return self._answer(lambda planner: planner.plan(json.loads(start), json.loads(end)))

    def close(self) -> str:
        self.planner = None  # Java keeps this object until it collects its proxy
        return json.dumps({"value": None})

    def _answer(self, method: Callable[[BatchPlanner], object]) -> str:
        """Return the result of a method as JSON, or its traceback: py4j would log it, and pass on only its text."""
        try:
            if self.planner is None:
                self.planner = _OPENED[self.kind](self.options)
            return json.dumps({"value": method(self.planner)})
        except Exception:  # noqa: BLE001 - it is raised in Java
            return json.dumps({"error": traceback.format_exc()})

    class Java:
        implements = ("streamlets.spark.Planner",)
