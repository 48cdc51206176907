"""The statements of a job as data. Two statements are equal if they mean the same, wherever they are in a text."""

from __future__ import annotations

from dataclasses import dataclass, field

from blueprint.catalog import OutputMode
from blueprint.diagnostics import Span
from blueprint.sql.literals import name_text
from blueprint.trigger import Trigger

OUTPUT_MODES: tuple[OutputMode, ...] = ("append", "complete", "update")


@dataclass(frozen=True, slots=True)
class Word:
    """A name, a number or a string of a statement.

    Arguments:
        text: its value, without quotes.
        span: its place.
        known: whether all variables in it have a value; without one, `text` has the variable itself.
    """

    text: str
    span: Span = field(compare=False)
    known: bool = field(default=True, compare=False)


@dataclass(frozen=True, slots=True)
class Name:
    """A name with its qualifiers, such as `database.table`."""

    parts: tuple[Word, ...]
    span: Span = field(compare=False)

    @property
    def last(self) -> str:
        """The name without qualifiers."""
        return self.parts[-1].text

    @property
    def text(self) -> str:
        """The name as Spark reads it, with back-quotes where they are necessary."""
        return ".".join(name_text(part.text) for part in self.parts)

    @property
    def plain(self) -> str:
        """The name without back-quotes, as messages and query names have it."""
        return ".".join(part.text for part in self.parts)

    @property
    def known(self) -> bool:
        """Whether all variables in it have a value."""
        return all(part.known for part in self.parts)


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, and its type as Spark's DDL, with `NOT NULL` and `COMMENT` if they are written."""

    name: Word
    type: str


@dataclass(frozen=True, slots=True)
class Option:
    """An option: `'key' = 'value'`."""

    key: Word
    value: Word


@dataclass(frozen=True, slots=True)
class TriggerClause:
    """`TRIGGER ...`; `known` is false if the interval has a variable without a value."""

    trigger: Trigger
    span: Span = field(compare=False)
    known: bool = field(default=True, compare=False)


@dataclass(frozen=True, slots=True)
class CreateStream:
    """`CREATE STREAM name [(column type, ...)] FROM provider [OPTIONS (...)]`."""

    name: Word
    columns: tuple[Column, ...]
    provider: Name
    options: tuple[Option, ...]
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveStream:
    """`SAVE STREAM table [(columns)] TO provider ...`.

    Arguments:
        table: the stream, view or table whose rows are saved.
        columns: its listed columns; a type is "" if it is not written.
        provider: the sink.
        query: the name of `IDENTIFIED BY`; None if it is derived from the table.
        trigger: of `TRIGGER`; None means as fast as possible.
        output_mode: of `OUTPUT MODE`, in lower case; None means `append`.
        partitioned_on: the columns of `PARTITIONED ON`.
        options: of `OPTIONS`.
        span: its place.
    """

    table: Name
    columns: tuple[Column, ...]
    provider: Name
    query: Name | None
    trigger: TriggerClause | None
    output_mode: Word | None
    partitioned_on: tuple[Word, ...]
    options: tuple[Option, ...]
    span: Span = field(compare=False)

    @property
    def query_name(self) -> Word:
        """The name of the query: explicit, or the name of the table without its database."""
        if self.query is not None:
            return Word(self.query.plain, self.query.span, self.query.known)
        return self.table.parts[-1]


@dataclass(frozen=True, slots=True)
class StopStream:
    """`STOP STREAM query`."""

    query: Name
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class ShowStreams:
    """`SHOW STREAMS`."""

    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class SparkSql:
    """A statement for Spark.

    Arguments:
        text: the statement without its `;`, with the values of its variables.
        span: its place.
        defines: the temporary view that it defines; None if it does not define one.
        function: the temporary function that it defines; None if it does not define one.
        declares: whether it declares variables.
        replaces: whether it replaces a view, function or variable that exists, by `OR REPLACE`.
        places: for each part of `text` after a variable: the offset of the part in `text`, and the offset of the same
            part in the job.
    """

    text: str
    span: Span = field(compare=False)
    defines: Name | None = field(default=None, compare=False)
    function: Name | None = field(default=None, compare=False)
    declares: bool = field(default=False, compare=False)
    replaces: bool = field(default=False, compare=False)
    places: tuple[tuple[int, int], ...] = field(default=(), compare=False)

    def offset(self, at: int) -> int:
        """Return the offset in the job of an offset in `text`; inside the value of a variable, its end."""
        parts = [*self.places, (len(self.text) + 1, 0)]
        index = next(index for index, (start, _) in enumerate(parts) if start > at) - 1
        start, origin = parts[index]
        return origin + at - start


Statement = CreateStream | SaveStream | StopStream | ShowStreams | SparkSql
