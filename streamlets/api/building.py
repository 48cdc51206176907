"""One building of a logic's queries: what was written so far and where, so that misuse is told at its place."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeGuard

from streamlets.api.context import StreamingWrite
from streamlets.api.declared import Declared, authors_call
from streamlets.api.errors import StreamletError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

QUERY_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
SOURCE_NAME = re.compile(r"[A-Za-z0-9_]+")
SOURCE_EVOLUTION = "spark.sql.streaming.queryEvolution.enableSourceEvolution"
"""Spark's setting by which a checkpoint knows sources by their names; with it each one needs a name."""


class Build:
    """What one call of `build_streaming_queries` asked for."""

    def __init__(self) -> None:
        self._outlets: dict[str, Declared | None] = {}
        self._queries: dict[str, tuple[StreamingWrite, Declared | None]] = {}

    def add(self, write: StreamingWrite) -> StreamingWrite:
        """Take down a write.

        Raises:
            StreamletError: its query's name or one of its outlets is taken already, or the name cannot be a folder's.
        """
        place = authors_call()
        if not QUERY_NAME.fullmatch(write.query):
            raise StreamletError(
                f"`{write.query}` cannot name a query: take letters, digits, `-`, `_` and `.`, a letter or digit first",
                place,
                code="query-name",
            )
        for outlet in write.outlets:
            if outlet in self._outlets:
                raise StreamletError(
                    f"the outlet `{outlet}` is written twice, here and{_in_line(self._outlets[outlet])}: "
                    "write the union of both, or give it a second outlet",
                    place,
                    code="outlet-written-twice",
                    also=_first(self._outlets[outlet], "written here before"),
                )
        taken = {name.lower(): where for name, (_, where) in self._queries.items()}
        if write.query.lower() in taken:
            raise StreamletError(
                f"two queries are called `{write.query}`, here and{_in_line(taken[write.query.lower()])}: "
                "give one of them another `name`, as each has its own checkpoint folder",
                place,
                code="query-name-clash",
                also=_first(taken[write.query.lower()], "called so here before"),
            )
        self._outlets |= dict.fromkeys(write.outlets, place)
        self._queries[write.query] = (write, place)
        return write

    def finish(self, returned: object, logic: str) -> tuple[StreamingWrite | StreamingQuery, ...]:
        """What was returned, checked.

        Raises:
            StreamletError: something else than writes and queries, or a write that was made but not returned.
        """
        forgotten = returned is None and self._queries  # told as the first query that is not returned
        given = tuple(returned) if isinstance(returned, (list, tuple)) else () if forgotten else (returned,)
        for item in given:
            if not isinstance(item, StreamingWrite) and not _is_query(item):
                raise StreamletError(
                    f"`{logic}.build_streaming_queries` gave {_called(item)}: return what `write_stream`, "
                    "`write_streams` or `query` gave, or a list of these",
                    code="logic-result",
                )
        for write, place in self._queries.values():
            if not any(item is write for item in given):
                raise StreamletError(
                    f"the query `{write.query}` was made but not returned by `build_streaming_queries`, "
                    "so it would never run: return it too",
                    place,
                    code="query-lost",
                )
        for item in given:
            if isinstance(item, StreamingWrite) and item.query not in self._queries:
                self.add(item)
        return given


def check_streaming(rows: DataFrame, what: str) -> None:
    """Refuse a DataFrame that is no stream, and one that reads a source under one name twice.

    Raises:
        StreamletError: it is one of these.
    """
    from pyspark.sql import DataFrame

    if not isinstance(rows, DataFrame):
        raise StreamletError(f"{what} takes a DataFrame, not {_called(rows)}", code="not-a-stream")
    if not rows.isStreaming:
        raise StreamletError(
            f"{what} got a DataFrame that is no stream: start from `read_stream` or `source`, not from `session.read`",
            code="not-a-stream",
        )
    twice = _twice(_source_names(rows))
    if twice is not None:
        raise StreamletError(
            f"{what} got a DataFrame that uses the source `{twice}` twice, which Spark refuses: "
            f'read it a second time under a name of its own, such as `name="{twice}_again"`',
            code="source-used-twice",
        )


def check_source_name(name: str) -> str:
    """The name, when Spark can keep it in a checkpoint.

    Raises:
        StreamletError: it cannot.
    """
    if not SOURCE_NAME.fullmatch(name):
        raise StreamletError(f"`{name}` cannot name a source: take letters, digits and `_`", code="source-name")
    return name


def _source_names(rows: DataFrame) -> list[str]:
    leaves = rows._jdf.queryExecution().analyzed().collectLeaves()  # noqa: SLF001 - Spark has no public way
    nodes = [leaves.apply(index) for index in range(leaves.size())]
    named = [str(node.sourceIdentifyingName()) for node in nodes if node.nodeName().startswith("StreamingRelation")]
    return [text.partition('"')[2].rstrip('"') for text in named if text.startswith('name="')]


def _first(place: Declared | None, said: str) -> tuple[Declared, str] | None:
    return (place, said) if place is not None else None


def _in_line(place: Declared | None) -> str:
    return f" in line {place.line}" if place else " before"


def _twice(names: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _is_query(item: object) -> TypeGuard[StreamingQuery]:
    return hasattr(item, "runId") and hasattr(item, "awaitTermination")


def _called(item: object) -> str:
    return "nothing" if item is None else f"`{item!r}`" if isinstance(item, type) else f"a `{type(item).__name__}`"
