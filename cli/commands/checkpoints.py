"""`flow checkpoints`: list, show and reset the checkpoints of an application's queries, without Spark."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from blueprint.wording import counted
from cli.groups import ListedGroup, imports_modules
from cli.options import format_option, path_argument
from cli.output.errors import fail
from cli.state import own_state_directory, state_directories, state_directory, state_options, topics_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamlets.runner.checkpoints.checkpoint import Checkpoint
    from streamlets.runner.state_directory.directory import StateDirectory


@click.group(cls=ListedGroup)
def checkpoints() -> None:
    """List, show and reset the checkpoints of an application.

    Each query of a streamlet has a checkpoint. The checkpoints are read without Spark, also while the application runs.
    """


@imports_modules("with servers")
@checkpoints.command("list", short_help="List the checkpoints (the default).")
@path_argument
@state_options
@format_option()
def list_all(path: Path, state_dir: Path | None, application: str | None, form: str) -> None:
    """List the checkpoints with their last batch, backlog, watermark, state rows and size.

    PATH is the application's blueprint or directory (default: the working directory).
    """
    from cli.output.checkpoints import as_data, print_list
    from streamlets.runner.checkpoints.checkpoint import checkpoints_in

    states = state_directories(path, state_dir, application)
    if form == "json":
        data = {}
        for state in states:
            topics = topics_of(state, path)
            checkpoints = checkpoints_in(state.checkpoints)
            data[state.application] = [as_data(checkpoint, state, topics) for checkpoint in checkpoints]
        _print_json(data)
        return
    for state in states:
        print_list(state, checkpoints_in(state.checkpoints), topics_of(state, path))


@imports_modules("with servers")
@checkpoints.command(short_help="Show the checkpoints of a streamlet or a query.")
@click.argument("name", metavar="STREAMLET[.QUERY]")
@path_argument
@state_options
@format_option()
def show(name: str, path: Path, state_dir: Path | None, application: str | None, form: str) -> None:
    """Show the checkpoints of a streamlet, or of one of its queries.

    The output has the batches, the offsets in the topics, the state, the sizes and any damage. PATH is the
    application's blueprint or directory (default: the working directory).
    """
    from cli.output.checkpoints import as_data, print_checkpoint

    state = state_directory(path, state_dir, application)
    selected, topics = _named(name, state), topics_of(state, path)
    if form == "json":
        _print_json([as_data(checkpoint, state, topics) for checkpoint in selected])
        return
    for number, checkpoint in enumerate(selected):
        if number:
            click.echo()
        print_checkpoint(state, checkpoint, topics)


@checkpoints.command(short_help="Delete the checkpoints of a streamlet or a query.")
@click.argument("name", metavar="STREAMLET[.QUERY]")
@path_argument
@state_options
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@format_option()
def reset(name: str, path: Path, state_dir: Path | None, application: str | None, yes: bool, form: str) -> None:
    """Delete the checkpoints of a streamlet, or of one of its queries, so that it starts from scratch.

    At its next start it reads its inlets from where new readers start (the setting `starting`, default: the beginning)
    with empty state. Records that it has already written are written again. The application must not be running.

    PATH is the application's blueprint or directory (default: the working directory).
    """
    from streamlets.runner.checkpoints.reset import reset as delete
    from streamlets.runner.state_directory.directory import StateError
    from streamlets.runner.topics import stored_channels

    state = own_state_directory(path, state_dir, application)
    selected = _named(name, state)
    try:
        with state.locked():
            _confirm(selected, yes)
            delete(state, selected, stored_channels(state).values())
    except StateError as error:
        fail(str(error), error.help)
    except OSError as error:
        fail(f"the checkpoint cannot be reset: {error}")
    if form == "json":
        _print_json({"reset": [checkpoint.name for checkpoint in selected]})
        return
    for checkpoint in selected:
        click.echo(f"{checkpoint.name}: checkpoint deleted; the next start begins from scratch")


def _confirm(selected: Sequence[Checkpoint], yes: bool) -> None:
    """Print what will be lost, and ask for confirmation.

    Raises:
        click.UsageError: the standard input is not a terminal.
    """
    for checkpoint in selected:
        committed = checkpoint.committed
        batches = counted(committed.number + 1, "batch", "batches") if committed else "no committed batch"
        state = f" and the state of {counted(len(checkpoint.operators), 'operator')}" if checkpoint.operators else ""
        click.echo(f"{checkpoint.name}: deletes the progress of {batches}{state}", err=True)
    click.echo("Records already written are kept and will be written again: consumers will see them twice.", err=True)
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError("nothing was deleted; add --yes to reset without confirmation")
    click.confirm("Reset?", abort=True, err=True)


def _named(name: str, state: StateDirectory) -> list[Checkpoint]:
    """Return the checkpoints of a streamlet or of one of its queries.

    Raises:
        click.UsageError: there is none.
    """
    from blueprint.spelling import suggestion
    from streamlets.runner.checkpoints.checkpoint import checkpoints_in

    known = checkpoints_in(state.checkpoints)
    selected = [
        checkpoint
        for checkpoint in known
        if name in (checkpoint.streamlet, checkpoint.name, f"{checkpoint.streamlet}/{checkpoint.query}")
    ]
    if selected:
        return selected
    names = [*(checkpoint.name for checkpoint in known), *dict.fromkeys(checkpoint.streamlet for checkpoint in known)]
    existing = ", ".join(checkpoint.name for checkpoint in known)
    hint = suggestion(name, names, f"the checkpoints are {existing}" if existing else "there are no checkpoints yet")
    raise click.UsageError(f"there is no checkpoint of `{name}`; {hint}")


def _print_json(data: Any) -> None:
    import json

    click.echo(json.dumps(data, indent=2))
