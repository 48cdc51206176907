"""`flow pause`: finish a streamlet's running batch and keep it down."""

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
def pause(
    refs: Sequence[str], path: Path, state_dir: Path | None, application: str | None, timeout: float | None
) -> None:
    """Drain streamlets and keep them down until `flow resume`, also over restarts of the run; the others go on."""
    steer("pause", refs, (path, state_dir, application), timeout)
