"""Statements as text, in the usual order of clauses. Reading the text gives equal statements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from blueprint.quantities import Duration
from blueprint.sql.intervals import UNITS
from blueprint.sql.literals import name_text, string_literal
from blueprint.sql.statements import (
    Column,
    CreateStream,
    Option,
    SaveStream,
    ShowStreams,
    SparkSql,
    Statement,
    StopStream,
)
from blueprint.trigger import AvailableNow, ProcessingTime, RealTime, Trigger


def render(statements: Iterable[Statement]) -> str:
    """Return a job with these statements; the values of their variables must be known."""
    return "".join("\n".join(_clauses(statement)) + "\n;\n" for statement in statements)


def on_one_line(statement: Statement) -> str:
    """Return a statement with all clauses on one line, without the `;` at its end."""
    return " ".join(_clauses(statement))


def trigger_text(trigger: Trigger) -> str:
    """Return a trigger as `SAVE STREAM` has it."""
    match trigger:
        case AvailableNow():
            return "TRIGGER AVAILABLE NOW"
        case ProcessingTime(interval):
            return f"TRIGGER {_interval(interval)}"
        case RealTime(interval):
            return f"TRIGGER REAL TIME {_interval(interval)}"


def _clauses(statement: Statement) -> Iterator[str]:
    match statement:
        case CreateStream():
            yield from _create(statement)
        case SaveStream():
            yield from _save(statement)
        case StopStream():
            yield f"STOP STREAM {statement.query.text}"
        case ShowStreams():
            yield "SHOW STREAMS"
        case SparkSql():
            yield statement.text


def _create(statement: CreateStream) -> Iterator[str]:
    yield f"CREATE STREAM {name_text(statement.name.text)}{_columns(statement.columns)}"
    yield f"FROM {statement.provider.text}"
    yield from _options(statement.options)


def _save(statement: SaveStream) -> Iterator[str]:
    yield f"SAVE STREAM {statement.table.text}{_columns(statement.columns)}"
    yield f"TO {statement.provider.text}"
    if statement.query is not None:
        yield f"IDENTIFIED BY {statement.query.text}"
    if statement.trigger is not None:
        yield trigger_text(statement.trigger.trigger)
    if statement.output_mode is not None:
        yield f"OUTPUT MODE {statement.output_mode.text.upper()}"
    if statement.partitioned_on:
        yield f"PARTITIONED ON ({', '.join(name_text(column.text) for column in statement.partitioned_on)})"
    yield from _options(statement.options)


def _columns(columns: tuple[Column, ...]) -> str:
    texts = [f"{name_text(column.name.text)} {column.type}".rstrip() for column in columns]
    return f" ({', '.join(texts)})" if texts else ""


def _options(options: tuple[Option, ...]) -> Iterator[str]:
    if options:
        pairs = (f"{string_literal(option.key.text)} = {string_literal(option.value.text)}" for option in options)
        yield f"OPTIONS ({', '.join(pairs)})"


def _interval(interval: Duration) -> str:
    """Return an interval in the largest unit in which it is a whole number."""
    units = reversed(UNITS.items()) if interval.nanoseconds else [("SECOND", UNITS["SECOND"])]
    name, size = next((name, size) for name, size in units if interval.nanoseconds % size == 0)
    amount = interval.nanoseconds // size
    return f"{amount} {name if amount == 1 else name + 'S'}"
