"""`flow pause`, `flow resume` and `flow restart`: requests about single streamlets of a running application."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from cli.options import progress_format_option, timeout_option
from cli.output.errors import fail
from cli.runs.follower import Follower, running_application, send
from cli.state import state_options

if TYPE_CHECKING:
    from streamlets.runner.events.status import RunStatus, StreamletStatus

Action = Literal["pause", "resume", "restart"]

_FINAL_STATES = {
    "pause": (("paused", "completed"), ("failed",)),
    "resume": (("running", "completed"), ("failed", "backing-off")),
    "restart": (("running", "completed"), ("failed", "backing-off")),
}
"""The states that end the waiting: those that were requested, and those that are failures."""


def _steering_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `STREAMLET...`, `--path`, `--state-dir`, `--application`, `--timeout` and `--format`."""
    command = timeout_option("How long to wait for completion (default: no limit).")(progress_format_option(command))
    command = click.option(
        "--path", type=click.Path(path_type=Path), default=Path(), metavar="PATH",
        help="The application's blueprint or directory (default: the working directory).",
    )(state_options(command))  # fmt: skip
    return click.argument("refs", nargs=-1, required=True, metavar="STREAMLET...")(command)


@click.command()
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
@_steering_options
def resume(
    refs: Sequence[str], path: Path, state_dir: Path | None, application: str | None, timeout: float | None,
    form: str,
) -> None:  # fmt: skip
    """Resume paused streamlets from their checkpoints."""
    _steer("resume", refs, (path, state_dir, application), timeout, form)


@click.command()
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


def _steer(
    action: Action,
    refs: Sequence[str],
    location: tuple[Path, Path | None, str | None],
    timeout: float | None,
    form: str,
) -> None:
    """Request an action for each streamlet, and wait until all of them have a final state.

    Arguments:
        refs: the names of the streamlets.
        location: path, state directory and name of the application, as `running_application` takes them.
        timeout: seconds to wait; None for no limit.
        form: the output format.

    Raises:
        click.UsageError: there is no such application or streamlet.
        SystemExit: 1, when a request is refused, a streamlet fails or the timeout expires.
    """
    from streamlets.runner.state_directory.control import request

    try:
        state = running_application(*location)
    except click.UsageError as error:
        if location[0] != Path():
            raise
        raise click.UsageError(f"{error.message}; name the application's directory with `--path`") from None
    follower = Follower(state, frozenset(refs), form)
    _check_refs(refs, follower.status(), state.application)
    before = {streamlet.ref: streamlet.since for streamlet in follower.status().streamlets}
    for ref in refs:
        send(state, request(action, streamlet=ref), timeout)

    expected, failures = _FINAL_STATES[action]

    def is_final(streamlet: StreamletStatus) -> bool:
        restarted = action == "pause" or streamlet.since > before[streamlet.ref]
        return restarted and streamlet.state in (*expected, *failures)

    def selected(status: RunStatus) -> list[StreamletStatus]:
        return [streamlet for streamlet in status.streamlets if streamlet.ref in refs]

    status = follower.until(
        lambda status: all(map(is_final, selected(status))), timeout, lambda status: f"the streamlets to {action}"
    )
    if status is None:
        fail(f"{action} did not complete within {timeout:g} s; it continues, see `flow status`")
    if not all(map(is_final, selected(status))):
        fail(f"{state.application} ended before {action} completed")
    if any(streamlet.state in failures for streamlet in selected(status)):
        raise SystemExit(1)


def _check_refs(refs: Sequence[str], status: RunStatus, application: str) -> None:
    """Check that an application has the streamlets; a status without streamlets allows all names.

    Raises:
        click.UsageError: a name is unknown.
    """
    from blueprint.spelling import suggestion

    known = status.order
    for ref in refs if known else ():
        if ref not in known:
            hint = suggestion(ref, known, f"its streamlets are {', '.join(known)}")
            if Path(ref).exists():
                hint = f"name the application's directory with `--path {ref}`"
            raise click.UsageError(f"{application} has no streamlet `{ref}`; {hint}")
