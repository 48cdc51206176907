"""The last status that a run wrote, with what is true now."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamlets.runner.events.status_file import WrittenStatus
    from streamlets.runner.state_directory.directory import StateDirectory

_SILENT_AFTER = 30.0
"""Seconds without a status update after which a run counts as unhealthy; a runner writes one every five seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentStatus:
    """The last status of an application, with what is true now.

    Arguments:
        application: the name of the application.
        written: the last status that a run wrote; None when none has written any.
        alive: whether the application is running.
        damaged: whether there is a status that cannot be read.
    """

    application: str
    written: WrittenStatus | None
    alive: bool
    damaged: bool = False

    @property
    def health(self) -> str:
        """The health of the run; `died` when it ended without writing its end, `unknown` if its status is damaged."""
        if self.damaged:
            return "unknown"
        if self.written is None:
            return "starting" if self.alive else "never ran"
        return self.written.status.health if self.alive or self.written.status.ended is not None else "died"

    @property
    def lost(self) -> str:
        """Why the run cannot do anything any more, if its process has exited without writing its end; "" otherwise."""
        return "the process of the run has exited" if self.health == "died" else ""

    @property
    def silent(self) -> bool:
        """Whether the run has not written its status for long."""
        return self.alive and self.written is not None and time.time() - self.written.time > _SILENT_AFTER


def current_status(state: StateDirectory) -> CurrentStatus:
    """Return the last status of an application, running or not."""
    from streamlets.runner.events.status_file import read_status

    owner = state.owner()
    written = read_status(state.status_file)
    # Commands own the directory for a short time, too, for example to reset checkpoints. Only the process that wrote
    # the status is the run.
    alive = owner is not None and (written is None or written.process == owner)
    damaged = written is None and os.path.lexists(state.status_file)
    return CurrentStatus(application=state.application, written=written, alive=alive, damaged=damaged)


def unknown_status(state: StateDirectory, current: CurrentStatus) -> str:
    """Return the message about an application whose status cannot be read."""
    from blueprint.hocon import shown_name

    problem = f"the status of {current.application} is not known: `{shown_name(state.status_file)}` cannot be read"
    running = "it is running" if current.alive else "it is not running"
    return f"{problem}; {running}, and a run writes the file again"
