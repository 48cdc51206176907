"""`flow backfills`: list the backfills of an application, and delete one, without Spark."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.groups import ListedGroup
from cli.options import format_option, path_argument
from cli.output.errors import fail, print_error
from cli.output.quantities import timestamp
from cli.output.tables import print_table
from cli.runs.backfill_options import NameType
from cli.state import own_state_directory, state_directories, state_options

if TYPE_CHECKING:
    from streamlets.backfills.model import Backfill
    from streamlets.backfills.store import Store
    from streamlets.runner.state_directory.directory import StateDirectory


@click.group(cls=ListedGroup)
def backfills() -> None:
    """List the backfills of an application, and delete one."""


@backfills.command("list", short_help="List the backfills (the default).")
@path_argument
@state_options
@format_option()
def list_all(path: Path, state_dir: Path | None, application: str | None, form: str) -> None:
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


@backfills.command(short_help="Delete a backfill that is done or was interrupted.")
@click.argument("name", type=NameType())
@path_argument
@state_options
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@format_option()
def delete(name: str, path: Path, state_dir: Path | None, application: str | None, yes: bool, form: str) -> None:
    """Delete a backfill: its snapshots, checkpoints, topics, logs, and its entry in the list.

    Results in the directory of --into and in the topic of --into-topic are kept. A backfill that is running is not
    deleted.

    PATH is the application's blueprint or directory (default: the working directory).
    """
    from streamlets.backfills.model import BackfillError
    from streamlets.backfills.store import Store
    from streamlets.storage.damage import DamagedFileError

    store = Store(own_state_directory(path, state_dir, application))
    try:
        own = _named(name, store)
        with store.owned(name, "stop it with Ctrl-C, or wait for it"):
            _confirm(own, yes)
            store.delete(name)
    except BackfillError as error:
        print_error(str(error), error.help)
        raise SystemExit(2 if error.refused else 1) from None
    except DamagedFileError as error:
        fail(str(error))
    except OSError as error:
        fail(f"the backfill cannot be deleted: {error}")
    click.echo(json.dumps({"deleted": name}, indent=2) if form == "json" else f"{name}: backfill deleted")


def _named(name: str, store: Store) -> Backfill:
    """Return the backfill of a name.

    Raises:
        click.UsageError: there is none.
        BackfillError, DamagedFileError: as `Store.read`.
    """
    from blueprint.spelling import suggestion

    if (own := store.read(name)) is None:
        names = store.names()
        if store.home(name).exists():
            hint = f"{store.home(name)} has no `backfill.json`; delete the directory if it is not needed"
            raise click.UsageError(f"`{name}` is not a backfill: {hint}")
        hint = suggestion(name, names) if names else f"{store.state.application} has no backfill"
        raise click.UsageError(f"there is no backfill `{name}`; {hint}")
    return own


def _confirm(own: Backfill, yes: bool) -> None:
    """Print what will be lost, and ask for confirmation.

    Raises:
        click.UsageError: the standard input is not a terminal.
    """
    if own.phase != "done":
        click.echo(f"{own.name}: deletes the progress of an interrupted backfill ({own.phase})", err=True)
    elif own.request.into or own.request.topic:
        target = own.request.into or f"the topic `{own.request.topic}`"
        click.echo(f"{own.name}: deletes its entry in the list; its results in {target} are kept", err=True)
    else:
        click.echo(f"{own.name}: deletes its results, which were kept for comparisons only", err=True)
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError("nothing was deleted; add --yes to delete without confirmation")
    click.confirm("Delete?", abort=True, err=True)


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
