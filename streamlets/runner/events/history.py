"""The history of an application's events: a file of limited size, which outlives the run and the machine."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from streamlets.runner.events.event import Event, Importance, UnitEvent, json_text
from streamlets.runner.events.rotating import RotatingFile
from streamlets.runner.events.status import RunStatus
from streamlets.runner.events.view import View

SIZE = 2 * 1024 * 1024
"""The bytes after which a new file is begun; the one before it is kept, so that there are at most twice as many."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Happened:
    """An event of a run as its history keeps it. In the order of time, also over several runs.

    Arguments:
        run: when its run started, in seconds since the epoch; with `sequence` it identifies the event.
        sequence: the number of the event in its run, from 1 on; measurements, which are not kept, have numbers, too.
        time: when it happened, in seconds since the epoch.
        kind: the class of the event in kebab case, such as `unit-changed`.
        level: `info`, `warning` or `error`.
        streamlet: the streamlet that it is about; "" for the run.
        query: the query; "" for the streamlet as a whole.
        lines: the event for people; the first line can be read alone.
    """

    run: float
    sequence: int
    time: float = field(compare=False)
    kind: str = field(compare=False)
    level: str = field(compare=False)
    streamlet: str = field(default="", compare=False)
    query: str = field(default="", compare=False)
    lines: tuple[str, ...] = field(default=(), compare=False)

    @property
    def id(self) -> tuple[float, int]:
        """Return its run and its number, which grow."""
        return self.run, self.sequence


class EventHistory(View):
    """Keeps every event except measurements. A full disk loses events of the history, never the run."""

    def __init__(self, file: Path) -> None:
        self._file = RotatingFile(file, size=SIZE, kept=1)

    def event(self, event: Event, status: RunStatus) -> None:
        """Append an event."""
        if event.importance > Importance.DATA:
            unit = event.unit if isinstance(event, UnitEvent) else None
            happened = Happened(
                run=status.started,
                sequence=status.sequence,
                time=event.time,
                kind=str(event.data()["event"]),
                level=event.level,
                streamlet=unit.streamlet if unit is not None else "",
                query=unit.part if unit is not None else "",
                lines=tuple(event.lines),
            )
            self._file.write(json_text(asdict(happened)))

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class HistoryReader:
    """Reads the history of an application as it grows, oldest events first.

    Lines that cannot be read, such as the last one of a machine that lost power, are omitted.

    Arguments:
        file: the file of the history.
        most: the largest number of events that the first call of `new` returns.
    """

    def __init__(self, file: Path, *, most: int = 500) -> None:
        self._file, self._most = file, most
        self._open: tuple[int, int] | None = None  # the file that is being read, and how far it has been
        self._last = (0.0, 0)

    def new(self) -> tuple[Happened, ...]:
        """Return the events since the last call, the first time the last ones."""
        events: deque[Happened] = deque(maxlen=self._most if self._open is None else None)
        older = self._file.with_name(f"{self._file.name}.1")
        inode = _inode(self._file)
        if self._open is None or self._open[0] != inode:  # nothing is read yet, or a new file has been begun
            skipped = self._open[1] if self._open is not None and _inode(older) == self._open[0] else 0
            events.extend(self._unknown(_read(older, skipped)[0]))
            self._open = (inode or 0, 0)
        read, end = _read(self._file, self._open[1])
        events.extend(self._unknown(read))
        self._open = (self._open[0], end)
        return tuple(events)

    def _unknown(self, events: Iterable[Happened]) -> Iterator[Happened]:
        for event in events:
            if event.id > self._last:
                self._last = event.id
                yield event


def history(file: Path, *, most: int = 500) -> tuple[Happened, ...]:
    """Return the last events of an application, oldest first; see `HistoryReader` for the arguments."""
    return HistoryReader(file, most=most).new()


def _inode(file: Path) -> int | None:
    try:
        return file.stat().st_ino
    except OSError:
        return None


def _read(file: Path, start: int) -> tuple[list[Happened], int]:
    """Return the events of a file from a byte on, and the byte after its last complete line."""
    try:
        with file.open("rb") as stream:
            stream.seek(start)
            content = stream.read()
    except OSError:
        return [], start
    complete = content[: content.rfind(b"\n") + 1]
    events = []
    for line in complete.splitlines():
        try:
            data = json.loads(line)
            events.append(Happened(**data | {"lines": tuple(map(str, data["lines"])), "run": float(data["run"])}))
        except (ValueError, TypeError, KeyError):
            continue
    return events, start + len(complete)
