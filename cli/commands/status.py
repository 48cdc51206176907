"""`flow status`: show the status of an application, running or not."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from blueprint.wording import span
from cli.options import format_option, path_argument
from cli.runs.current import CurrentStatus, current_status, unknown_status
from cli.state import applications, state_options, topics_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamlets.runner.events.status import RunStatus, UnitStatus
    from streamlets.runner.ports import PortStatus
    from streamlets.runner.state_directory.directory import StateDirectory

_HEALTHY = 0
_UNHEALTHY = 1
_NOT_RUNNING = 3
"""Exit codes."""

_WATCH_EVERY = 2.0
"""Seconds between two looks with `--watch`."""

_OLD_AFTER = 12.0
"""Seconds after which a status is shown with its age: two updates are missing."""


@click.command()
@path_argument
@state_options
@click.option("--ports", is_flag=True, help="Show the inlets and outlets one by one.")
@click.option(
    "--sort",
    "order",
    type=click.Choice(("busy", "backlog", "rate", "state-rows", "restarts", "dead-letters")),
    help="Show the streamlets with the largest values first (default: producers first).",
)
@click.option("--watch", is_flag=True, help="Show the status again every two seconds, until Ctrl-C.")
@format_option()
def status(
    path: Path, state_dir: Path | None, application: str | None, ports: bool, order: str | None, watch: bool, form: str
) -> None:  # fmt: skip
    """Show the status of an application: the state, rows, backlog, restarts and dead letters of its streamlets.

    With --ports, each inlet and outlet is shown with its records, its batches, and how far its readers have come. For
    an application that is not running, this is its last status. PATH is the application's blueprint or directory
    (default: the working directory). With --watch and the format json, each line is an object.

    The exit code is 0 if the application runs and is healthy; 1 if a streamlet has failed, if there was no status
    update for 30 seconds, if the status cannot be read, or if the last run failed or was killed; 3 if the last run
    ended normally or there was none.
    """
    states = applications(path, state_dir, application)

    def show() -> int:
        current = [(state, _ordered(current_status(state), order)) for state in states]
        shown = [(state, status, _ports(state, status) if ports else None) for state, status in current]
        if watch and form != "json" and sys.stdout.isatty():
            click.clear()
        if form == "json":
            data = {state.application: _as_data(state, status, each) for state, status, each in shown}
            click.echo(json.dumps(data, indent=None if watch else 2))
        else:
            for number, (state, status, each) in enumerate(shown):
                if number:
                    click.echo()
                _print(state, status, each)
        codes = {_exit_code(status) for _, status in current}
        return next((code for code in (_UNHEALTHY, _NOT_RUNNING) if code in codes), _HEALTHY)

    code = show()
    try:
        while watch:
            sys.stdout.flush()
            time.sleep(_WATCH_EVERY)
            code = show()
    except KeyboardInterrupt:
        pass
    raise SystemExit(code)


def _ordered(current: CurrentStatus, order: str | None) -> CurrentStatus:
    from cli.output.streamlet_table import ordered

    if order is None or current.written is None:
        return current
    written = current.written
    now = time.time() if current.alive else written.time
    return replace(current, written=replace(written, status=ordered(written.status, order, now)))


def _ports(state: StateDirectory, current: CurrentStatus) -> tuple[PortStatus, ...]:
    from blueprint.comparison import DescriptorError
    from blueprint.hocon import shown_name
    from cli.output.errors import fail
    from cli.output.ports import ports_in

    if current.written is None:
        return ()
    try:
        return ports_in(state, current.written.status, topics_of(state), live=current.alive, now=time.time())
    except (DescriptorError, OSError, UnicodeDecodeError) as error:
        reason = f"`{shown_name(state.descriptor_file)}` cannot be read: {error}"
        fail(f"the ports of {state.application} are not known: {reason}", "the next start of the application writes it")


def _as_data(state: StateDirectory, current: CurrentStatus, ports: Sequence[PortStatus] | None) -> dict[str, object]:
    """Return a status for `--format json`; `ports` are its ports if they are asked for."""
    from cli.output.ports import as_data
    from streamlets.runner.events.status_json import to_json

    known: dict[str, object] = {"streamlets": []}
    if current.written is not None:
        known = {"process": current.written.process} | to_json(current.written.status, current.written.time)
    known |= {"ports": as_data(ports)} if ports is not None else {}
    known |= {"error": unknown_status(state, current)} if current.damaged else {}
    return {"alive": current.alive, "silent": current.silent} | known | {"health": current.health}


def _exit_code(current: CurrentStatus) -> int:
    failed = current.written is not None and current.written.status.exit_code
    if current.health in ("degraded", "died", "unknown") or current.silent or failed:
        return _UNHEALTHY
    return _HEALTHY if current.alive else _NOT_RUNNING


def _print(state: StateDirectory, current: CurrentStatus, ports: Sequence[PortStatus] | None) -> None:
    click.echo(_headline(state, current))
    if current.written is None or not current.written.status.order:
        return
    from cli.output.ports import print_ports
    from streamlets.runner.deployment import last_run

    status, live = current.written.status, current.alive
    now = time.time() if live else current.written.time
    click.echo()
    if ports is None:
        _print_streamlets(state, status, now, live=live)
    else:
        print_ports(ports, now, known=last_run(state) is not None)
    for first, *others in status.fused:
        verb = "is" if len(others) == 1 else "are"
        click.echo(f"\nfused: {', '.join(others)} {verb} part of the query of {first}")
    if live:
        _print_executors(status, now)
    _print_causes(status, now)


def _headline(state: StateDirectory, current: CurrentStatus) -> str:
    """Return the line above the table: whether the application runs, since when, and how it is."""

    name, written, now = current.application, current.written, time.time()
    if current.damaged:
        return unknown_status(state, current)
    if written is None:
        return f"{name} is starting" if current.alive else f"{name} has not run yet"
    status = written.status
    if current.health == "died":
        return f"{name} is not running: it was killed or crashed; last status update at {_clock(written.time)}"
    if status.ended is not None:
        reason = f"{status.reason or 'completed'} (exit code {status.exit_code})"
        return f"{name} is not running; ended at {_clock(status.ended)}: {reason}"
    process = f"process {written.process}, up for {span(now - status.started)}"
    if current.silent:
        return (
            f"{name} was {status.health}; no status update since {_clock(written.time)}, {process}: its state "
            "directory cannot be written, or the machine is overloaded"
        )
    age = now - written.time
    as_of = f" as of {span(age)} ago" if age > _OLD_AFTER else ""
    headline = f"{name} is {status.health}{as_of}, {process}"
    return f"{headline}; {status.reason}" if status.reason else headline


def _print_streamlets(state: StateDirectory, status: RunStatus, now: float, *, live: bool) -> None:
    """Print the table of streamlets, fitted to a terminal; a program gets all columns and whole numbers."""
    from rich.console import Console

    from cli.output.streamlet_table import fitted, streamlets_of
    from cli.output.tables import print_table

    console = Console(highlight=False)
    if console.is_terminal:
        curves = _curves(state, now) if live and console.encoding.lower().startswith("utf") else {}
        console.print(fitted(status, now, console.width, live=live, curves=curves))
    else:
        table = streamlets_of(status, now, live=live)
        print_table(table.headings, table.rows, right=table.headings[2:])


def _curves(state: StateDirectory, now: float) -> dict[str, str]:
    from cli.output.sparkline import SECONDS, rates
    from streamlets.runner.samples.reading import read_samples

    return rates(read_samples(state, now - SECONDS), now)


def _print_executors(status: RunStatus, now: float) -> None:
    """Print the executors of each Spark on a cluster."""
    from cli.output.executors import executors_line

    for executors in status.executors:
        of = f" of {', '.join(executors.streamlets)}" if len(status.executors) > 1 else ""
        click.echo(f"\nexecutors{of}: {executors_line(executors, now)}")


def _print_causes(status: RunStatus, now: float) -> None:
    """Print why units are not running, and where stuck batches are."""

    for streamlet in status.streamlets:
        for unit in streamlet.units:
            if unit.cause and unit.state in ("failed", "backing-off", "paused", "stopped"):
                _print_cause(unit)
            if unit.running is not None and unit.running.stuck:
                seconds = span(now - unit.running.since)
                click.echo(f"\n{unit.unit}: stuck: batch {unit.running.number} has been running for {seconds}")
                for frame in unit.running.where:
                    click.echo(f"  at {frame}")
            if unit.hang is not None:
                click.echo(f"\n{unit.unit}: stuck: {unit.hang.what} for {span(now - unit.hang.since)}")
                for frame in unit.hang.where:
                    click.echo(f"  at {frame}")


def _print_cause(unit: UnitStatus) -> None:
    state = "" if unit.state == "paused" else f": {unit.state}"
    first, *more = unit.cause.splitlines()
    if unit.frames:
        more = [*(f"at {frame}" for frame in unit.frames), first, *more]
    click.echo(f"\n{unit.unit}{state}" + ("" if unit.frames else f": {first}"))
    for line in more:
        click.echo(f"  {line}")


def _clock(when: float) -> str:
    """Return a time in this machine's time zone; with the date unless it is today."""
    form = "%H:%M:%S" if time.strftime("%x", time.localtime(when)) == time.strftime("%x") else "%Y-%m-%d %H:%M:%S"
    return time.strftime(form, time.localtime(when))
