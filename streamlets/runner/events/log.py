"""`run.log`: every event except batches, and the full text of every failure, as readable lines or lines of JSON."""

from __future__ import annotations

import json as json_format
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path

from streamlets.runner.events.lines import lines, log_failure, log_record
from streamlets.runner.events.model import Event, UnitId, UnitMeasured, UnitProgressed, UnitSplit
from streamlets.runner.events.status import RunStatus

_SIZE = 20 * 1024 * 1024
_KEPT = 3


class RunLog:
    """The log file of the runner, of limited size. A full disk loses lines, never the run.

    Arguments:
        json: whether each record is a line of JSON.
        mask: replaces secrets in the text of a failure.
    """

    def __init__(self, file: Path, *, json: bool = False, mask: Callable[[str], str] = str) -> None:
        self._handler = RotatingFileHandler(file, maxBytes=_SIZE, backupCount=_KEPT, encoding="utf-8", delay=True)
        self._handler.handleError = lambda record: None  # type: ignore[method-assign]
        self._json = json
        self._mask = mask
        self._application = ""

    def event(self, event: Event, status: RunStatus) -> None:
        """Write an event; progress and measurements are not logged, as they would bury everything else."""
        self._application = status.application
        if isinstance(event, UnitProgressed | UnitMeasured | UnitSplit):
            return
        stamp = _stamp(event.time)
        self._write(log_record(event, stamp, self._application) if self._json else _indented(stamp, lines(event)))

    def failure(self, unit: UnitId, text: str) -> None:
        """Write the full text of a failure."""
        stamp, text = _stamp(datetime.now(UTC).timestamp()), self._mask(text)
        if self._json:
            self._write(log_failure(unit, text.rstrip(), stamp, self._application))
        else:
            self._write(f"{stamp} {unit}: the failure in full\n{text.rstrip()}")

    def note(self, text: str) -> None:
        """Write one line that is not about an event, such as the refusal of a request."""
        stamp, text = _stamp(datetime.now(UTC).timestamp()), self._mask(text)
        record = {"time": stamp, "application": self._application, "note": text}
        self._write(json_format.dumps(record, ensure_ascii=False) if self._json else f"{stamp} {text}")

    def close(self) -> None:
        """Close the file."""
        self._handler.close()

    def _write(self, text: str) -> None:
        self._handler.handle(logging.LogRecord("run", logging.INFO, "", 0, text, (), None))


def _stamp(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds")


def _indented(stamp: str, lines: list[str]) -> str:
    return "\n".join([f"{stamp} {lines[0]}", *(f"  {line}" for line in lines[1:])])
