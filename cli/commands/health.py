"""`flow health`: whether the streamlets of a running application are well, for scripts and probes of containers."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from blueprint.wording import span
from cli.options import format_option
from cli.runs.current import CurrentStatus, current_status, unknown_status
from cli.runs.refs import check_refs
from cli.state import applications, only, state_options

if TYPE_CHECKING:
    from streamlets.runner.events.health import StreamletHealth
    from streamlets.runner.state_directory.directory import StateDirectory

_WELL, _FAILED, _WAITING = 0, 1, 3
"""Exit codes."""

_PATIENCE = 12.0
"""Seconds to watch a status that seems old: a runner writes one every five seconds."""

_POLL_INTERVAL = 0.2


@click.command()
@click.argument("refs", nargs=-1, metavar="[STREAMLET]...")
@click.option(
    "--path", type=click.Path(path_type=Path), default=Path(), metavar="PATH",
    help="The application's blueprint or directory (default: the working directory).",
)  # fmt: skip
@state_options
@format_option()
def health(refs: Sequence[str], path: Path, state_dir: Path | None, application: str | None, form: str) -> None:
    """Show whether the streamlets of an application are healthy, and why not.

    A streamlet is `overdue` if records wait for longer than its setting `patience` and no batch is committed, `stuck`
    if a batch, or the code of a spout or a discovery, does not return for longer than `stuck-after`, `failed` if it
    failed for good, and `lost` if the process of the run has exited, or its own was killed and its restart has not
    begun. A streamlet that was paused or waits for its producers is healthy.

    The exit code is 0 if all streamlets, or those that are named, are healthy; 1 if one has failed or is lost,
    or if the status of the run cannot be read; 3 if one is overdue or stuck, or if the application does not run.
    """
    from streamlets.runner.events.health import health_of

    state = only(applications(path, state_dir, application), path)
    current = current_status(state)
    lost = _lost(current, state)
    written = current.written
    found: Sequence[StreamletHealth] = ()
    if written is not None:
        silence = max(0.0, time.time() - written.time)
        found = health_of(written.status, written.time, lost=lost, silence=silence)
    known = {streamlet.ref: streamlet for streamlet in found}
    check_refs(refs, known, state.application)
    shown = [known[ref] for ref in refs if ref in known] or list(found)
    running = current.alive and not lost
    if form == "json":
        data = {"application": state.application, "running": running, "streamlets": [one.data() for one in shown]}
        click.echo(json.dumps(data, indent=2))
    else:
        if current.damaged:
            click.echo(unknown_status(state, current))
        else:
            _print(state.application, shown, lost if current.alive else "", running=running)
    raise SystemExit(_FAILED if current.damaged else _exit_code({one.health for one in shown}, running=running))


def _lost(current: CurrentStatus, state: StateDirectory) -> str:
    """Return why the run can do nothing any more; "" if it can, or has ended.

    A status that seems old is watched: the clock may have been set since it was written.
    """
    if current.lost:
        return current.lost
    seen, until = current.written, time.monotonic() + _PATIENCE
    while current.silent and seen is not None:
        current = current_status(state)
        if current.written is not None and current.written.status != seen.status:
            return ""
        if time.monotonic() > until:
            return f"its process {seen.process} writes no status"
        time.sleep(_POLL_INTERVAL)
    return ""


def _print(application: str, shown: Sequence[StreamletHealth], hang: str, *, running: bool) -> None:
    """Print the health of streamlets; `hang` is why a process that lives does nothing."""
    from cli.output.tables import print_table

    if not running:
        click.echo(f"{application} does not respond: {hang}" if hang else f"{application} is not running")
    if shown:
        rows = [(one.ref, one.health, span(one.seconds), one.reason) for one in shown]
        print_table(("streamlet", "health", "for", "reason"), rows, right=("for",))


def _exit_code(healths: Collection[str], *, running: bool) -> int:
    if {"failed", "lost"} & set(healths):
        return _FAILED
    return _WELL if running and set(healths) <= {"healthy"} else _WAITING
