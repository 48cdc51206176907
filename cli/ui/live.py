"""What changes in an application, for all pages that show it: read once, sent to each as fast as it can take it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from anyio import to_thread

from cli.runs.current import CurrentStatus, current_status
from streamlets.runner.events.health import health_of
from streamlets.runner.events.history import Happened, HistoryReader
from streamlets.runner.events.status_json import to_json
from streamlets.runner.state_directory.directory import StateDirectory

EVERY = 0.3
"""Seconds between two looks at the files of an application that somebody watches."""

_ALIVE_EVERY = 1.0
"""Seconds between two checks whether the process of the run exists."""

_KEEP_ALIVE = 15.0
"""Seconds without a message after which an empty one is sent, so that nothing between closes the connection."""

_KEPT = 1000
"""The events that are kept for pages that come back."""

Mark = tuple[float, int]
"""The id of an event: the start of its run, and its number in it."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An application at one moment.

    Arguments:
        version: grows with each change.
        run: the run as a whole, as data for JSON.
        streamlets: each streamlet as data for JSON, by name.
    """

    version: int = 0
    run: Mapping[str, object] = field(default_factory=dict)
    streamlets: Mapping[str, Mapping[str, object]] = field(default_factory=dict)


def snapshot(current: CurrentStatus, version: int = 0, deleted: str = "", described: str = "") -> Snapshot:
    """Return the content of the pages for a status.

    Arguments:
        current: the status that the run wrote last.
        version: see `Snapshot`.
        deleted: the state directory if it was deleted; "" otherwise.
        described: changes when a run describes another version of the application.
    """
    run: dict[str, object] = {
        "application": current.application, "alive": current.alive, "silent": current.silent, "health": current.health,
        "deleted": deleted, "described": described,
    }  # fmt: skip
    written = current.written
    if written is None:
        return Snapshot(version, run)
    data = to_json(written.status, written.time)
    streamlets = data.pop("streamlets")
    verdicts = {one.ref: one for one in health_of(written.status, written.time, lost=current.lost)}
    assert isinstance(streamlets, list)
    shown = {}
    for streamlet in streamlets:
        ref = streamlet["ref"]
        verdict = verdicts[ref]
        units = [_without(unit, "recent", "spells") for unit in streamlet["units"]]
        if not current.alive:
            units = [unit | {"rate": 0.0, "busy": None, "running_batch": None} for unit in units]
        shown[ref] = streamlet | {
            "units": units, "health": verdict.health, "reason": verdict.reason, "since": verdict.since,
        }  # fmt: skip
    whole = _without(data, "sequence", "scaled") | run | {"process": written.process}
    return Snapshot(version, whole, shown)


def _without(data: Mapping[str, object], *keys: str) -> dict[str, object]:
    return {key: value for key, value in data.items() if key not in keys}


class Feed:
    """Watches one application as long as a page shows it.

    Arguments:
        state: its state directory.
        clock: seconds of a monotonic clock.
    """

    def __init__(self, state: StateDirectory, clock: Callable[[], float] = time.monotonic) -> None:
        self._state = state
        self._clock = clock
        self._snapshot = Snapshot()
        self._events: list[Happened] = []
        self._reader = HistoryReader(state.event_history, most=_KEPT)
        self._changed = asyncio.Condition()
        self._watchers = 0
        self._task: asyncio.Task[None] | None = None
        self._seen: object = None
        self._existed = False
        self._checked = float("-inf")

    async def follow(self, after: Mark | None = None) -> AsyncIterator[str]:
        """Yield messages of server-sent events, forever: first everything, then what changes.

        A page that reads slowly misses states between, never the last one, and no event.

        Arguments:
            after: the id of the last event that the page has; None if it has none.
        """
        self._watchers += 1
        try:
            if self._task is None:
                await self._look()
                self._task = asyncio.create_task(self._watch())
            shown = Snapshot(version=-1)
            known = after if after is not None else (0.0, -1)
            while True:
                now, events = self._snapshot, [event for event in self._events if event.id > known]
                if now.version != shown.version or events:
                    known = max([known, *(event.id for event in events)])
                    yield _message(shown, now, events, known)
                    shown = now
                try:
                    async with self._changed:
                        if self._snapshot.version == shown.version and not self._has_after(known):
                            await asyncio.wait_for(self._changed.wait(), _KEEP_ALIVE)
                except TimeoutError:
                    yield ": still here\n\n"
        finally:
            self._watchers -= 1
            if not self._watchers and self._task is not None:
                self._task.cancel()
                self._task = None
                self._seen = None  # what happens until the next page comes is read then

    def _has_after(self, known: Mark) -> bool:
        return bool(self._events) and self._events[-1].id > known

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(EVERY)
            await self._look()

    async def _look(self) -> None:
        """Read what has changed, and wake the pages."""
        described = _stamp(self._state.descriptor_file)
        seen = (_stamp(self._state.status_file), _stamp(self._state.event_history), described)
        due = self._clock() - self._checked >= _ALIVE_EVERY
        if seen == self._seen and not due:
            return
        self._checked = self._clock()
        current, events, exists = await to_thread.run_sync(self._read)
        deleted = str(self._state.directory) if self._existed and not exists else ""
        self._existed = self._existed or exists
        fresh = snapshot(current, self._snapshot.version + 1, deleted, str(described))
        old = self._snapshot
        if (fresh.run, fresh.streamlets) != (old.run, old.streamlets) or events or self._seen is None:
            self._snapshot = fresh
            self._events = (self._events + list(events))[-_KEPT:]
            async with self._changed:
                self._changed.notify_all()
        self._seen = seen

    def _read(self) -> tuple[CurrentStatus, tuple[Happened, ...], bool]:
        return current_status(self._state), self._reader.new(), self._state.directory.is_dir()


def _stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        stat = file.stat()
    except OSError:
        return None
    return stat.st_ino, stat.st_mtime_ns, stat.st_size


def _message(shown: Snapshot, now: Snapshot, events: list[Happened], known: Mark) -> str:
    """Return a message with what a page does not show yet.

    Arguments:
        shown: what it shows.
        now: what it is to show.
        events: the events that it does not have.
        known: the id of the last of them.
    """
    whole = shown.version < 0 or set(shown.streamlets) != set(now.streamlets)
    changed = {ref: data for ref, data in now.streamlets.items() if whole or shown.streamlets.get(ref) != data}
    data = {"whole": whole, "run": now.run, "streamlets": changed, "events": [asdict(event) for event in events]}
    text = json.dumps(data, separators=(",", ":"))
    return f"id: {known[0]!r}-{known[1]}\nevent: live\ndata: {text}\n\n"


def mark_of(text: str) -> Mark | None:
    """Return the id of an event from the header `Last-Event-ID`; None if it is not one."""
    run, _, number = text.rpartition("-")
    try:
        return float(run), int(number)
    except ValueError:
        return None
