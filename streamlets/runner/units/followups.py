"""`FollowUps`: what follows a committed batch of a query, in a thread of its own.

* Data that an inlet has omitted because it is not a record is written to the dead letters. A file in the checkpoint
  has the position up to which that is done, so what a kill has prevented is done after the next start.
* Records that a batch has skipped, because they were deleted before it read them, are reported.
* The positions of inlets are stored where other tools see them, if their channel has such a place.

None of this fails a query: what does not succeed is reported once. The next batch tries again what is still missing.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blueprint.avro.dead_letters import dead_letter_contract
from blueprint.plan import InletPlan, StreamletPlan
from streamlets.channels.base import (
    InvalidRecord,
    Position,
    Reader,
    TopicResource,
)
from streamlets.runner.checkpoints.checkpoint import Checkpoint, initial_position, read_checkpoint
from streamlets.runner.events.record_events import RecordsMissed
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.unit_events import UnitWarned
from streamlets.runner.units.record_counts import inlets_of, position_of
from streamlets.storage import objects
from streamlets.storage.crash import crash_point
from streamlets.storage.damage import read_whole

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

FILE = "invalid-records.json"
"""The file in a checkpoint with the positions up to which invalid records are in the dead letters, by inlet."""

_SKIPPED = "cannot determine whether records of the inlet `{}` were deleted before a batch had read them"
_LETTERS = "invalid records of the inlet `{}` cannot be written to the dead letters; the next batch tries again"
_POSITION = "the position of the inlet `{}` cannot be stored for other tools; the next batch tries again"


@dataclass(frozen=True, slots=True)
class _Read:
    """The offsets that a batch has read of an inlet.

    Arguments:
        id: the id of the query in its checkpoint.
        start: where the batch began; None for the first batch.
        invalid: how much invalid data it has omitted.
        records: the number of records that it has read; None for batches of earlier runs.
        letters_only: whether only dead letters are of interest: the source may belong to another inlet of the topic.
    """

    query: str
    id: str
    inlet: InletPlan
    start: Position | None
    end: Position
    invalid: int
    records: int | None = None
    letters_only: bool = False


class FollowUps:
    """The follow-ups of the batches of a streamlet. Its methods may be called from any thread.

    Arguments:
        plan: the streamlet.
        application: the name of the application.
        topics: the topics by id.
        checkpoints: the application's directory of checkpoints.
        session: returns a session of the Spark that runs the queries.
        report: takes what does not succeed, and records that a batch has skipped.
    """

    def __init__(
        self,
        plan: StreamletPlan,
        application: str,
        topics: Mapping[str, TopicResource],
        checkpoints: Path,
        session: Callable[[], SparkSession],
        report: Callable[[UnitWarned | RecordsMissed], None],
    ) -> None:
        self._plan = plan
        self._application = application
        self._topics = topics
        self._checkpoints = checkpoints / plan.ref
        self._session = session
        self._report = report
        self._letters = {inlet.name for inlet in plan.inlets if self._finding(inlet) is not None}
        self._continuing = {inlet.name for inlet in plan.inlets if self._losing(inlet) is not None}
        self._shown = {inlet.name for inlet in plan.inlets if topics[inlet.topic].traits.shows_progress}
        self._done: dict[str, dict[str, Position | None]] = {}
        self._sources: dict[tuple[str, str], str] = {}
        self._warned: set[tuple[str, str, str]] = set()
        self._unwritten: dict[tuple[str, str], str] = {}
        self._waiting: list[_Read] = []
        self._changed = threading.Condition()
        self._working = False

    def starting(self, query: str, checkpoint: Checkpoint) -> None:
        """Prepare for the batches of a query that is about to start, and follow up the batches of earlier runs.

        Raises:
            OSError: the checkpoint cannot be written.
        """
        if not self._letters:
            return
        committed = checkpoint.committed.positions.values() if checkpoint.committed is not None else ()
        reached = {inlet.name: self._position_in(inlet, committed) for inlet in self._plan.inlets}
        what = "the list of positions up to which the records of inlets were checked"
        remedy = "delete it: dead letters of the last batches may be missing, or written twice"
        done = read_whole(self._path(query), _positions, what, remedy) or {}
        for inlet in self._plan.inlets:
            if inlet.name in self._letters and inlet.name not in done:
                end = self._topics[inlet.topic].end() if inlet.settings.starting == "latest" else None
                done[inlet.name] = reached[inlet.name] or end
        self._done[query] = done
        self._store(query)
        for inlet in self._plan.inlets:
            position = reached[inlet.name]
            if inlet.name in self._letters and position is not None:
                self._add([_Read(query, checkpoint.id, inlet, position, position, 0)])

    def invalid(self, report: Mapping[str, Any]) -> int:
        """Return how much invalid data a batch has omitted, from its progress report."""
        return sum(self._invalid(inlet, report) for inlet in self._plan.inlets if inlet.name in self._letters)

    def batch(self, query: str, report: Mapping[str, Any]) -> None:
        """Follow up a committed batch, from its progress report."""
        if not self._letters and not self._continuing and not self._shown:
            return
        reads = []
        for source in report.get("sources") or []:
            end = position_of(source.get("endOffset"))
            start, records = position_of(source.get("startOffset")), source.get("numInputRows")
            for number, inlet in enumerate(inlets_of(end, self._plan.inlets, self._topics)):
                assert end is not None
                invalid, id = self._invalid(inlet, report), str(report.get("id"))
                reads.append(_Read(query, id, inlet, start, end, invalid, records, letters_only=number > 0))
        self._add(reads)

    def unwritten(self, query: str) -> str:
        """Return why dead letters of a query are not written; "" if all are."""
        return "; ".join(text for (of, _), text in sorted(self._unwritten.items()) if of == query)

    def finish(self) -> None:
        """Wait until all batches are followed up."""
        with self._changed:
            self._changed.wait_for(lambda: not self._working)

    def _add(self, reads: list[_Read]) -> None:
        with self._changed:
            self._waiting += reads
            if reads and not self._working:
                self._working = True
                threading.Thread(target=self._work, name=f"follow-ups-{self._plan.ref}", daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._changed:
                reads, self._waiting = self._waiting, []
                if not reads:
                    self._working = False
                    self._changed.notify_all()
                    return
            for read in reads:
                if read.inlet.name in self._continuing and not read.letters_only:
                    self._try(read, _SKIPPED, self._report_skipped)
                if read.inlet.name in self._letters:
                    self._try(read, _LETTERS, self._collect)
            last = {(read.query, read.inlet.name): read for read in reads if not read.letters_only}
            for query in sorted({read.query for read in reads if read.query in self._done}):
                self._store(query)
            for read in last.values():
                if read.inlet.name in self._shown:
                    self._try(read, _POSITION, self._show)

    def _try(self, read: _Read, what: str, work: Callable[[_Read], None]) -> None:
        """Follow up a batch; report what does not succeed, unless that did not succeed before, either."""
        key = (read.query, read.inlet.name, what)
        try:
            work(read)
        except Exception as error:  # noqa: BLE001 - errors of Spark, Kafka or the file system; see the module
            text = f"{what.format(read.inlet.name)}: {_first_line(error)}"
            if what == _LETTERS:
                self._unwritten[read.query, read.inlet.name] = text
            if key not in self._warned:
                self._warned.add(key)
                self._report(UnitWarned(time.time(), UnitId(self._plan.ref, read.query), text))
        else:
            self._warned.discard(key)
            if what == _LETTERS:
                self._unwritten.pop((read.query, read.inlet.name), None)

    def _report_skipped(self, read: _Read) -> None:
        """Report records that a batch has skipped."""
        topic, start = self._losing(read.inlet), read.start or self._beginning(read)
        if topic is None or start is None or read.records is None:
            return
        reader = Reader(f"{self._plan.ref}.{read.query} ({self._source(read)})", start)
        for missed in topic.skipped(reader, read.end, read.records):
            self._report(RecordsMissed(**asdict(missed)))

    def _beginning(self, read: _Read) -> Position | None:
        """Return where the first batch of an inlet began, which its report does not have; None if it is not known."""
        at = initial_position(self._checkpoints / read.query, self._source(read), read.end.json)
        owned = at is not None and self._topics[read.inlet.topic].owns(Position(at))
        return Position(at) if at is not None and owned else None

    def _source(self, read: _Read) -> str:
        """Return the name of the source that reads an inlet, which other reports of missed records have, too.

        The checkpoint is read for it once.
        """
        key = read.query, read.inlet.name
        if key not in self._sources:
            checkpoint = read_checkpoint(self._checkpoints / read.query)
            sources = checkpoint.latest.positions if checkpoint.latest is not None else {}
            topic = self._topics[read.inlet.topic]
            found = (source for source, at in sources.items() if topic.owns(Position(at)))
            self._sources[key] = next(found, read.inlet.name)
        return self._sources[key]

    def _collect(self, read: _Read) -> None:
        """Write what a batch has omitted to the dead letters."""
        topic = self._finding(read.inlet)
        assert topic is not None
        done = self._done.get(read.query, {}).get(read.inlet.name)
        if read.invalid or not _covers(topic, done, read.start):
            self._write_letters(topic, read, done)
        reached = topic.furthest(done, read.end) if done is not None else read.end
        self._done.setdefault(read.query, {})[read.inlet.name] = reached

    def _write_letters(self, topic: TopicResource, read: _Read, done: Position | None) -> None:
        assert self._plan.dead_letters is not None
        letters = self._topics[self._plan.dead_letters]
        with letters.appender(dead_letter_contract(), writer=f"invalid-{read.id}-{read.inlet.name}") as appender:
            if appender.marker is not None:  # the file is written after the letters
                marker = Position(appender.marker.decode())
                done = topic.furthest(done, marker) if done is not None else marker
            for records, reached in topic.invalid(self._session(), read.inlet, done, read.end):
                if records:
                    crash_point("before-inlet-letters")
                    number = appender.last + 1 if appender.last is not None else 0
                    appender.append([self._rows(read.inlet, records)], number, marker=reached.json.encode())

    def _rows(self, inlet: InletPlan, records: list[InvalidRecord]) -> pa.RecordBatch:
        import pyarrow as pa

        from streamlets.contract.types import arrow_schema

        schema = arrow_schema(dead_letter_contract())
        now = round(time.time() * 1_000_000)
        columns = [
            pa.array([record.content for record in records], pa.string()),
            pa.array([f"{self._plan.ref}.{inlet.name}"] * len(records), pa.string()),
            pa.array([record.coordinates for record in records], pa.string()),
            pa.array([record.reason for record in records], pa.string()),
            pa.array([now] * len(records), schema.field("time").type),
            pa.array([self._plan.version] * len(records), pa.string()),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def _show(self, read: _Read) -> None:
        topic = self._topics[read.inlet.topic]
        topic.committed(f"{self._application}.{self._plan.ref}.{read.inlet.name}", read.end)

    def _finding(self, inlet: InletPlan) -> TopicResource | None:
        """Return the topic of an inlet if its invalid records go to the dead letters."""
        topic = self._topics[inlet.topic]
        sends = inlet.on_invalid == "dead-letters" and self._plan.dead_letters is not None
        return topic if sends and topic.traits.invalid_records else None

    def _losing(self, inlet: InletPlan) -> TopicResource | None:
        """Return the topic of an inlet if batches continue after records that were deleted."""
        topic = self._topics[inlet.topic]
        return topic if topic.traits.loses_records and not topic.fails_on_loss else None

    def _invalid(self, inlet: InletPlan, report: Mapping[str, Any]) -> int:
        topic = self._finding(inlet)
        return topic.invalid_count(inlet, report.get("observedMetrics") or {}) if topic is not None else 0

    def _position_in(self, inlet: InletPlan, positions: Any) -> Position | None:
        topic = self._topics[inlet.topic]
        return next((Position(position) for position in positions if topic.owns(Position(position))), None)

    def _path(self, query: str) -> Path:
        return self._checkpoints / query / FILE

    def _store(self, query: str) -> None:
        """Store the positions of a query."""
        positions = {name: at.json if at is not None else None for name, at in self._done[query].items()}
        self._path(query).parent.mkdir(parents=True, exist_ok=True)
        objects.replace(self._path(query), json.dumps(positions).encode())


def _covers(topic: TopicResource, done: Position | None, start: Position | None) -> bool:
    """Return whether nothing before `start` remains to be done."""
    if start is None:
        return True
    return done is not None and topic.furthest(done, start) == topic.furthest(done, done)


def _positions(data: bytes) -> dict[str, Position | None]:
    return {name: Position(at) if at is not None else None for name, at in json.loads(data).items()}


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).strip().splitlines()[0]
