"""Resetting checkpoints: a query forgets what it has read and what it holds, and begins anew at its next start."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from streamlets.channels.base import Channel
from streamlets.runner.checkpoints.checkpoint import Checkpoint
from streamlets.runner.state_directory.directory import StateDirectory


def reset(state: StateDirectory, checkpoints: Iterable[Checkpoint], channels: Iterable[Channel]) -> None:
    """Forget checkpoints; to be called by the owner of the state folder. Each vanishes whole before it is deleted.

    Raises:
        OSError: the folder cannot be written; what is not forgotten is untouched.
    """
    grave = Path(tempfile.mkdtemp(prefix="reset-", dir=state.scratch))
    channels = tuple(channels)
    for checkpoint in checkpoints:
        checkpoint.folder.rename(grave / checkpoint.name)
        for channel in channels:
            channel.forget(checkpoint.streamlet, checkpoint.query, checkpoint.id)
    shutil.rmtree(grave, ignore_errors=True)
