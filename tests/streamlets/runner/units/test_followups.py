"""What follows a committed batch: dead letters of inlets, and positions for other tools."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from blueprint.catalog import ChannelTraits
from blueprint.plan import InletPlan, StreamletPlan
from streamlets.channels.base import InvalidRecord, Missed, Position, Reader, TopicLostError
from streamlets.channels.dead_letters import dead_letter_contract
from streamlets.runner.checkpoints.checkpoint import Batch, Checkpoint
from streamlets.runner.events.record_events import RecordsMissed
from streamlets.runner.events.unit_events import UnitWarned
from streamlets.runner.units.followups import FILE, FollowUps
from streamlets.runner.units.lost_records import require_records
from streamlets.storage.crash import VARIABLE
from tests.streamlets.channels.topics import READING, made

REPOSITORY = Path(__file__).resolve().parents[4]
BAD = {2, 3, 7}


@dataclass
class FakeTopic:
    """A topic with one partition, whose records 2, 3 and 7 are invalid; a position is an offset."""

    traits = ChannelTraits(name="fake", invalid_records=True, loses_records=True, shows_progress=True)
    groups: dict[str, int] = field(default_factory=dict)
    asked: list[tuple[int, int]] = field(default_factory=list)
    error: Exception | None = None
    fails_on_loss: bool = True
    first: int = 0

    def owns(self, position: Position) -> bool:
        """Every position is one of it."""
        return True

    def end(self) -> Position:
        """It has ten records."""
        return Position("10")

    def invalid_count(self, inlet: InletPlan, observed: Mapping[str, Mapping[str, Any]]) -> int:
        """As a test says, for all inlets or for one."""
        return int(observed.get(inlet.name, observed.get("invalid", {})).get("n", 0))

    def invalid(
        self, session: object, inlet: InletPlan, after: Position | None, until: Position
    ) -> Iterator[tuple[list[InvalidRecord], Position]]:
        """Each invalid record by itself."""
        if self.error is not None:
            raise self.error
        start = int(after.json) if after else 0
        self.asked.append((start, int(until.json)))
        for at in sorted(BAD & set(range(start, int(until.json)))):
            yield [InvalidRecord(f"t/0/{at}", "{}", "why")], Position(str(at + 1))
        yield [], until

    def decoded(self, content: str, contract: object) -> dict[str, Any]:
        """Return nothing of interest."""
        return {}

    def furthest(self, first: Position, second: Position) -> Position:
        """The larger one."""
        return Position(str(max(int(first.json), int(second.json))))

    def committed(self, group: str, position: Position) -> None:
        """Store it."""
        if self.error is not None:
            raise self.error
        self.groups[group] = int(position.json)

    def lost(self, reader: Reader) -> tuple[Missed, ...]:
        """Return what retention has deleted."""
        at = int(reader.committed.json) if reader.committed else 0
        return (self._missed(reader, at, self.first),) if at < self.first else ()

    def skipped(self, reader: Reader, until: Position, records: int) -> tuple[Missed, ...]:
        """Return what lies before the first record, unless everything was read."""
        assert reader.committed is not None
        at, end = int(reader.committed.json), min(int(until.json), self.first)
        return (self._missed(reader, at, end),) if at < end and records < int(until.json) - at else ()

    def _missed(self, reader: Reader, at: int, end: int) -> Missed:
        return Missed(
            topic="t",
            reader=reader.name,
            first=f"offset {at}",
            last=f"offset {end - 1}",
            records=end - at,
            time=1.0,
            cause="retention",
        )


def report(start: int | None, end: int, invalid: int = 0, read: int = 0) -> dict[str, Any]:
    """Return the progress report of a batch. A position of JSON must be an object for the runner."""
    offsets = {"startOffset": None if start is None else {"at": start}, "endOffset": {"at": end}}
    return {
        "id": "the-id",
        "sources": [offsets | {"numInputRows": read}],
        "observedMetrics": {"invalid": {"n": invalid}},
    }


@dataclass
class Bench:
    """A streamlet with an inlet of a fake topic, and its follow-ups."""

    directory: Path
    topic: FakeTopic = field(default_factory=FakeTopic)
    reports: list[UnitWarned | RecordsMissed] = field(default_factory=list)

    @property
    def warnings(self) -> list[UnitWarned]:
        """The reported warnings."""
        return [event for event in self.reports if isinstance(event, UnitWarned)]

    @property
    def plan(self) -> StreamletPlan:
        """The plan of the streamlet."""
        descriptor: Any = None
        inlet = InletPlan("mean", "in", None, READING, "in", on_invalid="dead-letters")
        return StreamletPlan(
            ref="mean",
            class_name="m.Mean",
            descriptor=descriptor,
            inlets=(inlet,),
            dead_letters="letters",
            version="1.2",
        )

    def open(self) -> FollowUps:
        """Return the follow-ups of a new process."""
        topics: Any = {"in": self.topic, "letters": made(self.directory / "topics", "letters")}
        session: Any = lambda: None  # noqa: E731
        return FollowUps(self.plan, "app", topics, self.directory / "checkpoints", session, self.reports.append)

    def checkpoint(self, committed: int | None) -> Checkpoint:
        """Return the checkpoint of the query `q`."""
        batch = Batch(0, 0.0, {"in": str(committed)}, {}) if committed is not None else None
        directory = self.directory / "checkpoints" / "mean" / "q"
        return Checkpoint(
            streamlet="mean",
            query="q",
            directory=directory,
            id="the-id",
            committed=batch,
            planned=None,
            watermark=None,
            operators=(),
            damage=(),
        )

    def offsets(self) -> list[int]:
        """Return the offsets of the dead letters."""
        rows = [row for batch in made(self.directory / "topics", "letters").scan() for row in batch.to_pylist()]
        return [int(row["coordinates"].rpartition("/")[2]) for row in rows]


def with_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have positions in reports be numbers."""
    for module in ("followups", "record_counts"):
        monkeypatch.setattr(
            f"streamlets.runner.units.{module}.position_of",
            lambda offset: Position(str(offset["at"])) if offset is not None else None,
        )


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Return a bench whose positions are numbers."""
    with_numbers(monkeypatch)
    made(tmp_path / "topics", "letters").create([dead_letter_contract()])
    return Bench(tmp_path)


def test_only_batches_with_invalid_records_are_read_again(bench: Bench) -> None:
    """Each invalid record is one dead letter; the position is that of the last batch."""
    followups = bench.open()
    followups.starting("q", bench.checkpoint(None))
    for start, end, invalid in ((None, 2, 0), (2, 5, 2), (5, 6, 0), (6, 9, 1)):
        followups.batch("q", report(start, end, invalid))
    followups.finish()
    assert bench.offsets() == [2, 3, 7]
    assert bench.topic.asked == [(2, 5), (6, 9)]
    assert bench.topic.groups == {"app.mean.in": 9}
    assert json.loads((bench.directory / "checkpoints" / "mean" / "q" / FILE).read_text()) == {"in": "9"}


def test_batches_without_a_report_are_made_up_for(bench: Bench) -> None:
    """Spark drops reports, and a kill may come before one: what lies before the next batch is read then, or at the next
    start, and the dead letters that were written are not repeated."""
    followups = bench.open()
    followups.starting("q", bench.checkpoint(None))
    followups.batch("q", report(None, 1))
    followups.batch("q", report(5, 6))  # the report of 1 to 5 was dropped
    followups.finish()
    assert bench.offsets() == [2, 3]
    again = bench.open()  # the batch of 6 to 9 was committed before a kill
    again.starting("q", bench.checkpoint(9))
    again.finish()
    assert bench.offsets() == [2, 3, 7]
    (bench.directory / "checkpoints" / "mean" / "q" / FILE).write_text('{"in": null}')  # killed before this was written
    again = bench.open()
    again.starting("q", bench.checkpoint(9))
    again.finish()
    assert bench.offsets() == [2, 3, 7]


PROGRAM = """
import sys
from pathlib import Path
import pytest
from tests.streamlets.runner.units.test_followups import Bench, report, with_numbers

with_numbers(pytest.MonkeyPatch())
bench = Bench(Path(sys.argv[1]))
followups = bench.open()
followups.starting("q", bench.checkpoint(None))
followups.batch("q", report(None, 9, 3))
followups.finish()
"""


@pytest.mark.parametrize("point", ["before-inlet-letters", "before-inlet-letters:2", "after-append-commit:3"])
def test_a_kill_while_dead_letters_are_written(bench: Bench, point: str) -> None:
    """Those that are missing are written after the next start, the others are not repeated."""
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(bench.directory)],
        cwd=REPOSITORY, env=os.environ | {VARIABLE: point}, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert process.returncode == -signal.SIGKILL, process.stderr
    written = {"before-inlet-letters": 0, "before-inlet-letters:2": 1, "after-append-commit:3": 3}
    assert len(bench.offsets()) == written[point]
    again = bench.open()
    again.starting("q", bench.checkpoint(9))
    again.finish()
    assert bench.offsets() == [2, 3, 7]


def test_an_existing_checkpoint_begins_at_its_position(bench: Bench) -> None:
    """A query that failed at invalid records until now has not omitted any."""
    followups = bench.open()
    followups.starting("q", bench.checkpoint(5))
    followups.batch("q", report(5, 9, 1))
    followups.finish()
    assert bench.offsets() == [7]


def test_a_failure_is_one_warning_and_tried_again(bench: Bench) -> None:
    """The next batch writes what is missing."""
    followups = bench.open()
    followups.starting("q", bench.checkpoint(None))
    bench.topic.error = RuntimeError("no answer\nat a.b.C")
    for start, end, invalid in ((None, 3, 1), (3, 5, 1)):
        followups.batch("q", report(start, end, invalid))
        followups.finish()
    again = "; the next batch tries again: no answer"
    assert sorted(warning.what for warning in bench.warnings) == [
        f"invalid records of the inlet `in` cannot be written to the dead letters{again}",
        f"the position of the inlet `in` cannot be stored for other tools{again}",
    ]
    assert {str(warning.unit) for warning in bench.warnings} == {"mean.q"}
    bench.topic.error = None
    followups.batch("q", report(5, 6))
    followups.finish()
    assert bench.offsets() == [2, 3]


def test_dead_letters_that_are_not_written_are_known(bench: Bench) -> None:
    """A bounded run must not end as if all were done; the next start writes them."""
    followups = bench.open()
    followups.starting("q", bench.checkpoint(None))
    bench.topic.error = OSError("no space")
    followups.batch("q", report(None, 5, 2))
    followups.finish()
    assert "no space" in followups.unwritten("q")
    assert followups.unwritten("other") == ""
    bench.topic.error = None
    followups.starting("q", bench.checkpoint(5))
    followups.finish()
    assert followups.unwritten("q") == ""
    assert bench.offsets() == [2, 3]


def test_two_inlets_of_a_topic(bench: Bench) -> None:
    """The invalid records of the second one are dead letters, too. The position is that of the first: which of both a
    source belongs to is not known."""
    (second,) = bench.plan.inlets
    first = replace(second, name="first", on_invalid="fail")
    topics: Any = {"in": bench.topic, "letters": made(bench.directory / "topics", "letters")}
    plan = replace(bench.plan, inlets=(first, second))
    session: Any = lambda: None  # noqa: E731
    followups = FollowUps(plan, "app", topics, bench.directory / "checkpoints", session, bench.reports.append)
    followups.starting("q", bench.checkpoint(None))
    followups.batch("q", report(None, 5) | {"observedMetrics": {"in": {"n": 2}}})
    followups.finish()
    assert bench.offsets() == [2, 3]
    assert bench.topic.groups == {"app.mean.first": 5}


@pytest.mark.parametrize("fails", [True, False])
def test_lost_records_are_reported_at_the_start(bench: Bench, *, fails: bool) -> None:
    """The query stops if its topic says so; a query that has read them loses nothing."""
    bench.topic.first, bench.topic.fails_on_loss = 4, fails
    events: list[RecordsMissed] = []
    topics: Any = {"in": bench.topic}
    require_records(bench.plan, bench.checkpoint(4), topics, events.append)
    require_records(bench.plan, bench.checkpoint(None), topics, events.append)
    assert events == []
    if fails:
        with pytest.raises(TopicLostError, match=r"before mean.q \(in\) had read them: from offset 1 to offset 3; to"):
            require_records(bench.plan, bench.checkpoint(1), topics, events.append)
    else:
        require_records(bench.plan, bench.checkpoint(1), topics, events.append)
    assert [(event.reader, event.first, event.last, event.records) for event in events] == [
        ("mean.q (in)", "offset 1", "offset 3", 3)
    ]


def test_records_that_the_first_batch_has_skipped_are_reported(bench: Bench) -> None:
    """Spark stores where a source began; its progress reports do not have it."""
    bench.topic.first, bench.topic.fails_on_loss = 4, False
    checkpoint = bench.directory / "checkpoints" / "mean" / "q"
    for file, lines in (("sources/in/0", ["v1", "1"]), ("offsets/0", ["v2", '{"conf": {}}', "in:9"])):
        (checkpoint / file).parent.mkdir(parents=True)
        (checkpoint / file).write_text("\n".join(lines))
    followups = bench.open()
    followups.batch("q", report(None, 9, read=5))
    followups.finish()
    assert [(event.reader, event.first, event.last) for event in bench.reports if isinstance(event, RecordsMissed)] == [
        ("mean.q (in)", "offset 1", "offset 3")
    ]


def test_records_that_a_batch_has_skipped_are_reported(bench: Bench) -> None:
    """Only where batches continue after deleted records, and not if they were deleted after they were read."""
    bench.topic.first = 4
    for fails in (True, False):
        bench.topic.fails_on_loss = fails
        followups = bench.open()
        for start, end, read in ((None, 1, 1), (1, 3, 2), (3, 9, 5)):
            followups.batch("q", report(start, end, read=read))
        followups.finish()
    (event,) = bench.reports
    assert isinstance(event, RecordsMissed)
    assert (event.topic, event.reader, event.first, event.last, event.records) == (
        "t", "mean.q (in)", "offset 3", "offset 3", 1,
    )  # fmt: skip
