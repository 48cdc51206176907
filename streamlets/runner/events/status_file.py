"""The status file of a run, which other terminals can read at any time."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import dataclass
from pathlib import Path

from streamlets.runner.events.event import Event, Importance
from streamlets.runner.events.status import RunStatus
from streamlets.runner.events.status_json import from_json, to_json
from streamlets.runner.events.view import View
from streamlets.runner.state_directory.reserve import ReservedFile

EVERY = 1.0
"""Seconds between two writes of measurements."""


class StatusFile(View):
    """Writes the status, also on a full disk. In a read-only directory the old status stays, not part of a new one."""

    def __init__(self, file: Path) -> None:
        self._file = ReservedFile(file)
        self._written = 0.0
        self._writing = threading.Lock()
        self._status = RunStatus()

    def event(self, event: Event, status: RunStatus) -> None:
        """Write the status at once, but not for a measurement: then once per second."""
        self._status = status
        if event.importance > Importance.DATA or event.time - self._written >= EVERY:
            self.write(event.time)

    def write(self, now: float) -> None:
        """Write the current status, from any thread; errors are ignored."""
        with self._writing:
            self._written = now
            try:
                self._file.write(json.dumps({"process": os.getpid()} | to_json(self._status, now), indent=1) + "\n")
            except OSError:
                return


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenStatus:
    """A status from the file.

    Arguments:
        status: the status of the run.
        process: the id of the runner's process.
        time: when it was written, in seconds since the epoch.
    """

    status: RunStatus
    process: int
    time: float


def read_status(file: Path) -> WrittenStatus | None:
    """Return the last status that a run wrote; None without one, or when it cannot be read."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        return WrittenStatus(status=from_json(data), process=data["process"], time=data["written"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
