"""`run.log`: every event except batches, and the full text of every failure, as readable lines or lines of JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from streamlets.runner.events.event import Event, Importance, json_text
from streamlets.runner.events.rotating import RotatingFile
from streamlets.runner.events.status import RunStatus, UnitId
from streamlets.runner.events.view import View

_SIZE = 20 * 1024 * 1024
_KEPT = 3


class RecordIds(Protocol):
    """Knows the ids of traces for records of the log, by name; {} for a record that belongs to no trace."""

    def of(self, event: Event) -> Mapping[str, str]:
        """Return the ids for the record of an event."""

    def of_failure(self, unit: UnitId) -> Mapping[str, str]:
        """Return the ids for the full text of the failure of a unit."""


class RunLog(View):
    """The log file of the runner, of limited size. A full disk loses lines, never the run.

    Arguments:
        json: whether each record is a line of JSON.
        mask: replaces secrets in the text of a failure.
        ids: returns the ids of traces for a record, which it is about; None for none.
    """

    def __init__(
        self, file: Path, *, json: bool = False, mask: Callable[[str], str] = str, ids: RecordIds | None = None
    ) -> None:
        self._file = RotatingFile(file, size=_SIZE, kept=_KEPT)
        self._json = json
        self._mask = mask
        self._ids = ids
        self._application = ""

    def event(self, event: Event, status: RunStatus) -> None:
        """Write an event; measurements are not logged, as they would bury everything else."""
        self._application = status.application
        if event.importance > Importance.DATA:
            data = event.data()
            del data["time"]
            ids = self._ids.of(event) if self._ids is not None else {}
            self._record(event.time, event.level, {**data, **ids}, event.lines, ids)

    def failure(self, unit: UnitId, text: str) -> None:
        """Write the full text of a failure."""
        text = self._mask(text).rstrip()
        ids = self._ids.of_failure(unit) if self._ids is not None else {}
        data = {"event": "failure", **unit.data(), "text": text, **ids}
        self._record(None, "error", data, [f"{unit}: the failure in full\n{text}"], ids)

    def note(self, text: str) -> None:
        """Write one line that is not about an event, such as the refusal of a request."""
        text = self._mask(text)
        self._record(None, "info", {"event": "note", "text": text}, [text])

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _record(
        self, time: float | None, level: str, data: Mapping[str, object], lines: Sequence[str],
        ids: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        """Write a record in the format of the log.

        Arguments:
            time: of the record, in seconds since the epoch; None for now.
            level: `info`, `warning` or `error`.
            data: the record as JSON has it.
            lines: the record as people read it.
            ids: the ids of its trace, which are in the data, too.
        """
        moment = datetime.now(UTC) if time is None else datetime.fromtimestamp(time, UTC)
        stamp = moment.isoformat(timespec="milliseconds")
        about = "".join(f" {name}={id}" for name, id in (ids or {}).items())
        first, *more = lines[0].split("\n")
        text = "\n  ".join(["\n".join([f"{stamp} {first}{about}", *more]), *lines[1:]])
        if self._json:
            head = {"timestamp": stamp, "level": level, "event": data["event"], "application": self._application}
            text = json_text({**head, **data})
        self._file.write(text)
