"""`flow stop`: stop a run gracefully from another terminal."""

from __future__ import annotations

from pathlib import Path

import click

from cli.options import path_argument, progress_format_option, timeout_option
from cli.output.errors import fail
from cli.runs.follower import Follower, running_application, send
from cli.state import state_options


@click.command()
@path_argument
@state_options
@click.option("--now", is_flag=True, help="Stop immediately; running batches are replayed at the next start.")
@timeout_option("How long to wait before stopping as with --now (default: the --drain-timeout of the run).")
@progress_format_option
def stop(
    path: Path, state_dir: Path | None, application: str | None, now: bool, timeout: float | None, form: str
) -> None:
    """Stop a running application gracefully: start no batch, commit the running ones, producers before consumers.

    The command waits until the application has ended; after Ctrl-C, the application stops without it. PATH is the
    application's blueprint or directory (default: the working directory).

    The exit code is 0 if the application was stopped or was not running, and 1 if it ended in any other way.
    """
    from streamlets.runner.state_directory.control import request

    state = running_application(path, state_dir, application)
    process = state.owner()
    follower = Follower(state, form=form)
    if process is None:
        follower.report(f"{state.application} is not running", result="not-running")
        return
    started = follower.status().started
    send(state, request("stop-now" if now else "stop", within=timeout))
    progress = "stopping" if now else "draining"
    follower.report(f"{state.application} (process {process}): {progress}", process=process, result=progress)
    status = follower.until(lambda status: False, None, lambda status: "the end of the run")
    if status is None or status.started != started or status.ended is None:
        fail(
            f"{state.application} was killed or crashed before it had stopped",
            "the next start replays its last batches",
        )
    reason = status.reason or "completed"
    follower.report(
        f"ended: {reason} (exit code {status.exit_code})", result="ended", reason=reason, exit_code=status.exit_code
    )
