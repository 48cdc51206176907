"""Keeps the run's status in a file that any terminal may read at any time."""

from __future__ import annotations

import json
import os
from pathlib import Path

from streamlets.runner.events.model import Event, RunEnded, UnitChanged
from streamlets.runner.events.status import RunStatus, fold, to_json
from streamlets.runner.state_directory.reserve import ReservedFile

EVERY = 1.0
"""Seconds between two writings, unless a state changes."""


class StatusFile:
    """Folds events and writes the status, also on a full disk. A folder that is read-only leaves an old status, never a
    broken one."""

    def __init__(self, file: Path) -> None:
        self._file = ReservedFile(file)
        self._written = 0.0
        self.status = RunStatus()

    def event(self, event: Event) -> None:
        """Take an event in; written at once when a state changed, else when it is time."""
        self.status = fold(self.status, event)
        if isinstance(event, (UnitChanged, RunEnded)) or event.time - self._written >= EVERY:
            self.write(event.time)

    def write(self, now: float) -> None:
        """Write the status as it is."""
        self._written = now
        try:
            self._file.write(json.dumps({"process": os.getpid()} | to_json(self.status, now), indent=1) + "\n")
        except OSError:
            return
