"""Reset of checkpoints: positions and state are deleted, and the query starts with a new checkpoint."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from streamlets.channels.base import Channel
from streamlets.runner.checkpoints.checkpoint import Checkpoint, checkpoints_in
from streamlets.runner.state_directory.checkpoint_links import delete_linked
from streamlets.runner.state_directory.directory import StateDirectory


def reset(state: StateDirectory, checkpoints: Iterable[Checkpoint], channels: Iterable[Channel]) -> None:
    """Delete checkpoints. To be called by the owner of the state directory.

    Each is moved away before it is deleted, so that a kill never leaves half of one.

    Raises:
        OSError: the state directory cannot be written; the remaining checkpoints are unchanged.
    """
    grave = Path(tempfile.mkdtemp(prefix="reset-", dir=state.scratch))
    channels, checkpoints = tuple(channels), tuple(checkpoints)
    for checkpoint in checkpoints:
        if checkpoint.directory.is_symlink():
            delete_linked(checkpoint.directory)
        checkpoint.directory.rename(grave / checkpoint.name)
        for channel in channels:
            channel.forget(checkpoint.streamlet, checkpoint.query, checkpoint.id)
    kept = {checkpoint.streamlet for checkpoint in checkpoints_in(state.checkpoints)}
    for streamlet in {checkpoint.streamlet for checkpoint in checkpoints} - kept:
        for channel in channels:
            channel.forget_inlets(streamlet)
    shutil.rmtree(grave, ignore_errors=True)
