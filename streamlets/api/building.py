"""One build of a logic's queries: the outlets and queries so far, with the locations where they were requested."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeGuard

from streamlets.api.context import StreamingWrite
from streamlets.api.errors import StreamletError
from streamlets.api.source_location import SourceLocation, author_location

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

QUERY_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
SOURCE_NAME = re.compile(r"[A-Za-z0-9_]+")
SOURCE_EVOLUTION = "spark.sql.streaming.queryEvolution.enableSourceEvolution"
"""Spark's setting by which a checkpoint identifies sources by name; it requires a name for each source."""


class Build:
    """The writes that one call of `build_streaming_queries` requested."""

    def __init__(self) -> None:
        self._outlets: dict[str, SourceLocation | None] = {}
        self._queries: dict[str, tuple[StreamingWrite, SourceLocation | None]] = {}

    def add(self, write: StreamingWrite) -> StreamingWrite:
        """Record a write and return it.

        Raises:
            StreamletError: its query name or one of its outlets is in use, or the name is not valid for a directory.
        """
        place = author_location()
        if not QUERY_NAME.fullmatch(write.query):
            raise StreamletError(
                f"`{write.query}` is not a valid query name: "
                "use letters, digits, `-`, `_` and `.`, a letter or digit first",
                place,
                code="query-name",
            )
        for outlet in write.outlets:
            if outlet in self._outlets:
                raise StreamletError(
                    f"the outlet `{outlet}` is written twice, here and{_in_line(self._outlets[outlet])}: "
                    "write the union of both, or add a second outlet",
                    place,
                    code="outlet-written-twice",
                    also=_label(self._outlets[outlet], "first written here"),
                )
        places = {name.lower(): first for name, (_, first) in self._queries.items()}
        if write.query.lower() in places:
            first = places[write.query.lower()]
            raise StreamletError(
                f"duplicate query name `{write.query}`, here and{_in_line(first)}: "
                "give one of the queries another `name`, because each has its own checkpoint directory",
                place,
                code="query-name-clash",
                also=_label(first, "first used here"),
            )
        self._outlets |= dict.fromkeys(write.outlets, place)
        self._queries[write.query] = (write, place)
        return write

    def finish(self, returned: object, logic: str) -> tuple[StreamingWrite | StreamingQuery, ...]:
        """Check what `build_streaming_queries` returned, and return it as a tuple.

        Arguments:
            returned: the result.
            logic: the name of the logic's class.

        Raises:
            StreamletError: it contains something other than writes and queries, or a recorded write is missing.
        """
        forgotten = returned is None and self._queries  # reported below, for the first query that is not returned
        items = tuple(returned) if isinstance(returned, (list, tuple)) else () if forgotten else (returned,)
        for item in items:
            if not isinstance(item, StreamingWrite) and not _is_query(item):
                raise StreamletError(
                    f"`{logic}.build_streaming_queries` returned {_description(item)}: return the result of "
                    "`write_stream`, `write_streams` or `query`, or a list of these",
                    code="logic-result",
                )
        for write, place in self._queries.values():
            if not any(item is write for item in items):
                raise StreamletError(
                    f"the query `{write.query}` was created but not returned by `build_streaming_queries`, "
                    "so it would never run: return it as well",
                    place,
                    code="query-lost",
                )
        for item in items:
            if isinstance(item, StreamingWrite) and item.query not in self._queries:
                self.add(item)
        return items


def check_streaming(rows: DataFrame, method: str) -> None:
    """Check that rows are a streaming DataFrame that reads each source once.

    Arguments:
        rows: the DataFrame.
        method: the name of the author's call, for messages.

    Raises:
        StreamletError: they are not a streaming DataFrame, or read two sources with the same name.
    """
    from pyspark.sql import DataFrame

    if not isinstance(rows, DataFrame):
        raise StreamletError(
            f"`{method}` expects a streaming DataFrame, found {_description(rows)}", code="not-a-stream"
        )
    if not rows.isStreaming:
        raise StreamletError(
            f"`{method}` expects a streaming DataFrame, found a batch DataFrame: "
            "start from `read_stream` or `source`, not from `session.read`",
            code="not-a-stream",
        )
    duplicate = _duplicate(_source_names(rows))
    if duplicate is not None and method == "SAVE STREAM":
        raise StreamletError(
            f"the query uses the stream `{duplicate}` twice, which Spark rejects: "
            "define it a second time under another name, or as a second inlet of its topic, and use both",
            code="source-used-twice",
        )
    if duplicate is not None:
        raise StreamletError(
            f"the DataFrame passed to `{method}` uses the source `{duplicate}` twice, which Spark rejects: "
            f'read it a second time under another name, such as `name="{duplicate}_again"`',
            code="source-used-twice",
        )


def check_source_name(name: str) -> str:
    """Return a source name if Spark accepts it in a checkpoint.

    Raises:
        StreamletError: Spark does not accept it.
    """
    if not SOURCE_NAME.fullmatch(name):
        raise StreamletError(f"`{name}` is not a valid source name: use letters, digits and `_`", code="source-name")
    return name


def _source_names(rows: DataFrame) -> list[str]:
    leaves = rows._jdf.queryExecution().analyzed().collectLeaves()  # noqa: SLF001 - Spark has no public API for it
    nodes = [leaves.apply(index) for index in range(leaves.size())]
    descriptions = [
        str(node.sourceIdentifyingName()) for node in nodes if node.nodeName().startswith("StreamingRelation")
    ]
    return [text.partition('"')[2].rstrip('"') for text in descriptions if text.startswith('name="')]


def _label(place: SourceLocation | None, text: str) -> tuple[SourceLocation, str] | None:
    return (place, text) if place is not None else None


def _in_line(place: SourceLocation | None) -> str:
    return f" in line {place.line}" if place else " before"


def _duplicate(names: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _is_query(item: object) -> TypeGuard[StreamingQuery]:
    return hasattr(item, "runId") and hasattr(item, "awaitTermination")


def _description(item: object) -> str:
    return "nothing" if item is None else f"`{item!r}`" if isinstance(item, type) else f"a `{type(item).__name__}`"
