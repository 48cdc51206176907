"""Retention and purging: what is dropped, what is kept for readers, and which missed records are reported."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from deltalake import DeltaTable

from blueprint.quantities import duration, memory_size
from streamlets.channels.base import Dropped, Reader
from streamlets.channels.delta.channel import DeltaChannel
from streamlets.channels.delta.log import TopicLog
from streamlets.channels.delta.maintenance import Upkeep, maintain_topic, write_checkpoint
from streamlets.channels.delta.offsets import Offset, Place
from streamlets.channels.delta.table import open_table
from streamlets.channels.delta.topic import DeltaTopic
from tests.streamlets.channels.test_crash import run
from tests.streamlets.channels.topics import READING, WIDER, Clock, add, ids_of, made, topic_plan

BEGAN = 1_700_000_000
FOR_EVER: Mapping[str, object] = {}


class ManualClock:
    """A clock that shows the time that a test sets."""

    now = float(BEGAN)

    def __call__(self) -> float:
        return self.now


def topic_of(root: Path, clock: ManualClock | Clock, options: Mapping[str, object] = FOR_EVER) -> DeltaTopic:
    """Create a topic with a retention."""
    plan = topic_plan("readings")
    topic = DeltaChannel(root, clock=clock).topic(type(plan)(plan.id, plan.name, plan.channel, True, (), (), options))
    topic.create()
    return topic


def filled(root: Path, options: Mapping[str, object] = FOR_EVER) -> tuple[DeltaTopic, ManualClock]:
    """Create a topic with ten commits of ten records, a minute apart; the clock shows the time of the last one."""
    clock = ManualClock()
    topic = topic_of(root, clock, options)
    for number in range(10):
        clock.now = BEGAN + 60.0 * number
        add(topic, number, range(number * 10, number * 10 + 10))
    return topic, clock


def reader_at(topic: DeltaTopic, commits: int, number: int = 0, name: str = "average.readings") -> Reader:
    """Return a reader that has committed the records of a number of commits, and `number` records of the next one."""
    log = TopicLog(topic.path)
    log.refresh()
    key = log.tables[READING.fingerprint].id
    return Reader(name, Offset(log.id, {READING.fingerprint: (key, Place(commits + 1, number))}).to_position())


def test_retention_by_time_drops_what_is_too_old(tmp_path: Path) -> None:
    """Records go when their time is over and every reader has committed them; places and order of the rest stay."""
    topic, clock = filled(tmp_path, {"retention.time": duration("5 minutes")})
    end = topic.end()
    clock.now += 1
    dropped = topic.maintain(lambda: [reader_at(topic, 9)])
    assert (dropped.records, dropped.files, dropped.held, dropped.missed) == (50, 5, {}, ())
    assert ids_of(topic.scan()) == list(range(50, 100))
    assert topic.end() == end
    assert topic.maintain(lambda: [reader_at(topic, 9)]) == Dropped()


def test_retention_by_size_drops_the_oldest(tmp_path: Path) -> None:
    """The oldest files are dropped until the topic fits."""
    topic, _ = filled(tmp_path)
    sizes = [file.size for file in (open_table(topic.path / READING.fingerprint, files=True).files or {}).values()]
    limit = sum(sizes[-3:])
    limited = topic_of(tmp_path, ManualClock(), {"retention.size": memory_size(f"{limit}")})
    assert limited.maintain(list).records == 70
    assert ids_of(limited.scan()) == list(range(70, 100))


def test_records_that_a_reader_has_not_committed_are_kept(tmp_path: Path) -> None:
    """The slowest reader holds records back, and the number of held records is reported exactly."""
    topic, clock = filled(tmp_path, {"retention.time": duration("1 second")})
    clock.now += 3600
    dropped = topic.maintain(lambda: [reader_at(topic, 9), reader_at(topic, 3, 4, "slow.readings")])
    assert dropped.records == 30
    assert dropped.held == {"average.readings": 10, "slow.readings": 66}
    assert ids_of(topic.scan()) == list(range(30, 100))


@pytest.mark.parametrize("readers", [None, lambda: [Reader("new.readings", None)]])
def test_nothing_is_dropped_for_a_new_reader_or_unknown_readers(
    tmp_path: Path, readers: Callable[[], list[Reader]] | None
) -> None:
    """A reader without a commit holds all records; if the readers are not known, nothing is dropped."""
    topic, clock = filled(tmp_path, {"retention.time": duration("1 second")})
    clock.now += 3600
    assert topic.maintain(readers).records == 0
    assert ids_of(topic.scan()) == list(range(100))


def test_retention_without_keep_unread_drops_unread_records(tmp_path: Path) -> None:
    """With `keep-unread = false`, unread records are dropped, too, and reported once."""
    topic, clock = filled(tmp_path, {"retention.time": duration("5 minutes"), "retention.keep-unread": False})
    clock.now += 1
    dropped = topic.maintain(lambda: [reader_at(topic, 3, 4)])
    assert dropped.records == 50
    (missed,) = topic.missed()
    assert (missed,) == dropped.missed
    table = READING.fingerprint
    assert (missed.reader, missed.topic, missed.records) == ("average.readings", "readings", 16)
    assert (missed.first, missed.last, missed.cause) == (f"{table}/4#4", f"{table}/5#9", "retention")
    assert list(topic.missed()) == []


def test_a_reader_continues_after_missed_records(tmp_path: Path) -> None:
    """Its position stays valid, and it reads the remaining records, which are its lag."""
    topic, clock = filled(tmp_path)
    reader = reader_at(topic, 3, 4)
    log = TopicLog(topic.path)
    log.refresh()
    topic.purge([reader], before=clock.now - 200, force=True)
    assert ids_of(topic.scan(after=reader.committed)) == list(range(60, 100))
    assert topic.lag(reader.committed).records == 40
    log.refresh()
    assert reader.committed is not None
    place = Offset.from_position(reader.committed)
    assert place.joined(log.advance(place, 5, log.end())).place(READING.fingerprint) == Place(8, 0)


def test_a_purge_drops_what_readers_have_committed(tmp_path: Path) -> None:
    """A purge drops committed records, a forced purge drops all, and a dry run only returns what would be dropped."""
    topic, _ = filled(tmp_path)
    reader = reader_at(topic, 7)
    assert topic.purge([reader], dry=True).records == 70
    assert topic.lag(None).records == 100
    dropped = topic.purge([reader])
    assert (dropped.records, dropped.held) == (70, {"average.readings": 30})
    assert ids_of(topic.scan()) == list(range(70, 100))
    dropped = topic.purge([reader], force=True)
    assert (dropped.records, [m.records for m in dropped.missed]) == (30, [30])
    assert ids_of(topic.scan()) == []


def test_an_empty_topic_keeps_its_end(tmp_path: Path) -> None:
    """After all records were dropped and the log was cleaned, readers keep their positions, a replayed batch is not
    written twice, and new records are read once."""
    topic, _ = filled(tmp_path)
    end = topic.end()
    topic.purge([], force=True)
    table = open_table(topic.path / READING.fingerprint, files=True, removed=True)
    write_checkpoint(table, 0)
    upkeep = Upkeep(checkpoint_every=1, keep_log=-1e12, sweep_every=-1)
    maintain_topic(topic.path, tmp_path / "_staged", Clock(), upkeep)
    again = made(tmp_path)
    assert again.end() == end
    add(again, 9, [990])  # the writer's last batch, replayed
    assert ids_of(again.scan()) == []
    add(again, 10, [100])
    assert ids_of(again.scan(after=end)) == [100]
    assert again.lag(end).records == 1
    assert DeltaTable(str(table.path)).to_pyarrow_table()["id"].to_pylist() == [100]


def test_a_purge_includes_every_table(tmp_path: Path) -> None:
    """A purge drops records of all schemas, and a reader holds the records of each table separately."""
    topic, clock = filled(tmp_path)
    clock.now += 60
    add(topic, 10, [1000], WIDER)
    reader = reader_at(topic, 10)  # it has not read the second table
    dropped = topic.purge([reader])
    assert (dropped.records, dropped.held) == (100, {"average.readings": 1})
    assert ids_of(topic.scan(READING)) == [1000]


def test_a_sweep_deletes_dropped_files_immediately(tmp_path: Path) -> None:
    """`sweep` deletes the dropped files; the remaining records can be read."""
    topic, clock = filled(tmp_path)
    topic.purge([reader_at(topic, 6)], before=None)
    directory = topic.path / READING.fingerprint / "data"
    assert len(list(directory.rglob("*.parquet"))) == 10
    topic.sweep()
    assert len(list(directory.rglob("*.parquet"))) == 4
    assert ids_of(topic.scan()) == list(range(60, 100))
    assert clock.now


PURGE = """
import sys
from pathlib import Path
from tests.streamlets.channels.test_retention import reader_at, made
topic = made(Path(sys.argv[1]))
topic.purge([reader_at(topic, 4)], force=True)
"""


@pytest.mark.parametrize(
    ("point", "left"), [("after-missed-note", 100), ("during-rename", 100), ("after-drop-commit", 0)]
)
def test_a_kill_during_a_purge_reports_missed_records_once(tmp_path: Path, point: str, left: int) -> None:
    """After a kill at each step, all records or none exist. Missed records are reported once, and only if they were
    dropped, also if the purge is repeated."""
    topic, _ = filled(tmp_path)
    assert run(PURGE, str(tmp_path), at=point).returncode == -signal.SIGKILL
    assert topic.lag(None).records == left
    if left:
        assert list(topic.missed()) == []
        topic.purge([reader_at(topic, 4)], force=True)
    assert [missed.records for missed in topic.missed()] == [60]
    assert list(topic.missed()) == []
