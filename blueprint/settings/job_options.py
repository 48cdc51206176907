"""The options of a job's queries: options of their sinks, and of restarts (`'pstl.retry.max.attempts' = '3'`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from blueprint.catalog import SinkTraits
from blueprint.core_settings import Retry
from blueprint.diagnostics import Diagnostic, Label, finding
from blueprint.settings.options import OPTIONS
from blueprint.settings.retry import RetryOptionError, option
from blueprint.settings.sinks import column_problems, sink_problems
from blueprint.sql.job import Job, Query
from blueprint.sql.statements import Option

_COMMENT = re.compile(r"\scomment\b", re.IGNORECASE)


def option_findings(job: Job, sinks: Mapping[str, SinkTraits]) -> Iterator[Diagnostic]:
    """Yield findings about the options of queries: unknown and missing options, invalid values, contradictions.

    Arguments:
        job: the job.
        sinks: the available sinks by name.
    """
    for query in job.queries:
        written = (*query.options.values(), *query.retry)
        if not all(option.key.known and option.value.known for option in written):
            continue
        yield from _retry_findings(query.retry)
        if query.sink in sinks:
            findings = list(_sink_findings(query, sinks[query.sink]))
            yield from findings or _column_findings(job, query, sinks[query.sink])


def _sink_findings(query: Query, sink: SinkTraits) -> Iterator[Diagnostic]:
    values = {name: option.value.text for name, option in query.options.items()}
    mode = (
        query.output_mode if query.output_mode in sink.output_modes else sink.output_modes[0]
    )  # a clause, not an option
    for problem in sink_problems(sink, values, output_mode=mode):
        section, name = problem.path
        assert section == OPTIONS  # the other settings of a query are clauses
        written = query.options.get(name)
        if written is None:
            where = "add `OPTIONS ({})`" if not query.statement.options else "add `{}` to `OPTIONS`"
            help = (where.format(f"'{name}' = '...'"),)
            yield finding("sql-option", problem.message, query.statement.provider.span, help=help)
        else:
            place = written.key if problem.about == "key" else written.value
            yield finding("sql-option", problem.message, place.span, help=problem.help)


def _column_findings(job: Job, query: Query, sink: SinkTraits) -> Iterator[Diagnostic]:
    """Yield why the sink cannot write the columns of a stream that lists them. Partition columns are a clause."""
    columns = _columns(job, query)
    if not columns:
        return
    partitions = {column.text.lower() for column in query.statement.partitioned_on}
    written = {name: type for name, type in columns.items() if name.lower() not in partitions}
    values = {name: option.value.text for name, option in query.options.items()}
    for problem in column_problems(sink, columns, values, partition_by=tuple(columns.keys() - written.keys())):
        option = query.options.get(problem.path[-1])
        if option is not None:
            yield finding("sql-option", problem.message, option.value.span, help=problem.help)
        elif problem.path == ("to",):
            yield finding("sql-provider", problem.message, query.statement.provider.span, help=problem.help)


def _columns(job: Job, query: Query) -> dict[str, str]:
    """Return the columns of a query with their types; none if a view has them, or they are not known."""
    save = query.statement
    streams = {stream.name.text.lower(): stream for stream in job.streams}
    stream = streams.get(save.table.last.lower()) if len(save.table.parts) == 1 else None
    if stream is None or not all(column.name.known for column in (*stream.columns, *save.columns)):
        return {}
    types = {column.name.text.lower(): _COMMENT.split(column.type)[0] for column in stream.columns}
    listed = [column.name.text for column in save.columns or stream.columns]
    return {name: types[name.lower()] for name in listed} if types.keys() >= {name.lower() for name in listed} else {}


def _retry_findings(options: Sequence[Option]) -> Iterator[Diagnostic]:
    fields: dict[str, object] = {}
    places: dict[str, Option] = {}
    for written in options:
        try:
            field, value = option(written.key.text, written.value.text)
        except RetryOptionError as error:
            place = written.key if error.unknown else written.value
            yield finding("sql-option", str(error), place.span, help=error.help)
            continue
        if field in places:
            yield finding(
                "sql-duplicate", f"`{places[field].key.text}` and `{written.key.text}` are the same option",
                written.key.span, also=(Label(places[field].key.span, "first written here"),),
                help=("remove one of them",),
            )  # fmt: skip
            continue
        fields[field], places[field] = value, written
    if {"min_backoff", "max_backoff"} <= set(fields):
        retry = Retry(**fields)  # type: ignore[arg-type]
        if retry.min_backoff > retry.max_backoff:
            yield finding(
                "sql-option",
                f"the minimum back-off ({retry.min_backoff}) is longer than the maximum back-off ({retry.max_backoff})",
                places["min_backoff"].value.span,
                also=(Label(places["max_backoff"].value.span, "the maximum"),),
                help=("make the minimum shorter, or the maximum longer",),
            )
