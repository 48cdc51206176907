"""The statements of a job with other sinks, so that a test does not write where the application does."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from blueprint.diagnostics import Span
from blueprint.hocon.source import Source
from blueprint.sql.job import Query
from blueprint.sql.rendering import on_one_line
from blueprint.sql.statements import Name, Option, SaveStream, Word
from streamlets.api.shape import StreamletShape
from streamlets.sql.streamlet import read_job, text_values

SinkInTests = Callable[[str, str, Mapping[str, str]], tuple[str, Mapping[str, str]]]
"""A function of a query, the name of its sink, and the options of the sink, which returns the sink and the options of
the query in a test."""


def with_sinks(
    statements: str, variables: Mapping[str, object], shape: StreamletShape, sink_in_tests: SinkInTests
) -> str:
    """Return statements whose queries write to other sinks. Each statement stays on its line, so that the places of
    errors are those in the original text.

    Arguments:
        statements: a valid job.
        variables: the values of its variables.
        shape: the ports of its streamlet; queries that write to outlets stay as they are.
        sink_in_tests: returns the sink of a query in a test.
    """
    elsewhere = [query for query in queries_of(statements, variables, shape) if query.outlet is None]
    lines = [0, *(match.end() for match in re.finditer("\n", statements))]  # where each begins
    for query in reversed(elsewhere):  # so that the places of those before stay
        span = query.statement.span
        start, end = lines[span.line - 1] + span.column - 1, lines[span.end_line - 1] + span.end_column - 1
        saved = on_one_line(_saved_elsewhere(query, sink_in_tests)) + "\n" * (span.end_line - span.line)
        statements = statements[:start] + saved + statements[end:]
    return statements


def queries_of(statements: str, variables: Mapping[str, object], shape: StreamletShape) -> tuple[Query, ...]:
    """Return the queries of a valid job.

    Arguments:
        statements: the job.
        variables: the values of its variables.
        shape: the ports of its streamlet.
    """
    return read_job(Source("statements", statements), text_values(variables), shape)[0].queries


def _saved_elsewhere(query: Query, sink_in_tests: SinkInTests) -> SaveStream:
    statement, span = query.statement, query.statement.span
    written = {name: option.value.text for name, option in query.options.items()}
    sink, options = sink_in_tests(query.name, query.sink, written)
    return replace(
        statement,
        provider=Name((Word(sink, span),), span),
        query=Name((Word(query.name, span),), span),
        options=tuple(_option(key, value, span) for key, value in options.items()) + query.retry,
    )


def _option(key: str, value: str, span: Span) -> Option:
    return Option(Word(key, span), Word(value, span))
