"""`flow status`: show the status of an application, running or not."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.options import format_option, path_argument
from cli.output.batches import long_batch
from cli.runs.follower import Status, Streamlet, shown_state, since, streamlets
from cli.state import applications, state_options
from streamlets.runner.events.lines import span

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streamlets.runner.state_directory.directory import StateDirectory

_HEALTHY = 0
_UNHEALTHY = 1
_NOT_RUNNING = 3
"""Exit codes."""

_SILENT_AFTER = 30.0
"""Seconds without a status update after which a run counts as unhealthy; a runner writes one every five seconds."""

_OLD_AFTER = 12.0
"""Seconds after which a status is shown with its age: two updates are missing."""

_OPTIONAL_COLUMNS = ("for", "rows/s", "backlog", "restarts", "late", "dead letters")
"""Columns that are omitted when all their cells are empty."""

_EMPTY = ("", "0")


@click.command()
@path_argument
@state_options
@format_option()
def status(path: Path, state_dir: Path | None, application: str | None, form: str) -> None:
    """Show the status of an application: the state, rows, backlog, restarts and dead letters of its streamlets.

    For an application that is not running, this is its last status. PATH is the application's blueprint or directory
    (default: the working directory).

    The exit code is 0 if the application runs and is healthy; 1 if a streamlet has failed, if there was no status
    update for 30 seconds, or if the last run failed or was killed; 3 if the last run ended normally or there was none.
    """
    from streamlets.runner.state_directory.directory import read_status

    states = applications(path, state_dir, application)
    statuses = {state.application: current_status(state, read_status(state)) for state in states}
    if form == "json":
        click.echo(json.dumps(statuses, indent=2))
    else:
        for number, (name, current) in enumerate(statuses.items()):
            if number:
                click.echo()
            _print(name, current)
    raise SystemExit(_exit_code(statuses.values()))


def current_status(state: StateDirectory, written: Status | None) -> dict[str, Any]:
    """Return the last status of a run, with what is true now.

    Arguments:
        state: the state directory of the application.
        written: the last status that the run wrote; None when it has not written any.

    Returns:
        The status with `alive`, with `silent` (no update for long), and with the `health` `died` when the run ended
        without writing its end.
    """
    owner = state.owner()
    current: dict[str, Any] = dict(written or {})
    # Commands own the directory for a short time, too, for example to reset checkpoints. Only the process that wrote
    # the status is the run.
    alive = owner is not None and current.get("process") in (owner, None)
    if not alive and written is not None and current.get("ended") is None:
        current["health"] = "died"
    if written is None:
        current["health"] = "starting" if alive else "never ran"
    current.setdefault("streamlets", [])
    silent = alive and written is not None and time.time() - current["told"] > _SILENT_AFTER
    return {"alive": alive, "silent": silent} | current


def _exit_code(statuses: Iterable[Status]) -> int:
    """Return the worst exit code of some statuses."""
    codes = [_status_code(status) for status in statuses]
    return next((code for code in (_UNHEALTHY, _NOT_RUNNING) if code in codes), _HEALTHY)


def _status_code(status: Status) -> int:
    if status["health"] in ("degraded", "died") or status["silent"] or status.get("exit_code"):
        return _UNHEALTHY
    return _HEALTHY if status["alive"] else _NOT_RUNNING


def _print(name: str, status: Status) -> None:
    from cli.output.tables import print_table

    click.echo(_headline(name, status))
    if not streamlets(status):
        return
    live = bool(status["alive"])
    columns = [
        "streamlet",
        "state" if live else "last state",
        "for",
        "in",
        "out",
        "rows/s",
        "backlog",
        "restarts",
        "late",
        "dead letters",
    ]
    rows = [_row(streamlet, live, status) for streamlet in streamlets(status)]
    shown = [
        n
        for n, column in enumerate(columns)
        if column not in _OPTIONAL_COLUMNS or any(row[n] not in _EMPTY for row in rows)
    ]
    click.echo()
    print_table([columns[n] for n in shown], [[row[n] for n in shown] for row in rows], right=columns[2:])
    for streamlet in streamlets(status):
        for unit in streamlet["units"]:
            if unit["cause"] and unit["state"] in ("failed", "backing-off", "stopped"):
                _print_cause(streamlet["ref"], unit)
            if unit.get("running_batch") and unit["running_batch"]["stuck"]:
                _print_stuck(streamlet["ref"], unit)


def _headline(name: str, status: Status) -> str:
    """Return the line above the table: whether the application runs, since when, and how it is."""
    now = time.time()
    match status["health"]:
        case "never ran":
            return f"{name} has not run yet"
        case "starting" if "told" not in status:
            return f"{name} is starting"
        case "ended":
            reason = f"{status['reason'] or 'completed'} (exit code {status['exit_code']})"
            return f"{name} is not running; ended at {_clock(status['ended'])}: {reason}"
        case "died":
            return f"{name} is not running: it was killed or crashed; last status update at {_clock(status['told'])}"
    process = f"process {status['process']}, up for {span(now - status['started'])}"
    if status["silent"]:
        return (
            f"{name} was {status['health']}; no status update since {_clock(status['told'])}, {process}: its state "
            "directory cannot be written, or the machine is overloaded"
        )
    age = now - status["told"]
    as_of = f" as of {span(age)} ago" if age > _OLD_AFTER else ""
    headline = f"{name} is {status['health']}{as_of}, {process}"
    return f"{headline}; {status['reason']}" if status.get("reason") else headline


def _row(streamlet: Streamlet, live: bool, status: Status) -> list[str]:
    """Return the cells of a streamlet.

    Arguments:
        streamlet: its part of the status.
        live: whether the run is alive.
        status: the status of the run.
    """
    units = streamlet["units"]
    now = time.time() if live else status["told"]
    out = [sum(unit["rows_out"].values()) for unit in units if unit["rows_out"]]
    backlog = [count for unit in units for count in unit["backlog"].values()]
    return [
        streamlet["ref"],
        _state(streamlet, now),
        span(now - since(streamlet)) if live and units else "",
        f"{sum(unit['rows_in'] for unit in units):,}",
        f"{sum(out):,}" if out else "",
        f"{sum(unit['rate'] for unit in units):,.0f}" if live else "",
        f"{sum(backlog):,}" if backlog else "",
        str(sum(unit["restarts"] for unit in units)),
        f"{sum(unit['late'] for unit in units):,}",
        f"{sum(unit['dead_letters'] for unit in units):,}",
    ]


def _state(streamlet: Streamlet, now: float) -> str:
    """Return a streamlet's state, with the time of a long batch or the time until the next attempt."""
    shown = streamlet.get("waiting") or shown_state(streamlet)
    batches = [unit["running_batch"] for unit in streamlet["units"] if unit.get("running_batch")]
    if batch := min(batches, key=lambda batch: batch["since"], default=None):
        return shown + long_batch(now - batch["since"], stuck=any(other["stuck"] for other in batches))
    due = [unit["retry_at"] for unit in streamlet["units"] if unit["retry_at"] is not None]
    return f"{shown}, {span(max(0.0, min(due) - now))}" if shown == "backing-off" and due else shown


def _print_stuck(ref: str, unit: Status) -> None:
    batch = unit["running_batch"]
    name = f"{ref}.{unit['query']}" if unit["query"] else ref
    click.echo(f"\n{name}: stuck: batch {batch['number']} has been running for {span(batch['seconds'])}")
    for frame in batch["where"]:
        click.echo(f"  at {frame}")


def _print_cause(ref: str, unit: Status) -> None:
    name = f"{ref}.{unit['query']}" if unit["query"] else ref
    state = "" if unit["paused"] else f": {unit['state']}"
    first, *more = unit["cause"].splitlines()
    if unit["frames"]:
        more = [*(f"at {frame}" for frame in unit["frames"]), first, *more]
    click.echo(f"\n{name}{state}" + ("" if unit["frames"] else f": {first}"))
    for line in more:
        click.echo(f"  {line}")


def _clock(when: float) -> str:
    """Return a time in this machine's time zone; with the date unless it is today."""
    form = "%H:%M:%S" if time.strftime("%x", time.localtime(when)) == time.strftime("%x") else "%Y-%m-%d %H:%M:%S"
    return time.strftime(form, time.localtime(when))
