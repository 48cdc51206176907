"""`flow stop`: end a run in order, from another terminal."""

from __future__ import annotations

from pathlib import Path

import click

from cli.following import Follower, fail, send, the_running, timeout_option
from cli.state import path_argument, state_options


@click.command()
@path_argument
@state_options
@click.option("--now", is_flag=True, help="Give running batches up; they are replayed at the next start.")
@timeout_option("How long running batches may take, then as --now (left out: the run's own --drain-timeout).")
def stop(path: Path, state_dir: Path | None, application: str | None, now: bool, timeout: float | None) -> None:
    """Stop a running application: no new batch begins, the running ones are committed, producers before consumers.

    PATH is the application's blueprint or folder (left out: this folder). Waits until it has ended; Ctrl-C leaves it
    to end by itself. The exit code is 0 when it has ended in order or was not running, 1 when it ended otherwise.
    """
    from streamlets.runner.state_directory.control import request

    state = the_running(path, state_dir, application)
    process = state.owner()
    if process is None:
        click.echo(f"{state.application} is not running")
        return
    follower = Follower(state)
    started = follower.status().get("started")
    send(state, request("stop-now" if now else "stop", within=timeout))
    click.echo(f"{state.application} (process {process}): {'stopping' if now else 'draining'}")
    status = follower.until(lambda status: False, None) or {}
    if status.get("started") != started or status.get("ended") is None:
        fail(f"{state.application} died before it had stopped in order", "the next start replays its last batches")
    click.echo(f"ended: {status.get('reason') or 'all done'} (exit code {status.get('exit_code')})")
