"""`flow status`: how an application is, whether it runs or not."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.following import Status, Streamlet, shown_state, since, streamlets
from cli.output.batches import long_batch
from cli.output.formats import format_option
from cli.state import applications, path_argument, state_options
from streamlets.runner.events.lines import span

if TYPE_CHECKING:
    from streamlets.runner.state_directory.directory import StateDirectory

_WELL = 0
_ILL = 1
_NOT_RUNNING = 3

# A runner writes its status every five seconds, whatever else happens. Seconds until silence means something.
_SILENT_AFTER = 30.0

# Seconds from which on a status is told with its age: two of those writings are missing.
_OLD_AFTER = 12.0

# Columns that are left out where they would say nothing.
_SPARE = ("for", "rows/s", "behind", "restarts", "late", "dead letters")
_NONE = ("", "0")


@click.command()
@path_argument
@state_options
@format_option()
def status(path: Path, state_dir: Path | None, application: str | None, form: str) -> None:
    """Say how an application is: its streamlets' states, rows, backlog, restarts and dead letters; also of one that has
    ended or was killed, then as of its last word.

    PATH is the application's blueprint or folder (left out: this folder). The exit code is 0 when it runs well; 1 when
    a streamlet has failed for good, when nothing was told for half a minute, or when it ended with a failure or was
    killed; 3 when it ended in order or never ran.
    """
    from streamlets.runner.state_directory.directory import read_status

    folders = applications(path, state_dir, application)
    found = {state.application: look(state, read_status(state)) for state in folders}
    if form == "json":
        click.echo(json.dumps(found, indent=2))
    else:
        for number, (name, seen) in enumerate(found.items()):
            if number:
                click.echo()
            _print(name, seen)
    raise SystemExit(_code(found.values()))


def look(state: StateDirectory, told: Status | None) -> dict[str, Any]:
    """What a run last wrote down, with what is true now: `alive`, its `process`, whether it is `silent`, and a `health`
    of `died` when it ended without a word."""
    owner = state.owner()
    seen: dict[str, Any] = dict(told or {})
    # Others own the folder, too, for a moment: what resets checkpoints, say. The run is whose process wrote the status.
    alive = owner is not None and seen.get("process") in (owner, None)
    if not alive and told is not None and seen.get("ended") is None:
        seen["health"] = "died"
    if told is None:
        seen["health"] = "starting" if alive else "never ran"
    seen.setdefault("streamlets", [])
    silent = alive and told is not None and time.time() - seen["told"] > _SILENT_AFTER
    return {"alive": alive, "silent": silent} | seen


def _code(all_seen: Any) -> int:
    codes = [_code_of(seen) for seen in all_seen]
    return next((code for code in (_ILL, _NOT_RUNNING) if code in codes), _WELL)


def _code_of(seen: Status) -> int:
    if seen["health"] in ("degraded", "died") or seen["silent"] or seen.get("exit_code"):
        return _ILL
    return _WELL if seen["alive"] else _NOT_RUNNING


def _print(name: str, seen: Status) -> None:
    from cli.output.tables import print_table

    click.echo(_headline(name, seen))
    if not streamlets(seen):
        return
    live = bool(seen["alive"])
    columns = [
        "streamlet",
        "state" if live else "last state",
        "for",
        "in",
        "out",
        "rows/s",
        "behind",
        "restarts",
        "late",
        "dead letters",
    ]
    rows = [_row(each, live, seen) for each in streamlets(seen)]
    kept = [n for n, name in enumerate(columns) if name not in _SPARE or any(row[n] not in _NONE for row in rows)]
    click.echo()
    print_table([columns[n] for n in kept], [[row[n] for n in kept] for row in rows], right=columns[2:])
    for each in streamlets(seen):
        for unit in each["units"]:
            if unit["cause"] and unit["state"] in ("failed", "backing-off", "stopped"):
                _print_cause(each["ref"], unit)
            if unit.get("running_batch") and unit["running_batch"]["stuck"]:
                _print_stuck(each["ref"], unit)


def _headline(name: str, seen: Status) -> str:
    now = time.time()
    match seen["health"]:
        case "never ran":
            return f"{name} has not run yet"
        case "starting" if "told" not in seen:
            return f"{name} is starting"
        case "ended":
            told = f"ended {_clock(seen['ended'])}: {seen['reason'] or 'all done'} (exit code {seen['exit_code']})"
            return f"{name} is not running; {told}"
        case "died":
            return f"{name} is not running: it died without a word, the last is of {_clock(seen['told'])}"
    up = f"process {seen['process']}, up for {span(now - seen['started'])}"
    if seen["silent"]:
        return (
            f"{name} was {seen['health']} at {_clock(seen['told'])} and has told nothing since, {up}: its state folder "
            "cannot be written, or the machine does not get round to it"
        )
    age = now - seen["told"]
    as_of = f" as of {span(age)} ago" if age > _OLD_AFTER else ""
    told = f"{name} is {seen['health']}{as_of}, {up}"
    return f"{told}; {seen['reason']}" if seen.get("reason") else told


def _row(each: Streamlet, live: bool, seen: Status) -> list[str]:
    units = each["units"]
    now = time.time() if live else seen["told"]
    out = [sum(unit["rows_out"].values()) for unit in units if unit["rows_out"]]
    behind = [count for unit in units for count in unit["backlog"].values()]
    return [
        each["ref"],
        _state(each, now),
        span(now - since(each)) if live and units else "",
        f"{sum(unit['rows_in'] for unit in units):,}",
        f"{sum(out):,}" if out else "",
        f"{sum(unit['rate'] for unit in units):,.0f}" if live else "",
        f"{sum(behind):,}" if behind else "",
        str(sum(unit["restarts"] for unit in units)),
        f"{sum(unit['late'] for unit in units):,}",
        f"{sum(unit['dead_letters'] for unit in units):,}",
    ]


def _state(each: Streamlet, now: float) -> str:
    shown = each.get("waiting") or shown_state(each)
    batches = [unit["running_batch"] for unit in each["units"] if unit.get("running_batch")]
    if batch := min(batches, key=lambda batch: batch["since"], default=None):
        return shown + long_batch(now - batch["since"], stuck=any(each["stuck"] for each in batches))
    due = [unit["retry_at"] for unit in each["units"] if unit["retry_at"] is not None]
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
    """A time on this machine's clock; with its day when that is not today."""
    form = "%H:%M:%S" if time.strftime("%x", time.localtime(when)) == time.strftime("%x") else "%Y-%m-%d %H:%M:%S"
    return time.strftime(form, time.localtime(when))
