"""The status file of a run, which other terminals can read at any time."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

from streamlets.runner.events.model import Event, RunEnded, UnitChanged
from streamlets.runner.events.status import RunStatus, fold, to_json
from streamlets.runner.state_directory.reserve import ReservedFile

EVERY = 1.0
"""Seconds between two writes, unless a state changes."""


class StatusFile:
    """Folds events and writes the status, also on a full disk. In a read-only directory the old status stays, never a
    part of a new one."""

    def __init__(self, file: Path) -> None:
        self._file = ReservedFile(file)
        self._written = 0.0
        self._writing = threading.Lock()
        self.status = RunStatus()

    def event(self, event: Event) -> None:
        """Fold an event; write the status at once if a state changed, otherwise once per second."""
        self.status = fold(self.status, event)
        if isinstance(event, (UnitChanged, RunEnded)) or event.time - self._written >= EVERY:
            self.write(event.time)

    def write(self, now: float) -> None:
        """Write the current status, from any thread; errors are ignored."""
        with self._writing:
            self._written = now
            try:
                self._file.write(json.dumps({"process": os.getpid()} | to_json(self.status, now), indent=1) + "\n")
            except OSError:
                return
