"""`flow spouts`: show the spouts of an application, their transactions, and what is staged, without Spark."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.options import format_option, path_argument
from cli.output.quantities import size, timestamp
from cli.output.tables import print_table
from cli.state import state_directories, state_options

if TYPE_CHECKING:
    from streamlets.runner.state_directory.directory import StateDirectory


_FINAL = ("completed", "failed")
"""States that a spout keeps when the run has ended."""


@click.command()
@path_argument
@state_options
@format_option()
def spouts(path: Path, state_dir: Path | None, application: str | None, form: str) -> None:
    """Show the spouts of an application: their state, transactions, records and staged data.

    Staged data belongs to transactions that are being delivered. Of a spout that is not running it is garbage, which
    its next start deletes. `flow pause` and `flow resume` stop and start a spout. PATH is the application's blueprint
    or directory (default: the working directory).
    """
    states = state_directories(path, state_dir, application)
    if form == "json":
        click.echo(json.dumps({state.application: spouts_of(state) for state in states}, indent=2))
        return
    columns = ("state", "transactions", "records", "dead letters", "last commit (UTC)", "port", "staged", "log")
    for state in states:
        rows = [
            (
                str(spout["ref"]), str(spout["state"]), f"{spout['transactions']:,}", f"{spout['records']:,}",
                f"{spout['dead_letters']:,}", timestamp(spout["last_commit"]), str(spout["port"] or "-"),  # type: ignore[arg-type]
                f"{spout['staged_transactions']} ({size(spout['staged_bytes'])})", str(spout["log"]),  # type: ignore[arg-type]
            )
            for spout in spouts_of(state)
        ]  # fmt: skip
        if rows:
            right = ("transactions", "records", "dead letters", "port")
            print_table((state.application, *columns), rows, right=right)
        else:
            click.echo(f"{state.application} has no spout that has run")


def spouts_of(state: StateDirectory) -> list[dict[str, object]]:
    """Return the data about each spout, by name."""
    from streamlets.ingress.spouts.report import read_report, report_file, staged
    from streamlets.runner.events.status_file import read_status

    written = read_status(state.status_file)
    running = state.owner() is not None
    states = {
        streamlet.ref: streamlet.state if running or streamlet.state in _FINAL else "stopped"
        for streamlet in (written.status.streamlets if written else ())
    }
    refs = sorted(directory.name for directory in state.spouts.glob("*") if directory.is_dir())
    entries: list[dict[str, object]] = []
    for ref in refs:
        report = read_report(report_file(state, ref))
        transactions, staged_bytes = staged(state, ref)
        log = state.logs / f"{ref}.log"
        age = None if report.last_commit is None else max(0.0, time.time() - report.last_commit)
        entries.append(
            {"ref": ref, "state": states.get(ref, "stopped"), **asdict(report), "age": age,
             "staged_transactions": transactions, "staged_bytes": staged_bytes,
             "log": str(log) if log.exists() else "-"}
        )  # fmt: skip
    return entries
