"""`flow spouts`: show the spouts of an application, their transactions, and what is staged, without Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.options import format_option, path_argument
from cli.output.quantities import size, timestamp
from cli.output.tables import print_table
from cli.runs.sources import spouts_of
from cli.state import state_directories, state_options

if TYPE_CHECKING:
    pass


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
