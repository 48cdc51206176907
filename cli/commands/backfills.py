"""`flow backfills`: list the backfills of an application, without Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.options import format_option, path_argument
from cli.output.errors import fail
from cli.output.quantities import timestamp
from cli.output.tables import print_table
from cli.state import state_directories, state_options

if TYPE_CHECKING:
    from streamlets.backfills.model import Backfill
    from streamlets.backfills.store import Store
    from streamlets.runner.state_directory.directory import StateDirectory


@click.command()
@path_argument
@state_options
@format_option()
def backfills(path: Path, state_dir: Path | None, application: str | None, form: str) -> None:
    """List the backfills of an application: their ranges, states, and where their results are.

    PATH is the application's blueprint or directory (default: the working directory).
    """
    from streamlets.backfills.store import Store

    states = state_directories(path, state_dir, application)
    known = {state.application: _known(state) for state in states}
    if form == "json":
        click.echo(json.dumps({name: [_as_data(own, Store(state)) for own in known[name]] for name, state in
                               zip(known, states, strict=True)}, indent=2))  # fmt: skip
        return
    columns = ("state", "from", "to", "records", "results", "into", "began (UTC)")
    for state in states:
        rows = [_row(own, Store(state)) for own in known[state.application]]
        if rows:
            print_table((state.application, *columns), rows, right=("records", "results"))
        else:
            click.echo(f"{state.application} has no backfill")


def _known(state: StateDirectory) -> list[Backfill]:
    """Return the backfills of an application.

    Raises:
        SystemExit: 1, when the file of one is damaged; an error has been printed.
    """
    from streamlets.backfills.store import Store
    from streamlets.storage.damage import DamagedFileError

    store = Store(state)
    try:
        return [own for name in store.names() if (own := store.read(name)) is not None]
    except DamagedFileError as error:
        fail(str(error))


def _state(own: Backfill, store: Store) -> str:
    if own.phase == "done":
        return "done"
    return f"running ({own.phase})" if store.owner(own.name) is not None else f"interrupted ({own.phase})"


def _row(own: Backfill, store: Store) -> tuple[str, ...]:
    request = own.request
    results = sum(result.records or 0 for result in own.results.values())
    return (
        own.name,
        _state(own, store),
        request.begin.text if request.begin is not None else "oldest record",
        request.end.text if request.end is not None else "its start",
        f"{own.records:,}",
        f"{results:,}" if own.phase == "done" else "-",
        request.into or (f"topic {request.topic}" if request.topic else "-"),
        timestamp(own.created),
    )


def _as_data(own: Backfill, store: Store) -> dict[str, object]:
    request = own.request
    return {
        "name": own.name,
        "streamlet": request.streamlet,
        "state": _state(own, store).split()[0],
        "phase": own.phase,
        "from": request.begin.text if request.begin is not None else None,
        "to": request.end.text if request.end is not None else None,
        "warm-up": own.warm_up or None,
        "records": own.records,
        "results": {topic: result.records for topic, result in own.results.items()},
        "into": request.into or None,
        "topic": request.topic or None,
        "created": own.created,
        "ended": own.ended,
    }
