"""`run.log`: every event except batches, and the full text of every failure, as readable lines or lines of JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from streamlets.runner.events.event import Event, Importance, json_text
from streamlets.runner.events.rotating import RotatingFile
from streamlets.runner.events.status import RunStatus, UnitId
from streamlets.runner.events.view import View

_SIZE = 20 * 1024 * 1024
_KEPT = 3


class RunLog(View):
    """The log file of the runner, of limited size. A full disk loses lines, never the run.

    Arguments:
        json: whether each record is a line of JSON.
        mask: replaces secrets in the text of a failure.
    """

    def __init__(self, file: Path, *, json: bool = False, mask: Callable[[str], str] = str) -> None:
        self._file = RotatingFile(file, size=_SIZE, kept=_KEPT)
        self._json = json
        self._mask = mask
        self._application = ""

    def event(self, event: Event, status: RunStatus) -> None:
        """Write an event; measurements are not logged, as they would bury everything else."""
        self._application = status.application
        if event.importance > Importance.DATA:
            data = event.data()
            del data["time"]
            self._record(event.time, event.level, data, event.lines)

    def failure(self, unit: UnitId, text: str) -> None:
        """Write the full text of a failure."""
        text = self._mask(text).rstrip()
        data = {"event": "failure", **unit.data(), "text": text}
        self._record(None, "error", data, [f"{unit}: the failure in full\n{text}"])

    def note(self, text: str) -> None:
        """Write one line that is not about an event, such as the refusal of a request."""
        text = self._mask(text)
        self._record(None, "info", {"event": "note", "text": text}, [text])

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _record(self, time: float | None, level: str, data: Mapping[str, object], lines: Sequence[str]) -> None:
        """Write a record in the format of the log.

        Arguments:
            time: of the record, in seconds since the epoch; None for now.
            level: `info`, `warning` or `error`.
            data: the record as JSON has it.
            lines: the record as people read it.
        """
        moment = datetime.now(UTC) if time is None else datetime.fromtimestamp(time, UTC)
        stamp = moment.isoformat(timespec="milliseconds")
        text = "\n  ".join([f"{stamp} {lines[0]}", *lines[1:]])
        if self._json:
            head = {"timestamp": stamp, "level": level, "event": data["event"], "application": self._application}
            text = json_text({**head, **data})
        self._file.write(text)
