"""`run.log`: every event as a readable line, and the full text of every failure."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path

from streamlets.runner.events import Event, UnitChanged, UnitId, UnitProgressed
from streamlets.runner.lines import line

_SIZE = 20 * 1024 * 1024
_KEPT = 3


class RunLog:
    """The log file of the runner, of limited size. A full disk loses lines, never the run."""

    def __init__(self, file: Path) -> None:
        self._handler = RotatingFileHandler(file, maxBytes=_SIZE, backupCount=_KEPT, encoding="utf-8", delay=True)
        self._handler.handleError = lambda record: None  # type: ignore[method-assign]

    def event(self, event: Event) -> None:
        """Write an event; batches are left to the status, for they would bury everything else."""
        if not isinstance(event, UnitProgressed):
            self._write(event.time, line(event))
        if isinstance(event, UnitChanged):
            for frame in event.frames:
                self._write(event.time, f"  at {frame}")

    def failure(self, unit: UnitId, text: str) -> None:
        """Write the full text of a failure."""
        self._write(datetime.now(UTC).timestamp(), f"{unit}: the failure in full\n{text.rstrip()}")

    def close(self) -> None:
        """Close the file."""
        self._handler.close()

    def _write(self, time: float, text: str) -> None:
        stamp = datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds")
        self._handler.handle(logging.LogRecord("run", logging.INFO, "", 0, f"{stamp} {text}", (), None))
