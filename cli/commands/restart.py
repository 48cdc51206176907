"""`flow restart`: drain a streamlet and start it anew."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from cli.following import timeout_option
from cli.state import state_options
from cli.steering import path_option, steer, streamlets_argument


@click.command()
@streamlets_argument
@path_option
@state_options
@timeout_option("How long to wait for it (left out: however long it takes).")
def restart(
    refs: Sequence[str], path: Path, state_dir: Path | None, application: str | None, timeout: float | None
) -> None:
    """Drain streamlets and start them anew, where they left off; also those that failed for good or completed.

    The code stays as it was when the run began: a new version comes with `flow upgrade`.
    """
    steer("restart", refs, (path, state_dir, application), timeout)
