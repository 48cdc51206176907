"""The status file of a run, which other terminals can read at any time."""

from __future__ import annotations

import json
import os
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from streamlets.runner.events.event import Event, Importance, json_text
from streamlets.runner.events.status import RunStatus
from streamlets.runner.events.status_json import from_json, to_json
from streamlets.runner.events.view import View
from streamlets.runner.state_directory.reserve import ReservedFile

EVERY = 1.0
"""Seconds between two writes of measurements."""

_SHORT = 0.01
"""Seconds of processor time that a write may take without a pause after it."""

_PAUSE = 9
"""The pause after a longer write, in times of its processor time."""


class StatusFile(View):
    """Writes the status, also on a full disk. In a read-only directory the old status stays, not part of a new one.

    A status of many streamlets takes long to write. Then changes that follow each other are written together, so that
    at most a tenth of the time is spent on it.
    """

    def __init__(self, file: Path) -> None:
        self._file = ReservedFile(file)
        self._written = 0.0
        self._writing = threading.Lock()
        self._status = RunStatus()
        self._free = 0.0  # when the next write may begin, on the timer
        self._later: threading.Timer | None = None

    def event(self, event: Event, status: RunStatus) -> None:
        """Write the status at once, but not for a measurement: then once per second."""
        self._status = status
        if event.importance == Importance.DATA and event.time - self._written < EVERY:
            return
        wait = self._free - time.monotonic()
        if wait <= 0 or status.ended is not None:
            self.write(event.time)
        elif self._later is None:
            self._later = threading.Timer(wait, self._write_later)
            self._later.daemon = True
            self._later.start()

    def write(self, now: float) -> None:
        """Write the current status, from any thread; errors are ignored."""
        with self._writing:
            self._write(now)

    def _write_later(self) -> None:
        with self._writing:
            if self._later is not None:  # nothing was written in the meantime
                self._write(time.time())

    def _write(self, now: float) -> None:
        self._later = None  # a change from here on may not be in the text
        self._written = now
        used = time.thread_time()
        with suppress(OSError):
            self._file.write(json_text({"process": os.getpid()} | to_json(self._status, now)) + "\n")
        used = time.thread_time() - used
        self._free = time.monotonic() + (used * _PAUSE if used > _SHORT else 0.0)


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
