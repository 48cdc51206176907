"""`flow checkpoints`: where an application's queries stand, read without Spark, and how one begins anew."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.following import fail
from cli.groups import ListedGroup
from cli.output.formats import format_option
from cli.output.quantities import count
from cli.state import path_argument, state_directories, state_directory, state_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamlets.runner.checkpoints.checkpoint import Checkpoint
    from streamlets.runner.state_directory.directory import StateDirectory


@click.group(cls=ListedGroup)
def checkpoints() -> None:
    """List, show and reset the checkpoints of an application's queries.

    Spark's own files are read; nothing is started, and the application may be running.
    """


@checkpoints.command("list", short_help="List all of them.")
@path_argument
@state_options
@format_option()
def list_all(path: Path, state_dir: Path | None, application: str | None, form: str) -> None:
    """List the checkpoints: last batch, what lies before it, watermark, rows of state, size."""
    from cli.output.checkpoints import as_data, print_list
    from streamlets.runner.checkpoints.checkpoint import checkpoints_in

    states = state_directories(path, state_dir, application)
    if form == "json":
        _print_json(
            {each.application: [as_data(found, each) for found in checkpoints_in(each.checkpoints)] for each in states}
        )
        return
    for state in states:
        print_list(state, checkpoints_in(state.checkpoints))


@checkpoints.command(short_help="Show a streamlet's, or a query's.")
@click.argument("name", metavar="STREAMLET[.QUERY]")
@path_argument
@state_options
@format_option()
def show(name: str, path: Path, state_dir: Path | None, application: str | None, form: str) -> None:
    """Show a streamlet's checkpoints, or a query's: batches, positions in its topics, state, sizes, damage."""
    from cli.output.checkpoints import as_data, print_one

    state = state_directory(path, state_dir, application)
    found = _named(name, state)
    if form == "json":
        _print_json([as_data(each, state) for each in found])
        return
    for number, each in enumerate(found):
        if number:
            click.echo()
        print_one(state, each)


@checkpoints.command(short_help="Let a streamlet, or a query, begin anew.")
@click.argument("name", metavar="STREAMLET[.QUERY]")
@path_argument
@state_options
@click.option("--yes", is_flag=True, help="Ask nothing.")
def reset(name: str, path: Path, state_dir: Path | None, application: str | None, yes: bool) -> None:
    """Forget a streamlet's checkpoints, or a query's: it begins anew at its next start.

    It then reads its inlets from where new readers begin (`starting`, the beginning unless set) with empty state, and
    writes again what it has written before. Refused while the application runs.
    """
    from streamlets.channels.delta import DeltaChannel
    from streamlets.runner.checkpoints.reset import reset as forget
    from streamlets.runner.state_directory.directory import StateError

    state = state_directory(path, state_dir, application)
    found = _named(name, state)
    try:
        with state.locked():
            _confirm(found, yes)
            forget(state, found, [DeltaChannel(state.topics)])
    except StateError as error:
        fail(str(error), error.help)
    except OSError as error:
        fail(f"the checkpoint cannot be reset: {error}")
    for each in found:
        click.echo(f"{each.name} begins anew at its next start")


def _confirm(found: Sequence[Checkpoint], yes: bool) -> None:
    """Say what is lost, and ask.

    Raises:
        click.UsageError: nobody can be asked.
    """
    for each in found:
        done = count(each.committed.number + 1, "batch", "batches") if each.committed else "no committed batch"
        held = f" and the state of {count(len(each.operators), 'stateful operator')}" if each.operators else ""
        click.echo(f"{each.name}: forgets {done}{held}", err=True)
    click.echo("What it wrote stays, and it writes it again: consumers see those records twice.", err=True)
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError("nothing has been changed: add --yes to reset")
    click.confirm("Reset?", abort=True, err=True)


def _named(name: str, state: StateDirectory) -> list[Checkpoint]:
    """The checkpoints of a streamlet or of one of its queries.

    Raises:
        click.UsageError: there is none.
    """
    from blueprint.spelling import suggestion
    from streamlets.runner.checkpoints.checkpoint import checkpoints_in

    there = checkpoints_in(state.checkpoints)
    found = [each for each in there if name in (each.streamlet, each.name, f"{each.streamlet}/{each.query}")]
    if found:
        return found
    names = [*(each.name for each in there), *dict.fromkeys(each.streamlet for each in there)]
    hint = suggestion(name, names, f"there are: {', '.join(each.name for each in there) or 'none'}")
    raise click.UsageError(f"there is no checkpoint of `{name}`; {hint}")


def _print_json(found: Any) -> None:
    import json

    click.echo(json.dumps(found, indent=2))
