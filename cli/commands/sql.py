"""`flow sql`: statements about the queries of a running application, `SHOW STREAMS` and `STOP STREAM`."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from blueprint.wording import span
from cli.options import format_option, path_argument, timeout_option
from cli.output.errors import fail
from cli.runs.follower import Follower, running_application, send
from cli.state import state_options

if TYPE_CHECKING:
    from blueprint.diagnostics import Span
    from blueprint.sql.statements import ShowStreams, StopStream
    from streamlets.runner.events.status import UnitStatus
    from streamlets.runner.state_directory.directory import StateDirectory

_COLUMNS = ("stream", "state", "for", "in", "rows/s", "backlog", "restarts")


@click.command()
@path_argument
@state_options
@click.option(
    "-e",
    "--execute",
    "texts",
    multiple=True,
    required=True,
    metavar="STATEMENTS",
    help="`SHOW STREAMS` or `STOP STREAM query`; several are separated by `;`.",
)
@timeout_option("How long to wait until a query has stopped (default: no limit).")
@format_option()
def sql(
    path: Path, state_dir: Path | None, application: str | None, texts: tuple[str, ...], timeout: float | None,
    form: str,
) -> None:  # fmt: skip
    """Show and stop the queries of a running application or job.

    `SHOW STREAMS` lists them. `STOP STREAM query` commits the running batch of a query and ends the query. It stays
    stopped until the application starts again, or `flow restart` restarts its streamlet. When all queries have
    stopped or completed, the application ends.

    PATH is the application's blueprint or directory (default: the working directory).
    """
    statements = _statements(";\n".join(texts))
    state = running_application(path, state_dir, application)
    if state.owner() is None:
        fail(f"{state.application} is not running", "start it with `flow run`")
    results = [_execute(statement, state, timeout, form) for statement in statements]
    if form == "json":
        click.echo(json.dumps(results, indent=2))


def _statements(text: str) -> list[ShowStreams | StopStream]:
    """Return the statements of a text.

    Raises:
        click.UsageError: there are none, or one of them is not valid or not a statement about queries.
    """
    from blueprint.hocon.source import Source
    from blueprint.sql.parser import parse
    from blueprint.sql.statements import ShowStreams, StopStream

    script = parse(Source("statements", text), {})
    if script.findings:
        found = script.findings[0]
        place = _place(found.primary.span) if found.primary is not None else ""
        raise click.UsageError("; ".join((f"{place}{found.headline}", *found.help)))
    statements: list[ShowStreams | StopStream] = []
    for statement in script.statements:
        if not isinstance(statement, ShowStreams | StopStream):
            raise click.UsageError(
                f"{_place(statement.span)}expected `SHOW STREAMS` or `STOP STREAM query`; other statements belong to "
                "a job, which `flow run` runs"
            )
        statements.append(statement)
    if not statements:
        raise click.UsageError("there is no statement; write `SHOW STREAMS` or `STOP STREAM query`")
    return statements


def _place(span: Span) -> str:
    return f"line {span.line}, column {span.column}: "


def _execute(
    statement: ShowStreams | StopStream, state: StateDirectory, timeout: float | None, form: str
) -> dict[str, Any]:
    """Execute a statement, print its result for people, and return it for programs.

    Raises:
        click.UsageError: there is no such query.
        SystemExit: 1, when the runner refuses, or the query has not stopped in time.
    """
    from blueprint.sql.statements import StopStream

    if isinstance(statement, StopStream):
        return _stop(statement.query.plain, state, timeout, form)
    return _show(state, form)


def _units(follower: Follower) -> dict[str, UnitStatus]:
    """Return the queries of a run by their shortest unique names, sorted."""
    units = list(follower.status().units.values())
    parts = [unit.unit.part for unit in units]
    names = {unit.unit.part if parts.count(unit.unit.part) == 1 and unit.unit.part else str(unit.unit): unit
             for unit in units}  # fmt: skip
    return dict(sorted(names.items()))


def _show(state: StateDirectory, form: str) -> dict[str, Any]:
    from cli.output.tables import print_table

    units, now = _units(Follower(state, quiet=True)), time.time()
    if form != "json":
        rows = [
            [
                name, unit.state, span(now - unit.since), f"{unit.rows_in:,}", f"{unit.rate(now):,.0f}",
                f"{sum(unit.backlog.values()):,}" if unit.backlog else "", str(unit.restarts),
            ]
            for name, unit in units.items()
        ]  # fmt: skip
        print_table(list(_COLUMNS), rows, right=_COLUMNS[2:])
    streams = [
        {
            "stream": name, "streamlet": unit.unit.streamlet, "query": unit.unit.part or None, "state": unit.state,
            "since": unit.since, "cause": unit.cause or None, "batch": unit.batch, "rows_in": unit.rows_in,
            "rows_per_second": round(unit.rate(now), 1), "backlog": dict(unit.backlog), "restarts": unit.restarts,
        }
        for name, unit in units.items()
    ]  # fmt: skip
    return {"statement": "SHOW STREAMS", "streams": streams}


def _stop(query: str, state: StateDirectory, timeout: float | None, form: str) -> dict[str, Any]:
    from streamlets.runner.state_directory.control import request
    from streamlets.runner.supervision.watched import FINAL

    follower = Follower(state, quiet=True)
    name, unit = _unit(query, _units(follower), state.application)
    id = unit.unit
    send(state, request("stop-query", streamlet=id.streamlet, query=id.part), timeout)
    status = follower.until(lambda status: status.units[id].state in FINAL, timeout)
    if status is None:
        fail(f"`{name}` has not stopped within {timeout:g} s; its batch is still running, see `flow status`")
    ended = status.units[id]
    if ended.state != "stopped":
        fail(f"`{name}` has {ended.state}{f': {ended.cause}' if ended.cause else ''}")
    if form != "json":
        click.echo(f"{name}: {ended.cause or 'stopped'}")
    return {"statement": f"STOP STREAM {query}", "stream": name, "state": ended.state, "cause": ended.cause or None}


def _unit(query: str, units: dict[str, UnitStatus], application: str) -> tuple[str, UnitStatus]:
    """Return the query that a statement names: by its own name, or by its streamlet's name and its own.

    Raises:
        click.UsageError: there is no such query, or there are several.
    """
    from blueprint.spelling import alternatives, suggestion

    names = {name.lower(): name for name in (*units, *(str(unit.unit) for unit in units.values()))}
    name = names.get(query.lower())
    if name is not None:
        return next((known, unit) for known, unit in units.items() if name in (known, str(unit.unit)))
    several = [known for known, unit in units.items() if unit.unit.part.lower() == query.lower()]
    if several:
        raise click.UsageError(f"{application} has several queries `{query}`; name {alternatives(several)}")
    hint = suggestion(query, units, f"its queries are {', '.join(units)}")
    raise click.UsageError(f"{application} has no query `{query}`; {hint}")
