"""`flow upgrade`: put a new version of a running application in its place, on the same state."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.against import CLASSES, against
from cli.application import Application, application_arguments
from cli.application import application as application_of
from cli.following import Follower, Status, fail, send, shown_state, streamlets, the_running, timeout_option
from cli.state import state_options

if TYPE_CHECKING:
    from blueprint.comparison.findings import Against
    from blueprint.plan import ApplicationPlan
    from streamlets.runner.state_folder.folder import StateFolder

_UP = ("running", "completed", "paused")
_WRONG = ("failed", "backing-off")


@click.command()
@application_arguments
@state_options
@click.option(
    "--allow", type=click.Choice(CLASSES[CLASSES.index("drain"):]), default="drain", show_default=True,
    help="What a change may take at most, the mildest first.",
)  # fmt: skip
@click.option("--check", is_flag=True, help="Only verify and compare; the running version is left alone.")
@timeout_option("How long running batches may take (left out: the run's own --drain-timeout).")
def upgrade(
    given: Sequence[str],
    conf: Sequence[str],
    state_dir: Path | None,
    application: str | None,
    allow: str,
    check: bool,
    timeout: float | None,
) -> None:
    """Verify the version in PATH, compare it with the one that runs, drain that, and start the new one on its topics
    and checkpoints: in the same process, with the options of its `flow run`.

    PATH is a blueprint or its folder (left out: this folder). Without --conf and KEY=VALUE those of the running version
    stay. What cannot be verified, or takes more than is allowed, leaves the running version as it is. The exit code is
    0 when all of the new version is up, 1 when it is refused or a streamlet of it fails, 2 when arguments are wrong.
    """
    from cli.taking_over import arguments_of
    from cli.verify import exit_code, report
    from streamlets.runner.state_folder.control import request

    app = application_of(given, conf)
    state = the_running(app.blueprint, state_dir, application)
    process = state.owner()
    if process is None:
        fail(f"{state.application} is not running", "`flow run` starts the new version on the same state")
    app = _with_running(app, state)
    running = against(state.folder, allow)
    verification = app.verify(against=running)
    click.echo(report(verification), nl=False)
    if not verification.ok or verification.plan is None:
        click.echo("the running version is left as it is", err=True)
        raise SystemExit(exit_code(app.blueprint.exists(), verification))
    if verification.plan.name != state.application:
        fail(f"this is the application {verification.plan.name}, and {state.application} runs in {state.folder}")
    if check:
        return
    follower = Follower(state)
    started = follower.status().get("started")
    lost = _lost(running, verification.plan)
    send(state, request("upgrade", within=timeout, arguments=arguments_of(app), reset=lost))
    if lost:
        click.echo(f"begins anew, without its checkpoint: {', '.join(lost)}")
    click.echo(f"{state.application} (process {process}): draining, then the new version starts in its place")
    status = follower.until(lambda status: status.get("started") != started and _settled(status), None) or {}
    _conclude(status, started, state)


def _with_running(app: Application, state: StateFolder) -> Application:
    """The application with the settings of the running version, unless there are some of its own."""
    if app.conf or app.settings:
        return app
    running = application_of(*_split(state.launched()))
    return Application(app.blueprint, running.conf, running.settings)


def _split(arguments: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Positional arguments, and the files of `--conf`."""
    given: list[str] = []
    conf: list[str] = []
    rest = iter(arguments)
    for each in rest:
        if each == "--conf":
            conf.append(next(rest))
        else:
            given.append(each)
    return tuple(given), tuple(conf)


def _lost(running: Against, plan: ApplicationPlan) -> tuple[str, ...]:
    """The queries whose checkpoints the new version cannot go on with; that they are lost has been allowed."""
    from blueprint.comparison import Described, compare, describe_plan

    assert isinstance(running.described, Described), "it was compared with"
    changes = compare(running.described.descriptor, describe_plan(plan))
    return tuple(sorted({query for change in changes for query in change.queries}))


def _settled(status: Status) -> bool:
    """Whether each streamlet of the new version is up, or in trouble."""
    found = streamlets(status)
    return bool(found) and all(shown_state(each) in (*_UP, *_WRONG) for each in found)


def _conclude(status: Status, started: float | None, state: StateFolder) -> None:
    if status.get("started") == started:
        fail(f"{state.application} ended before the new version began: {status.get('reason') or 'it died'}")
    if status.get("ended") is not None and status.get("exit_code"):
        fail(f"the new version ended: {status.get('reason')}", f"see {state.logs / 'run.log'}")
    wrong = [each["ref"] for each in streamlets(status) if shown_state(each) in _WRONG]
    if wrong:
        fail(f"the new version runs, but not all is well: {', '.join(wrong)}", "`flow status` says more")
    click.echo(f"{state.application} is upgraded")
