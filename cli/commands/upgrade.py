"""`flow upgrade`: replace a running application by a new version, on the same state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.application import application as application_of
from cli.application import application_arguments
from cli.groups import imports_modules
from cli.options import progress_format_option, timeout_option
from cli.output.errors import fail
from cli.runs.follower import Follower, running_application, send
from cli.state import state_options, with_running_settings
from cli.verification.descriptors import CLASSES, against

if TYPE_CHECKING:
    from streamlets.runner.events.status import RunStatus, StreamletStatus
    from streamlets.runner.state_directory.directory import StateDirectory
    from streamlets.runner.trial import UpgradeOutcome

_UP = ("running", "completed", "paused")
_FAILING = ("failed", "backing-off")


@imports_modules()
@click.command()
@application_arguments
@state_options
@click.option(
    "--allow", type=click.Choice(CLASSES[CLASSES.index("drain"):]), default="drain", show_default=True,
    help="The worst class of change to allow, in increasing order.",
)  # fmt: skip
@click.option("--plans", is_flag=True, help="Build the streamlets' logic first, and compare the queries, too.")
@click.option("--dry-run", is_flag=True, help="Verify and compare only; the running version continues.")
@timeout_option("How long to wait for running batches (default: the --drain-timeout of the run).")
@progress_format_option
def upgrade(
    arguments: Sequence[str],
    conf: Sequence[str],
    state_dir: Path | None,
    application: str | None,
    allow: str,
    plans: bool,
    dry_run: bool,
    timeout: float | None,
    form: str,
) -> None:
    """Upgrade a running application to the version in PATH.

    The new version is verified and compared with the running one. Then the running version commits its batches, and the
    new version starts on the same topics and checkpoints, in the same process, with the options of the original
    `flow run`. If the new version has errors, or a change is worse than --allow permits, the running version continues.

    PATH is a blueprint or its directory (default: the working directory). Without --conf and KEY=VALUE, the settings of
    the running version are used.

    The exit code is 0 if all streamlets of the new version are up, 1 if it is refused or one of its streamlets fails,
    and 2 if the arguments are wrong.
    """
    from cli.runs.process import arguments_of
    from cli.verification.continuation import lost_queries
    from cli.verification.findings import exit_code, report, verify_with_logic
    from streamlets.runner.state_directory.control import request

    app = application_of(arguments, conf)
    state = running_application(app.blueprint, state_dir, application)
    process = state.owner()
    if process is None:
        fail(
            f"{state.application} is not running in {state.directory}",
            "name the state directory that it runs on with `--state-dir`, or start the new version with `flow run`",
        )
    if not state.descriptor_file.is_file():
        fail(f"{state.application} is still starting for the first time", "run the command again once it is up")
    app = replace(with_running_settings(app, state), state_root=state.root)
    running = against(state.directory, allow)
    verification, error = verify_with_logic(app, running) if plans else (app.verify(against=running), "")
    click.echo(report(verification, err=form == "jsonl"), nl=False, err=form == "jsonl")
    if error:
        click.echo(error, err=True)
        raise SystemExit(1)
    if not verification.ok or verification.plan is None:
        click.echo("the running version continues", err=True)
        raise SystemExit(exit_code(app, verification))
    if verification.plan.name != state.application:
        fail(
            f"the new version must have the name of the running application, {state.application}; "
            f"found {verification.plan.name}"
        )
    if dry_run:
        return
    follower = Follower(state, form=form)
    started = follower.status().started
    lost = lost_queries(verification.changes)
    upgrade_request = request("upgrade", within=timeout, arguments=arguments_of(app), reset=lost)
    send(state, upgrade_request)
    if lost:
        follower.report(f"starting with a new checkpoint: {', '.join(lost)}", new_checkpoints=list(lost))
    draining = f"{state.application} (process {process}): draining, then the new version starts"
    follower.report(draining, process=process, result="draining")
    outcome, status = _follow(follower, state, upgrade_request.id, started)
    _conclude(outcome, status, started, state, follower)


def _follow(
    follower: Follower, state: StateDirectory, id: str, started: float
) -> tuple[UpgradeOutcome | None, RunStatus]:
    """Print the progress of an upgrade until its outcome is known, and the previous version is up if it failed.

    Arguments:
        follower: prints the progress.
        state: the state directory of the application.
        id: of the request to upgrade.
        started: when the version before the upgrade was started.

    Returns:
        The outcome, None when the run ended without one, and the last status.
    """
    from streamlets.runner.trial import read_outcome, stateful_queries

    stateful = stateful_queries(state)

    def outcome() -> UpgradeOutcome | None:
        written = read_outcome(state)
        return written if written is not None and written.id == id and written.result else None

    def awaited(status: RunStatus) -> str:
        if status.started == started:
            return "the running version to drain" if status.ended is None else "the new version to start"
        if not all(map(_is_up, status.streamlets)):
            return "the new version to start"
        untried = sorted(str(unit) for unit in stateful & set(status.units) if status.units[unit].batch is None)
        return f"a batch of each query that keeps state: {', '.join(untried)}" if untried else "the new version"

    status = follower.until(lambda status: outcome() is not None, None, awaited) or follower.status()
    final = outcome()
    if final is not None and final.result == "rolled-back":
        earlier = (started, status.started)
        again = follower.until(
            lambda now: now.started not in earlier and _settled(now), None, lambda now: "the previous version to start"
        )
        status = again or status
    return final, status


def _untried(about: tuple[str, ...], status: RunStatus) -> str:
    """Return why queries have not tried their state, and when they will."""
    from streamlets.runner.trial import has_records

    queries = {str(unit): query for unit, query in status.units.items()}
    late = [name for name in about if name in queries and has_records(queries[name])]
    waiting = [name for name in about if name in queries and queries[name].awaits]
    idle = [name for name in about if name not in (*late, *waiting)]
    reasons = [f"no records arrived for {', '.join(idle)}"] if idle else []
    reasons += [f"{name} is {queries[name].waiting}" for name in waiting]
    for name in late:
        backlog = sum(records or 0 for records in queries[name].backlog.values())
        reasons.append(f"{name} has not committed a batch yet, with a backlog of {backlog:,} records")
    return f"{'; '.join(reasons)}: the next batch shows whether the state can be loaded"


def _settled(status: RunStatus) -> bool:
    """Return whether each streamlet is up or failing."""
    streamlets = status.streamlets
    return bool(streamlets) and all(_is_up(streamlet) or streamlet.state in _FAILING for streamlet in streamlets)


def _is_up(streamlet: StreamletStatus) -> bool:
    """Return whether a streamlet is up, or waits for others as its settings require, for as long as that takes."""
    return streamlet.state in _UP or streamlet.awaits


def _conclude(
    outcome: UpgradeOutcome | None, status: RunStatus, started: float, state: StateDirectory, follower: Follower
) -> None:
    """Print the outcome of an upgrade.

    Arguments:
        outcome: the outcome; None when the run ended without one.
        status: the last status of the run.
        started: when the version before the upgrade was started.
        state: the state directory of the application.
        follower: prints the outcome.

    Raises:
        SystemExit: 1, when the new version does not work.
    """
    if outcome is None:
        if status.started == started:
            fail(f"{state.application} ended before the new version started: {status.reason or 'it crashed'}")
        fail(f"the new version ended: {status.reason or 'it crashed'}", f"see {state.logs / 'run.log'}")
    about = ", ".join(outcome.about)
    match outcome.result:
        case "rolled-back":
            down = [streamlet.ref for streamlet in status.streamlets if not _is_up(streamlet)]
            exceptions = f", but these streamlets are not up: {', '.join(down)}" if down else ""
            fail(f"the new version failed ({about}): {outcome.cause}\nthe previous version runs again{exceptions}")
        case "failed":
            fail(
                f"the new version failed ({about}): {outcome.cause}\nit was not rolled back: {outcome.kept}",
                "fix it and upgrade again, or restore the previous version and upgrade to that",
            )
        case "unwell":
            fail(f"the new version runs, but these streamlets are not up: {about}", "run `flow status` to see why")
        case "untried":
            follower.report(_untried(outcome.about, status), untried=list(outcome.about))
    follower.report(f"{state.application} is upgraded", result="upgraded")
