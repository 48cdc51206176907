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
    from streamlets.runner.state_directory.directory import StateDirectory
    from streamlets.runner.trial import UpgradeOutcome

_UP = ("running", "completed", "paused")
_WRONG = ("failed", "backing-off")


@click.command()
@application_arguments
@state_options
@click.option(
    "--allow", type=click.Choice(CLASSES[CLASSES.index("drain"):]), default="drain", show_default=True,
    help="What a change may take at most, the mildest first.",
)  # fmt: skip
@click.option("--plans", is_flag=True, help="Build the streamlets' logic first, and compare its queries, too.")
@click.option("--check", is_flag=True, help="Only verify and compare; the running version is left alone.")
@timeout_option("How long running batches may take (left out: the run's own --drain-timeout).")
def upgrade(
    given: Sequence[str],
    conf: Sequence[str],
    state_dir: Path | None,
    application: str | None,
    allow: str,
    plans: bool,
    check: bool,
    timeout: float | None,
) -> None:
    """Verify the version in PATH, compare it with the one that runs, drain that, and start the new one on its topics
    and checkpoints: in the same process, with the options of its `flow run`.

    PATH is a blueprint or its folder (left out: this folder). Without --conf and KEY=VALUE those of the running version
    stay. What cannot be verified, or takes more than is allowed, leaves the running version as it is. The exit code is
    0 when all of the new version is up, 1 when it is refused or a streamlet of it fails, 2 when arguments are wrong.
    """
    from cli.continuing import lost_queries
    from cli.taking_over import arguments_of
    from cli.verifying import exit_code, report, with_logic
    from streamlets.runner.state_directory.control import request

    app = application_of(given, conf)
    state = the_running(app.blueprint, state_dir, application)
    process = state.owner()
    if process is None:
        fail(f"{state.application} is not running", "`flow run` starts the new version on the same state")
    app = _with_running(app, state)
    running = against(state.directory, allow)
    verification, without_logic = with_logic(app, running) if plans else (app.verify(against=running), "")
    click.echo(report(verification), nl=False)
    if without_logic:
        click.echo(without_logic, err=True)
        raise SystemExit(1)
    if not verification.ok or verification.plan is None:
        click.echo("the running version is left as it is", err=True)
        raise SystemExit(exit_code(app, verification))
    if verification.plan.name != state.application:
        fail(f"this is the application {verification.plan.name}, and {state.application} runs in {state.directory}")
    if check:
        return
    follower = Follower(state)
    started = follower.status().get("started")
    lost = lost_queries(verification.changes)
    wanted = request("upgrade", within=timeout, arguments=arguments_of(app), reset=lost)
    send(state, wanted)
    if lost:
        click.echo(f"begins anew, without its checkpoint: {', '.join(lost)}")
    click.echo(f"{state.application} (process {process}): draining, then the new version starts in its place")
    outcome, status = _follow(follower, state, wanted.id, started)
    _conclude(outcome, status, started, state)


def _with_running(app: Application, state: StateDirectory) -> Application:
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


def _follow(
    follower: Follower, state: StateDirectory, id: str, started: float | None
) -> tuple[UpgradeOutcome | None, Status]:
    """Show what happens until the trial of the new version is over, and the version before is up again if it failed."""
    from streamlets.runner.trial import read_outcome

    def outcome() -> UpgradeOutcome | None:
        found = read_outcome(state)
        return found if found is not None and found.id == id and found.result else None

    status = follower.until(lambda status: outcome() is not None, None) or {}
    found = outcome()
    if found is not None and found.result == "rolled-back":
        tried = status.get("started")
        before = (started, tried)
        status = follower.until(lambda now: now.get("started") not in before and _settled(now), None) or {}
    return found, status


def _settled(status: Status) -> bool:
    """Whether each streamlet is up, or in trouble."""
    found = streamlets(status)
    return bool(found) and all(shown_state(each) in (*_UP, *_WRONG) for each in found)


def _conclude(outcome: UpgradeOutcome | None, status: Status, started: float | None, state: StateDirectory) -> None:
    """Print how the upgrade ended.

    Raises:
        SystemExit: 1, when the new version does not work.
    """
    if outcome is None:
        if status.get("started") == started:
            fail(f"{state.application} ended before the new version began: {status.get('reason') or 'it died'}")
        fail(f"the new version ended: {status.get('reason') or 'it died'}", f"see {state.logs / 'run.log'}")
    about = ", ".join(outcome.about)
    match outcome.result:
        case "rolled-back":
            wrong = [each["ref"] for each in streamlets(status) if shown_state(each) not in _UP]
            again = f", but {', '.join(wrong)} of it is not up" if wrong else " again"
            fail(f"the new version failed ({about}): {outcome.cause}\nthe version before it runs{again}")
        case "failed":
            fail(
                f"the new version failed ({about}): {outcome.cause}\nit stays in place: {outcome.kept}",
                "correct it and upgrade again, or put the version before it back and upgrade to that",
            )
        case "unwell":
            fail(f"the new version runs, but these are not up: {about}", "`flow status` shows why")
        case "untried":
            click.echo(f"no data came for {about}: whether the state can be loaded is not known yet")
    click.echo(f"{state.application} is upgraded")
