"""`flow run`: verify, then run, and show what happens until it is over."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.against import CLASSES
from cli.application import application, application_arguments
from cli.durations import DurationType
from cli.following import fail

if TYPE_CHECKING:
    from blueprint.plan import Isolation
    from streamlets.runner.state_directory.directory import StateDirectory


@click.command()
@application_arguments
@click.option("--available-now", is_flag=True, help="Work off what there is, producers first, then end.")
@click.option("--fresh", is_flag=True, help="Forget all topics and checkpoints first (asks, unless --yes).")
@click.option("--yes", is_flag=True, help="Ask nothing.")
@click.option("--master", metavar="URL", help="Spark's master; left out, all cores of this machine.")
@click.option(
    "--isolation", type=click.Choice(["none", "process"]),
    help="Where streamlets run: all on one Spark, or each (each group) in a process with a Spark of its own; "
    "left out, as flow.isolation says (none).",
)  # fmt: skip
@click.option(
    "--state-dir", metavar="DIR", help="Where topics and checkpoints are kept; left out, .flow beside the blueprint."
)
@click.option(
    "--allow", type=click.Choice(CLASSES[CLASSES.index("drain"):]),
    help="What a change since the last run may take at most, the mildest first; default: `drain` when the last run "
    "ended after a commit of each query.",
)  # fmt: skip
@click.option("--plans", is_flag=True, help="Build the streamlets' logic first, and compare its queries, too.")
@click.option(
    "--drain-timeout", type=DurationType(), metavar="DURATION", default="60s", show_default=True,
    help="How long running batches may take when it is stopped; then they are given up, to be replayed.",
)  # fmt: skip
@click.option("--fail-fast", is_flag=True, help="End as soon as one streamlet has failed for good.")
@click.option(
    "--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True,
    help="The log file's: readable lines, or a record of JSON a line.",
)  # fmt: skip
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
    isolation: Isolation | None,
    state_dir: str | None,
    allow: str | None,
    plans: bool,
    drain_timeout: float,
    fail_fast: bool,
    log_format: str,
    form: str,
) -> None:
    """Verify an application, then run it until it is stopped (Ctrl-C or SIGTERM: once to finish the running batches,
    twice to stop at once) or, with --available-now, until everything there is has been worked off.

    What changed since the last run is compared as by `flow verify --against`. The run stops before Spark starts when a
    change takes more than --allow permits. Queries that lose their state start again with a new checkpoint.

    PATH is a blueprint or its folder (left out: this folder). The exit code is 0 when every streamlet completed or was
    stopped, 1 when one failed for good or the run could not go on, 2 when the blueprint or the arguments are wrong
    or the state of the last run cannot be continued.
    """
    from cli.continuing import Continuation, lost_queries
    from cli.taking_over import ThisRun, arguments_of
    from cli.verifying import refuse, with_logic
    from streamlets.runner.run import RunOptions
    from streamlets.runner.run import run as run_plan
    from streamlets.runner.state_directory.directory import StateError
    from streamlets.spark.session import SessionError

    app = application(given, conf)
    continuation = Continuation(Path(state_dir) if state_dir else None, allow, fresh=fresh)
    verification, without_logic = with_logic(app, continuation) if plans else (app.verify(against=continuation), "")
    if verification.plan is None:
        refuse(verification)
    continuation.report(verification)
    if without_logic:
        click.echo(without_logic, err=True)
        raise SystemExit(1)
    plan = verification.plan
    state = continuation.state(plan)
    if fresh and not yes and state.holds_anything():
        _confirm(state)
    view = _view(form, state)
    this = ThisRun(_options(click.get_current_context().params, state))
    options = RunOptions(
        state=state,
        master=master,
        isolation=isolation,
        bounded=available_now,
        fresh=fresh,
        drain_within=drain_timeout,
        fail_fast=fail_fast,
        json_log=log_format == "json",
        arguments=arguments_of(app),
        compared=continuation.compared,
        reset=lost_queries(verification.changes),
        taken_over=state.taken_over,
        check_upgrade=this.check,
        check_return=lambda before: this.check(before, "--against", str(state.directory), "--allow", "state-loss"),
    )
    try:
        with view:
            code, upgrade = run_plan(plan, options, view.event, view.print_line)
    except (StateError, SessionError) as error:
        fail(str(error), error.help)
    if upgrade is not None:
        this.become(upgrade)
    raise SystemExit(code)


def _options(given: Mapping[str, Any], state: StateDirectory) -> tuple[str, ...]:
    """The options of this run that the version after it takes over; its folder is as fresh as this one leaves it."""
    flags = [f"--{name.replace('_', '-')}" for name in ("available_now", "fail_fast") if given[name]]
    master = ["--master", given["master"]] if given["master"] else []
    isolation = ["--isolation", given["isolation"]] if given["isolation"] else []
    return (
        *flags,
        *master,
        *isolation,
        *("--state-dir", str(state.root.absolute())),
        *("--drain-timeout", f"{given['drain_timeout']:f}s"),
        *("--log-format", given["log_format"]),
        *("--format", given["form"]),
    )


def _confirm(state: StateDirectory) -> None:
    if not sys.stdin.isatty():
        raise click.UsageError(f"--fresh deletes {state.topics} and {state.checkpoints}: add --yes")
    click.confirm(f"Delete all topics and checkpoints below {state.directory}?", abort=True, err=True)


def _view(form: str, state: StateDirectory) -> View:
    from blueprint.hocon import shown_name
    from cli.output.live import JsonView, LineView, TableView

    logs = shown_name(state.logs)
    match form if form != "auto" else "table" if sys.stdout.isatty() else "lines":
        case "json":
            return JsonView()
        case "table":
            return TableView(logs)
        case _:
            return LineView(logs)


if TYPE_CHECKING:
    from cli.output.live import View
