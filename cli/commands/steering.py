"""`flow pause`, `resume`, `restart` and `scale`: requests about single streamlets of a running application."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from blueprint.setting_types import REPLICAS
from blueprint.wording import counted
from cli.options import progress_format_option, timeout_option
from cli.output.errors import fail
from cli.runs.follower import Follower, running_application, send
from cli.runs.refs import check_refs
from cli.state import state_options

if TYPE_CHECKING:
    from streamlets.runner.events.status import RunStatus, StreamletStatus

Action = Literal["pause", "resume", "restart", "scale"]


class _Replicas(click.ParamType[int]):
    """A number of replicas."""

    name = "replicas"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number; anything else is a usage error."""
        try:
            return REPLICAS.read(str(value))
        except ValueError as error:
            reason = f": {error}" if str(error) else ""
            self.fail(f"must be {REPLICAS.expected}, found `{value}`{reason}", param, ctx)


_FINAL_STATES = {
    "pause": (("paused", "completed"), ("failed",)),
    "resume": (("running", "completed"), ("failed", "backing-off")),
    "restart": (("running", "completed"), ("failed", "backing-off")),
    "scale": (("running", "completed"), ("failed", "backing-off")),
}
"""The states that end the waiting: those that were requested, and those that are failures."""


def _steering_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `--path`, `--state-dir`, `--application`, `--timeout` and `--format`."""
    command = timeout_option("How long to wait for completion (default: no limit).")(progress_format_option(command))
    return click.option(
        "--path", type=click.Path(path_type=Path), default=Path(), metavar="PATH",
        help="The application's blueprint or directory (default: the working directory).",
    )(state_options(command))  # fmt: skip


_streamlets_argument = click.argument("refs", nargs=-1, required=True, metavar="STREAMLET...")


@click.command()
@_streamlets_argument
@_steering_options
def pause(
    refs: Sequence[str], path: Path, state_dir: Path | None, application: str | None, timeout: float | None,
    form: str,
) -> None:  # fmt: skip
    """Pause streamlets of a running application.

    Running batches are committed, then the streamlets stay stopped until `flow resume`, even when the run is restarted.
    All other streamlets continue.
    """
    _steer("pause", refs, (path, state_dir, application), timeout, form)


@click.command()
@_streamlets_argument
@_steering_options
def resume(
    refs: Sequence[str], path: Path, state_dir: Path | None, application: str | None, timeout: float | None,
    form: str,
) -> None:  # fmt: skip
    """Resume paused streamlets from their checkpoints."""
    _steer("resume", refs, (path, state_dir, application), timeout, form)


@click.command()
@_streamlets_argument
@_steering_options
def restart(
    refs: Sequence[str], path: Path, state_dir: Path | None, application: str | None, timeout: float | None,
    form: str,
) -> None:  # fmt: skip
    """Restart streamlets of a running application.

    Running batches are committed, then the streamlets continue from their checkpoints. Streamlets that have failed or
    completed are started again, too. The code is not reloaded: use `flow upgrade` to run a new version.
    """
    _steer("restart", refs, (path, state_dir, application), timeout, form)


@click.command()
@click.argument("ref", metavar="STREAMLET")
@click.argument("replicas", metavar="REPLICAS", type=_Replicas())
@_steering_options
def scale(
    ref: str, replicas: int, path: Path, state_dir: Path | None, application: str | None, timeout: float | None,
    form: str,
) -> None:  # fmt: skip
    """Change how many tasks of Spark work side by side on the batches of a streamlet.

    Its running batches are committed, then its queries continue with REPLICAS tasks (1 to 1,000) from their
    checkpoints. A streamlet that is paused, or has ended, is not started, and begins with them when it is.

    The number is for this run: the next one, and an upgrade, begin with the setting `replicas` of the blueprint.
    """
    from streamlets.runner.events.status import RESTING

    follower = _steer("scale", (ref,), (path, state_dir, application), timeout, form, replicas)
    streamlet = follower.status().streamlet(ref)
    again = "resumed" if streamlet.state == "paused" else "restarted"
    when = f" when it is {again} (it is {streamlet.state})" if streamlet.state in RESTING else ""
    own = f"; to keep the number, set `flow.streamlets.{ref}.replicas = {replicas}`"
    kept = own if streamlet.replicas is not None else ", as in the blueprint"
    follower.report(
        f"{ref}: {counted(replicas, 'replica')} in this run{when}{kept}",
        streamlet=ref,
        replicas=replicas,
        state=streamlet.state,
    )


def _steer(
    action: Action,
    refs: Sequence[str],
    location: tuple[Path, Path | None, str | None],
    timeout: float | None,
    form: str,
    replicas: int = 0,
) -> Follower:
    """Request an action for each streamlet, and wait until all of them have a final state; return the follower.

    Arguments:
        refs: the names of the streamlets.
        location: path, state directory and name of the application, as `running_application` takes them.
        timeout: seconds to wait; None for no limit.
        form: the output format.
        replicas: for `scale`, the number.

    Raises:
        click.UsageError: there is no such application or streamlet.
        SystemExit: 1, when a request is refused, a streamlet fails or the timeout expires.
    """
    from streamlets.runner.events.status import RESTING
    from streamlets.runner.state_directory.control import request

    try:
        state = running_application(*location)
    except click.UsageError as error:
        if location[0] != Path():
            raise
        raise click.UsageError(f"{error.message}; name the application's directory with `--path`") from None
    follower = Follower(state, frozenset(refs), form)
    check_refs(refs, follower.status().order, state.application)
    before = {streamlet.ref: streamlet for streamlet in follower.status().streamlets}
    for ref in refs:
        send(state, request(action, streamlet=ref, replicas=replicas), timeout)

    expected, failures = _FINAL_STATES[action]

    def rests(streamlet: StreamletStatus) -> bool:
        return action == "scale" and before[streamlet.ref].state in RESTING

    def is_final(streamlet: StreamletStatus) -> bool:
        if rests(streamlet):
            return True
        waits = action != "pause" and streamlet.awaits  # for others, for as long as that takes
        earlier = before[streamlet.ref]
        restarted = action == "pause" or streamlet.since > earlier.since or (waits and earlier.awaits)
        return restarted and (waits or streamlet.state in (*expected, *failures))

    def selected(status: RunStatus) -> list[StreamletStatus]:
        return [streamlet for streamlet in status.streamlets if streamlet.ref in refs]

    status = follower.until(
        lambda status: all(map(is_final, selected(status))), timeout, lambda status: f"the streamlets to {action}"
    )
    if status is None:
        fail(f"{action} did not complete within {timeout:g} s; it continues, see `flow status`")
    if not all(map(is_final, selected(status))):
        fail(f"{state.application} ended before {action} completed")
    if any(streamlet.state in failures for streamlet in selected(status) if not rests(streamlet)):
        raise SystemExit(1)
    for streamlet in selected(status):
        if streamlet.awaits:
            line, waiting = f"{streamlet.ref}: starting, {streamlet.waiting}", streamlet.waiting
            follower.report(line, streamlet=streamlet.ref, state="starting", waiting=waiting)
    return follower
