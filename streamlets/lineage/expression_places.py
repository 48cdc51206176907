"""Where the author computes a column: the line that Spark keeps of an expression, or else of the DataFrame."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from blueprint.diagnostics import Span
from streamlets.api.source_location import SourceLocation
from streamlets.lineage.relations import Column, Decision
from streamlets.plans import syntax
from streamlets.plans.frame_origins import ancestors, grouping_before, origin
from streamlets.plans.places import Places
from streamlets.spark.plan_json import Expression

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_CALL_SITE = re.compile(r"\((?:\w+),(?P<file>.+?):(?P<line>\d+)\)|(?P<only>[^(),]+):(?P<number>\d+)")
_MOST_EXPRESSIONS = 20
"""Expressions of a column whose origins are read; each read is a call into Java."""


class ExpressionPlaces:
    """Finds the places of columns, and of what decides about rows.

    Arguments:
        frame: the DataFrame that has the columns.
        places: the locations in the project.
        statements: the location of each text that was executed as SQL, by the text.
        in_file: returns a place in the text of a config parameter as a place in the file that sets it.
    """

    def __init__(
        self,
        frame: DataFrame,
        places: Places,
        statements: Mapping[str, SourceLocation],
        in_file: Callable[[Span], Span | None],
    ) -> None:
        self._frame = frame
        self._places = places
        self._statements = statements
        self._in_file = in_file
        self._plans: dict[int, str] = {}

    def of(self, column: Column) -> Span | None:
        """Return where a column is computed; None if Spark and the DataFrames do not know it."""
        if column.defined is None:
            return None
        for expression in _outermost(column.defined):
            place = self._recorded(expression)
            if place is not None:
                return self._in_file(place.span)
        number = column.defined.id
        return self._of_frame(rf"#{number}(?!\d)") if number is not None else None

    def of_decision(self, decision: Decision) -> Span | None:
        """Return where it is decided about rows; None if Spark and the DataFrames do not know it."""
        for expression in _outermost(decision.condition) if decision.condition is not None else ():
            place = self._recorded(expression)
            if place is not None:
                return self._in_file(place.span)
        return self._of_frame(re.escape(decision.node.text), grouping=True)

    def _recorded(self, expression: Expression) -> SourceLocation | None:
        """Return the place that Spark has recorded of an expression."""
        try:
            origin = expression.java().origin()
            site = origin.pysparkErrorContext()
            if site.isDefined():
                return self._call(str(site.get()), expression)
            text = origin.sqlText()
            if text.isDefined() and (line := origin.line()).isDefined():
                return self._statement(str(text.get()), int(line.get()))
        except Exception:  # noqa: BLE001 - another version of Spark may have other methods
            return None
        return None

    def _call(self, site: str, expression: Expression) -> SourceLocation | None:
        match = _CALL_SITE.search(site)
        if match is None:
            return None
        file, line = match["file"] or match["only"], int(match["line"] or match["number"])
        if not self._places.owns(file):
            return None
        return syntax.on_line(str(expression.fields.get("name") or ""), file, line)

    def _statement(self, text: str, line: int) -> SourceLocation | None:
        """Return the place of a line of SQL; the text of a view is the end of the statement that defines it."""
        for statement, place in self._statements.items():
            before, found, _ = statement.rpartition(text)
            if not found:
                continue
            below = before.count("\n") + line - 1
            if place.file.endswith(".py") or not below:
                return place
            return SourceLocation(place.file, place.line + below, 0, place.line + below, 1)
        return None

    def _of_frame(self, pattern: str, *, grouping: bool = False) -> Span | None:
        """Return the call that made the first DataFrame whose plan has a pattern.

        Arguments:
            pattern: a regular expression.
            grouping: whether `groupBy` is the call that is meant, and not the one that aggregates the groups.
        """
        mark = re.compile(pattern)
        first: DataFrame | None = None
        for frame in ancestors(self._frame):
            if mark.search(self._plan(frame)):
                first = frame
        created = origin(first) if first is not None else None
        if grouping and created is not None and (groups := grouping_before(first)) is not None:
            created = groups
        place = self._places.own(created.place) if created is not None else None
        return self._in_file(place.span) if place is not None else None

    def _plan(self, frame: Any) -> str:
        key = id(frame)
        if key not in self._plans:
            self._plans[key] = str(frame._jdf.queryExecution().analyzed().toString())  # noqa: SLF001 - no public way
        return self._plans[key]


def _outermost(expression: Expression) -> Iterator[Expression]:
    """Yield the expressions of a column from the outermost, without its name: that may be given elsewhere."""
    inner = expression
    while inner.name == "Alias" and inner.children:
        inner = inner.children[0]
    count = 0
    for part in inner.all():
        if part.name not in ("AttributeReference", "Literal", "Cast"):
            yield part
            count += 1
            if count == _MOST_EXPRESSIONS:
                return
    yield expression
