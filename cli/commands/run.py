"""`flow run`: verify an application, run it, and show its progress until it ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

import click

from cli.application import application, application_arguments, overriding
from cli.groups import imports_modules
from cli.options import PAGE_PORT, DirectoryType, DurationType, PortType, master_option
from cli.output.errors import fail
from cli.verification.descriptors import CLASSES

if TYPE_CHECKING:
    from blueprint.core_settings import Isolation, Resources
    from blueprint.plan import ApplicationPlan
    from blueprint.verification.verify import Verification
    from cli.application import Application
    from cli.runs.process import ThisRun
    from cli.verification.continuation import Continuation
    from streamlets.runner.events.view import View
    from streamlets.runner.run import RunOptions
    from streamlets.runner.state_directory.directory import StateDirectory
    from streamlets.runner.views import ViewContext


@imports_modules()
@click.command()
@application_arguments
@click.option("--available-now", is_flag=True, help="Process all available data in topological order, then exit.")
@click.option(
    "--fresh",
    is_flag=True,
    help="Delete all topics and checkpoints in the state directory before starting (asks for confirmation unless "
    "--yes). Topics on Kafka keep their records.",
)
@click.option(
    "--resources", type=click.Choice(["standard", "keep", "create-only", "delete-only", "skip"]),
    help="What to create and delete: create missing topics (keep), also delete topics and checkpoints after a clean "
    "end of all streamlets (standard), only create or only delete, and exit, or do neither (skip). Default: the "
    "setting flow.resources, or keep.",
)  # fmt: skip
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@master_option
@click.option(
    "--isolation", type=click.Choice(["none", "process"]),
    help="Run all streamlets on one Spark, or each streamlet or group in a process with its own Spark (default: the "
    "setting flow.isolation, or none).",
)  # fmt: skip
@click.option(
    "--state-dir", metavar="DIRECTORY", type=DirectoryType(),
    help="The parent directory of the application's topics and checkpoints (default: .flow next to the blueprint).",
)  # fmt: skip
@click.option(
    "--allow", type=click.Choice(CLASSES[CLASSES.index("drain"):]),
    help="The worst class of change since the last run to allow, in increasing order (default: drain if the last run "
    "ended with all batches committed).",
)  # fmt: skip
@click.option("--plans", is_flag=True, help="Build the streamlets' logic first, and compare the queries, too.")
@click.option(
    "--drain-timeout", type=DurationType(), metavar="DURATION", default="60s", show_default=True,
    help="How long to wait for running batches when stopping; batches that take longer are replayed at the next start.",
)  # fmt: skip
@click.option("--fail-fast", is_flag=True, help="Stop the run when one streamlet has failed and cannot be restarted.")
@click.option(
    "--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True,
    help="The format of the log file; json is one JSON object per line.",
)  # fmt: skip
@click.option(
    "--format", "form", type=click.Choice(["auto", "table", "lines", "jsonl", "json"]), default="auto",
    show_default=True,
    help="The output format: a live table, one line per event, or one JSON object per event; auto is table on a "
    "terminal, otherwise lines; json is an older name of jsonl.",
)  # fmt: skip
@click.option(
    "--view", "views", multiple=True, metavar="NAME[=ARGUMENT]",
    help="Show the run by a further view, also one of another package: jsonl=FILE appends each event to a file as a "
    "JSON object; may be repeated.",
)  # fmt: skip
@click.option(
    "--ui", type=PortType(), is_flag=False, flag_value=str(PAGE_PORT), metavar="[PORT]",
    help=f"Serve the page of the run on this machine, as `flow ui` does (default: port {PAGE_PORT}; 0 for any).",
)  # fmt: skip
def run(
    arguments: Sequence[str],
    conf: Sequence[str],
    available_now: bool,
    fresh: bool,
    resources: str | None,
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
    views: Sequence[str],
    ui: int | None,
) -> None:
    """Verify an application, then run it until it is stopped.

    PATH is a blueprint or its directory (default: the working directory). Ctrl-C or SIGTERM stops the run after the
    running batches; a second one stops it immediately. With --available-now, the run ends when all available data has
    been processed.

    The application is compared with the version that last ran, as by `flow verify --against`. If a change is worse than
    --allow permits, the run does not start. Queries that lose their state start with a new checkpoint.

    With --resources create-only or delete-only, nothing is run, and the options of a run have no effect. Topics that
    the application does not manage, dead letters that were not replayed, and what sinks have written are never deleted.

    The exit code is 0 if every streamlet completed or was stopped, 1 if a streamlet failed or the run could not
    continue, and 2 if the blueprint or the arguments are wrong or the state of the last run cannot be continued.
    """
    from cli.runs.process import ThisRun, arguments_of
    from cli.runs.resources import check_mode
    from cli.verification.continuation import Continuation, lost_queries
    from streamlets.runner.run import RunOptions
    from streamlets.runner.views import ViewContext

    environment = dict(os.environ)  # `--plans` starts Spark, which changes it
    app = _application(arguments, conf, state_dir, overriding(master, isolation))
    if resources in ("create-only", "delete-only"):
        _settle(app, resources, fresh=fresh, yes=yes, form=form)
    continuation = Continuation(app.state_root, allow, fresh=fresh)
    verification = _verified(app, continuation, form, plans=plans)
    plan = verification.plan
    assert plan is not None  # other verifications were refused
    mode = resources or plan.settings.resources
    state = continuation.state(plan)
    check_mode(plan, state, mode, fresh=fresh, yes=yes)
    further = views if ui is None else (*views, f"ui={ui}")
    shown = _views(form, further, ViewContext(plan=plan, state=state, bounded=available_now))
    this_run = ThisRun(_options(click.get_current_context().params, state), environment=environment)
    options = RunOptions(
        state=state,
        master=master,
        isolation=isolation,
        bounded=available_now,
        fresh=fresh,
        resources=cast("Resources", mode),
        drain_within=drain_timeout,
        fail_fast=fail_fast,
        json_log=log_format == "json",
        arguments=arguments_of(app),
        compared=continuation.compared,
        reset=lost_queries(verification.changes),
        taken_over=state.taken_over,
        check_upgrade=this_run.check,
        check_return=lambda previous: this_run.check(
            previous, "--against", str(state.directory), "--allow", "state-loss"
        ),
    )
    _run(plan, options, shown, this_run)


def _application(
    arguments: Sequence[str], conf: Sequence[str], state_dir: str | None, options: tuple[str, ...]
) -> Application:
    app = application(arguments, conf)
    return replace(app, state_root=Path(state_dir) if state_dir else None, options=options)


def _settle(app: Application, resources: str, *, fresh: bool, yes: bool, form: str) -> NoReturn:
    """Create or delete the resources of an application without a run, and exit.

    Raises:
        click.UsageError: --fresh is given.
    """
    from cli.runs.resources import create_resources, delete_resources

    if fresh:
        raise click.UsageError(f"--fresh belongs to a run, and --resources {resources} runs nothing")
    if resources == "create-only":
        create_resources(app, form)
    delete_resources(app, yes, form)


def _verified(app: Application, continuation: Continuation, form: str, *, plans: bool) -> Verification:
    """Return the verification of an application that can be started; otherwise exit with the findings."""
    from blueprint.diagnostics.report import summary
    from cli.verification.findings import refuse, verify_with_logic

    verification, error = verify_with_logic(app, continuation) if plans else (app.verify(against=continuation), "")
    if verification.plan is None:
        refuse(verification)
    continuation.report(verification)
    if form not in ("jsonl", "json") and sys.stdout.isatty():
        click.echo(summary(verification))
    if error:
        click.echo(error, err=True)
        raise SystemExit(1)
    return verification


def _views(form: str, further: Sequence[str], context: ViewContext) -> tuple[View, ...]:
    """Return the views of a run, the one on the standard output first.

    Raises:
        click.UsageError: a view does not exist, or cannot be opened.
    """
    from cli.output.views import open_views
    from streamlets.runner.views import ViewError

    try:
        return open_views(_output(form), further, context)
    except ViewError as problem:
        raise click.UsageError(str(problem)) from None


def _run(plan: ApplicationPlan, options: RunOptions, shown: Sequence[View], this_run: ThisRun) -> NoReturn:
    """Run an application, become its new version if an upgrade is requested, and exit with the code of the run."""
    from cli.output.views import entered
    from streamlets.runner.run import run as run_plan
    from streamlets.runner.state_directory.directory import StateError
    from streamlets.runner.views import ViewError
    from streamlets.spark.session import SessionError

    try:
        with entered(shown):
            code, upgrade = run_plan(plan, options, shown, shown[0].print_line)
    except (StateError, SessionError) as failure:
        fail(str(failure), failure.help)
    except ViewError as problem:
        fail(str(problem))
    if upgrade is not None:
        this_run.become(upgrade)
    raise SystemExit(code)


def _options(parameters: Mapping[str, Any], state: StateDirectory) -> tuple[str, ...]:
    """Return the options of this run that apply to later versions, too; --fresh does not."""
    flags = [f"--{name.replace('_', '-')}" for name in ("available_now", "fail_fast") if parameters[name]]
    master = ["--master", parameters["master"]] if parameters["master"] else []
    isolation = ["--isolation", parameters["isolation"]] if parameters["isolation"] else []
    resources = ["--resources", parameters["resources"]] if parameters["resources"] else []
    return (
        *flags,
        *master,
        *isolation,
        *resources,
        *("--state-dir", str(state.root.absolute())),
        *("--drain-timeout", f"{parameters['drain_timeout']:f}s"),
        *("--log-format", parameters["log_format"]),
        *("--format", parameters["form"]),
        *(argument for view in parameters["views"] for argument in ("--view", view)),
        *(("--ui", str(parameters["ui"])) if parameters["ui"] is not None else ()),
    )


def _output(form: str) -> str:
    """Return the name of the view on the standard output."""
    default = "table" if sys.stdout.isatty() else "lines"
    return {"auto": default, "json": "jsonl"}.get(form, form)
