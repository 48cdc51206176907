"""The last batches of an application with their phases, in a ring of files that outlives the run."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from streamlets.runner.events.status import UnitId
from streamlets.runner.events.unit_events import UnitProgressed
from streamlets.runner.samples.ring import Resolution, Ring
from streamlets.runner.state_directory.directory import StateDirectory

BATCHES = Resolution("batches", interval=0.0, lines=2000, files=4)
"""At least the last 6,000 batches of all queries together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBatch:
    """A finished batch.

    Arguments:
        time: when it was finished, in seconds since the epoch.
        unit: the query.
        number: its number.
        seconds: its duration.
        rows: the rows that it read.
        phases: the duration by phase, see `phases.PHASES`.
    """

    time: float
    unit: UnitId
    number: int
    seconds: float
    rows: int = 0
    phases: Mapping[str, float] = field(default_factory=dict)


class BatchRing:
    """Keeps the batches of a run until they are written, which another thread does.

    Arguments:
        state: the state directory of the application.
    """

    def __init__(self, state: StateDirectory) -> None:
        self._ring = Ring(state.samples, BATCHES)
        self._waiting: deque[str] = deque(maxlen=BATCHES.lines)

    def add(self, event: UnitProgressed) -> None:
        """Take a batch; what a spout has done is not one."""
        if event.batch is not None:
            self._waiting.append(_line(event, event.batch))

    def write(self) -> None:
        """Write the batches since the last call. If they cannot be written, they are lost."""
        with suppress(OSError, IndexError):
            while True:
                self._ring.append(self._waiting.popleft())


def _line(event: UnitProgressed, number: int) -> str:
    row = [round(event.time, 1), *event.unit.data().values(), number, round(event.seconds, 3), event.rows_in]
    return json.dumps([*row, dict(event.phases)], separators=(",", ":")) + "\n"


def read_batches(state: StateDirectory, streamlet: str, most: int) -> dict[str, tuple[StoredBatch, ...]]:
    """Return the last batches of a streamlet by query, the oldest first, whether the application runs or not.

    Lines that are damaged are omitted.

    Arguments:
        state: the state directory of the application.
        streamlet: the name of the streamlet.
        most: the largest number of batches of a query.
    """
    batches: dict[str, deque[StoredBatch]] = {}
    for line in Ring(state.samples, BATCHES).lines():
        batch = _batch(line)
        if batch is not None and batch.unit.streamlet == streamlet:
            batches.setdefault(batch.unit.part, deque(maxlen=most)).append(batch)
    return {query: tuple(own) for query, own in batches.items()}


def _batch(line: str) -> StoredBatch | None:
    try:
        time, streamlet, query, number, seconds, rows, phases = json.loads(line)
        return StoredBatch(
            time=float(time),
            unit=UnitId(str(streamlet), str(query)),
            number=int(number),
            seconds=float(seconds),
            rows=int(rows),
            phases={str(name): float(value) for name, value in phases.items()},
        )
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
