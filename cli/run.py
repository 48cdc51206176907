"""`flow run`: verify, then run, and show what happens until it is over."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.application import application, application_arguments

if TYPE_CHECKING:
    from streamlets.runner.state import StateFolder

_WRONG_BLUEPRINT = 2


@click.command()
@application_arguments
@click.option("--available-now", is_flag=True, help="Work off what there is, producers first, then end.")
@click.option("--fresh", is_flag=True, help="Forget all topics and checkpoints first (asks, unless --yes).")
@click.option("--yes", is_flag=True, help="Ask nothing.")
@click.option("--master", metavar="URL", help="Spark's master; left out, all cores of this machine.")
@click.option(
    "--state-dir", metavar="DIR", help="Where topics and checkpoints are kept; left out, .flow beside the blueprint."
)
@click.option(
    "--format", "form", type=click.Choice(["auto", "table", "lines", "json"]), default="auto", show_default=True,
    help="A live table, a line per event, or events as JSON lines; auto is a table on a terminal, else lines.",
)  # fmt: skip
def run(
    given: Sequence[str],
    conf: Sequence[str],
    available_now: bool,
    fresh: bool,
    yes: bool,
    master: str | None,
    state_dir: str | None,
    form: str,
) -> None:
    """Verify an application, then run it until it is stopped (Ctrl-C or SIGTERM: once to finish the running batches,
    twice to stop at once) or, with --available-now, until everything there is has been worked off.

    PATH is a blueprint or its folder (left out: this folder). The exit code is 0 when every streamlet completed or was
    stopped, 1 when one failed for good or the run could not go on, 2 when the blueprint or the arguments are wrong.
    """
    from cli.verify import report
    from streamlets.runner.run import RunOptions
    from streamlets.runner.run import run as run_plan
    from streamlets.runner.session import SessionError
    from streamlets.runner.state import STATE_FOLDER, StateError, StateFolder

    app = application(given, conf)
    verification = app.verify()
    if verification.plan is None:
        click.echo(report(verification, err=True), nl=False, err=True)
        raise SystemExit(_WRONG_BLUEPRINT)
    plan = verification.plan
    root = Path(state_dir) if state_dir else Path(plan.folder) / STATE_FOLDER
    state = StateFolder(root, plan.name)
    if fresh and not yes and state.holds_anything():
        _confirm(state)
    view = _view(form, state)
    options = RunOptions(state=state, master=master, bounded=available_now, fresh=fresh)
    try:
        with view:
            code = run_plan(plan, options, view.event, view.print_line)
    except (StateError, SessionError) as error:
        click.echo(f"error: {error}\n  help: {error.help}", err=True)
        code = 1
    raise SystemExit(code)


def _confirm(state: StateFolder) -> None:
    if not sys.stdin.isatty():
        raise click.UsageError(f"--fresh deletes {state.topics} and {state.checkpoints}: add --yes")
    click.confirm(f"Delete all topics and checkpoints below {state.folder}?", abort=True, err=True)


def _view(form: str, state: StateFolder) -> View:
    from cli.live import JsonView, LineView, TableView

    logs = _shown(state.logs)
    match form if form != "auto" else "table" if sys.stdout.isatty() else "lines":
        case "json":
            return JsonView()
        case "table":
            return TableView(logs)
        case _:
            return LineView(logs)


def _shown(folder: Path) -> str:
    try:
        return str(folder.absolute().relative_to(Path.cwd()))
    except ValueError:
        return str(folder)


if TYPE_CHECKING:
    from cli.live import View
