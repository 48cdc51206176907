"""Places of statements in a job file, for errors that Spark raises when a statement is executed."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from blueprint.diagnostics import Span
from blueprint.hocon.source import Source
from blueprint.hocon.text_place import TextPlace
from blueprint.spelling import did_you_mean, listing
from blueprint.sql.job import defined_name
from blueprint.sql.statements import CreateStream, SparkSql, Statement
from streamlets.api.errors import StreamletError
from streamlets.api.source_location import SourceLocation

if TYPE_CHECKING:
    from pyspark.errors import PySparkException

REPLACE = "OR REPLACE"
"""The words that a definition has when it is executed, because it runs again at each restart of a query."""

_POSITION = re.compile(r"\(line (\d+), pos(?:ition)? (\d+)\)")
_CONDITION = re.compile(r"\[[A-Z][A-Z0-9_.]+\]\s*")
_STATE = re.compile(r"\s*SQLSTATE: \w+.*", re.DOTALL)


class StatementPlaces:
    """The places of the statements of a text.

    Arguments:
        source: the statements.
        file: the file that has them, or the name of `parameter_file`.
        inlets: the tables that all statements may use, for suggestions.
        definitions: the definitions in the order in which they are executed, which define further tables.
        text: the place of the text in the file that configures it, if it is known.
    """

    def __init__(
        self,
        source: Source,
        file: str,
        inlets: Collection[str] = (),
        definitions: Sequence[CreateStream | SparkSql] = (),
        text: TextPlace | None = None,
    ) -> None:
        self._source = source
        self._file = file
        self._inlets = inlets
        self._definitions = definitions
        self._text = text

    def location(self, span: Span) -> SourceLocation:
        """Return a place in the text as the location in its file."""
        place = replace(span, file=self._file) if self._text is None else self._text.in_file(span)
        return SourceLocation.of(place)

    @contextmanager
    def errors(self, statement: Statement) -> Iterator[None]:
        """Give errors in the context the place of a statement, or of the part of it that Spark reports.

        Raises:
            StreamletError: instead of an error of Spark, or of an error without a place.
        """
        from pyspark.errors import PySparkException

        whole = self.location(statement.span)
        try:
            yield
        except StreamletError as error:
            raise StreamletError(error.message, whole, code=error.code) from error
        except PySparkException as error:
            span = self._part(statement, error) if isinstance(statement, SparkSql) else None
            place = self.location(span) if span is not None else whole
            if error.getCondition() == "TABLE_OR_VIEW_NOT_FOUND":
                raise self._unknown_table(error, place, statement) from None
            raise StreamletError(f"Spark rejects a statement: {_message(error)}", place, code="plan-refused") from error

    def _unknown_table(self, error: PySparkException, place: SourceLocation, statement: Statement) -> StreamletError:
        earlier, later = self._tables(statement)
        parts = re.findall(r"`((?:[^`]|``)*)`", (error.getMessageParameters() or {}).get("relationName", ""))
        name = ".".join(parts)
        help = did_you_mean(name, earlier) or ((f"available: {listing(earlier)}",) if earlier else ())
        if name.lower() in map(str.lower, later):
            help = (f"define `{name}` before this statement",)
        message = f"there is no table or view `{name}`"
        return StreamletError(": ".join((message, *help)), place, code="sql-unknown-name")

    def _tables(self, statement: Statement) -> tuple[list[str], list[str]]:
        """Return the tables that a statement can use, and those that are defined after it."""
        names = [defined_name(definition) for definition in self._definitions]
        at = next((index for index, own in enumerate(self._definitions) if own is statement), len(names))
        earlier = [*self._inlets, *(name.text for name in names[:at] if name is not None)]
        return earlier, [name.text for name in names[at + 1 :] if name is not None]

    def _part(self, statement: SparkSql, error: PySparkException) -> Span | None:
        """Return the part of a statement that an error is about; None if Spark does not report it."""
        for context in error.getQueryContext() or ():
            try:
                start, end = context.startIndex(), context.stopIndex()
            except Exception:  # noqa: BLE001 - there are several errors for contexts without a text
                continue
            return self._span(statement, start, end + 1)
        position = _POSITION.search(str(error))
        if position is None:
            return None
        lines = executed(statement).split("\n")
        line, column = int(position[1]), int(position[2])
        start = sum(len(text) + 1 for text in lines[: line - 1]) + column
        return self._span(statement, start, start + 1)

    def _span(self, statement: SparkSql, start: int, end: int) -> Span | None:
        """Return the place of a part of the executed text."""
        shift = len(executed(statement)) - len(statement.text)
        if not 0 <= start < end <= len(statement.text) + shift:
            return None
        start, end = max(start - shift, 0), max(end - shift, 1)
        first, last = statement.offset(start), statement.offset(end - 1)
        return self._source.span(first, max(last, first) + 1)


def executed(statement: SparkSql) -> str:
    """Return the text of a statement for Spark."""
    if statement.replaces or not (statement.defines or statement.function or statement.declares):
        return statement.text
    first = "DECLARE" if statement.declares else "CREATE"
    return f"{first} {REPLACE}{statement.text[len(first) :]}"


def _message(error: PySparkException) -> str:
    """Return the first line of Spark's message, without the error condition and the SQL state."""
    lines = str(error).strip().splitlines()
    first = next((line for line in lines if _CONDITION.match(line)), lines[0] if lines else type(error).__name__)
    return _STATE.sub("", _CONDITION.sub("", first, count=1)).strip().rstrip(".;")
