"""Retention and purging: what goes, what stays for whom, and what those are told who come too late."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from deltalake import DeltaTable

from blueprint.plan import Retention
from blueprint.quantities import duration, memory_size
from streamlets.channels.base import Dropped, Reader
from streamlets.channels.delta import DeltaChannel, DeltaTopic
from streamlets.channels.delta.log import TopicLog
from streamlets.channels.delta.maintenance import Upkeep, maintain_topic, write_checkpoint
from streamlets.channels.delta.offsets import Offset, Place
from streamlets.channels.delta.table import open_table
from tests.streamlets.channels.test_crash import run
from tests.streamlets.channels.topics import READING, WIDER, Clock, add, ids_of, made, topic_plan

BEGAN = 1_700_000_000
FOR_EVER = Retention()


class Hand:
    """A clock that stands where it is put."""

    now = float(BEGAN)

    def __call__(self) -> float:
        return self.now


def topic_of(root: Path, clock: Hand | Clock, retention: Retention = FOR_EVER) -> DeltaTopic:
    """A topic with a retention; 10 commits of 10 records, a minute apart with a clock that is put."""
    plan = topic_plan("readings")
    topic = DeltaChannel(root, clock=clock).topic(
        type(plan)(plan.id, plan.name, plan.channel, True, (), (), {}, retention)
    )
    topic.create()
    return topic


def filled(root: Path, retention: Retention = FOR_EVER) -> tuple[DeltaTopic, Hand]:
    """The topic with ten commits of ten records, a minute apart; the clock stands at the last of them."""
    clock = Hand()
    topic = topic_of(root, clock, retention)
    for number in range(10):
        clock.now = BEGAN + 60.0 * number
        add(topic, number, range(number * 10, number * 10 + 10))
    return topic, clock


def reader_at(topic: DeltaTopic, commits: int, number: int = 0, name: str = "average.readings") -> Reader:
    """A reader that has committed the records of so many commits, and `number` of the next."""
    log = TopicLog(topic.path)
    log.refresh()
    key = log.tables[READING.fingerprint].id
    return Reader(name, Offset(log.id, {READING.fingerprint: (key, Place(commits + 1, number))}).to_position())


def test_retention_by_time_drops_what_is_too_old(tmp_path: Path) -> None:
    """Records go when their time is over and every reader has committed them; places and order of the rest stay."""
    topic, clock = filled(tmp_path, Retention(time=duration("5 minutes")))
    end = topic.end()
    clock.now += 1
    dropped = topic.maintain(lambda: [reader_at(topic, 9)])
    assert (dropped.records, dropped.files, dropped.held, dropped.missed) == (50, 5, {}, ())
    assert ids_of(topic.scan()) == list(range(50, 100))
    assert topic.end() == end
    assert topic.maintain(lambda: [reader_at(topic, 9)]) == Dropped()


def test_retention_by_size_drops_the_oldest(tmp_path: Path) -> None:
    """The topic shrinks until it fits, from its oldest end."""
    topic, _ = filled(tmp_path)
    sizes = [file.size for file in (open_table(topic.path / READING.fingerprint, files=True).files or {}).values()]
    limit = sum(sizes[-3:])
    limited = topic_of(tmp_path, Hand(), Retention(size=memory_size(f"{limit}")))
    assert limited.maintain(list).records == 70
    assert ids_of(limited.scan()) == list(range(70, 100))


def test_what_a_reader_has_not_committed_stays(tmp_path: Path) -> None:
    """The slowest reader holds records back, to the record; how many it holds is said."""
    topic, clock = filled(tmp_path, Retention(time=duration("1 second")))
    clock.now += 3600
    dropped = topic.maintain(lambda: [reader_at(topic, 9), reader_at(topic, 3, 4, "slow.readings")])
    assert dropped.records == 30
    assert dropped.held == {"average.readings": 10, "slow.readings": 66}
    assert ids_of(topic.scan()) == list(range(30, 100))


@pytest.mark.parametrize("readers", [None, lambda: [Reader("new.readings", None)]])
def test_nothing_goes_while_a_reader_has_not_begun_or_is_not_known(
    tmp_path: Path, readers: Callable[[], list[Reader]] | None
) -> None:
    """A reader that has committed nothing holds everything; when readers are not known, nothing is dropped."""
    topic, clock = filled(tmp_path, Retention(time=duration("1 second")))
    clock.now += 3600
    assert topic.maintain(readers).records == 0
    assert ids_of(topic.scan()) == list(range(100))


def test_retention_may_overtake_when_told_to(tmp_path: Path) -> None:
    """With `keep-unread = false` unread records go, too, and the reader is told which, once."""
    topic, clock = filled(tmp_path, Retention(time=duration("5 minutes"), keep_unread=False))
    clock.now += 1
    dropped = topic.maintain(lambda: [reader_at(topic, 3, 4)])
    assert dropped.records == 50
    (missed,) = topic.missed()
    assert (missed,) == dropped.missed
    table = READING.fingerprint
    assert (missed.reader, missed.topic, missed.records) == ("average.readings", "readings", 16)
    assert (missed.first, missed.last, missed.cause) == (f"{table}/4#4", f"{table}/5#9", "retention")
    assert list(topic.missed()) == []


def test_a_reader_that_was_overtaken_goes_on_behind_the_hole(tmp_path: Path) -> None:
    """Its place stays valid: it reads what is left, and its lag is what is left."""
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


def test_a_purge_asks_nobody_but_the_readers(tmp_path: Path) -> None:
    """A purge of all takes what has been committed; forced, everything. A dry one only says so."""
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


def test_an_emptied_topic_remembers_where_it_ended(tmp_path: Path) -> None:
    """After everything went, and the log was cleaned, readers and writers go on: nobody is sent back, no batch is
    taken twice, new records are read once."""
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


def test_every_table_of_a_topic_is_looked_at(tmp_path: Path) -> None:
    """Records of two writers' schemas go by their time alike, and a reader holds each table for itself."""
    topic, clock = filled(tmp_path)
    clock.now += 60
    add(topic, 10, [1000], WIDER)
    reader = reader_at(topic, 10)  # it has not read the second table
    dropped = topic.purge([reader])
    assert (dropped.records, dropped.held) == (100, {"average.readings": 1})
    assert ids_of(topic.scan(READING)) == [1000]


def test_dropped_files_are_deleted_at_once_when_nobody_uses_the_topic(tmp_path: Path) -> None:
    """`sweep` gives the space back; what is left is readable."""
    topic, clock = filled(tmp_path)
    topic.purge([reader_at(topic, 6)], before=None)
    folder = topic.path / READING.fingerprint / "data"
    assert len(list(folder.rglob("*.parquet"))) == 10
    topic.sweep()
    assert len(list(folder.rglob("*.parquet"))) == 4
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
def test_a_kill_while_purging_tells_the_truth(tmp_path: Path, point: str, left: int) -> None:
    """Killed at each step, records are there or not, wholly; a reader is told that it missed them only when they are
    gone, and when the purge is done again it is told once."""
    topic, _ = filled(tmp_path)
    assert run(PURGE, str(tmp_path), at=point).returncode == -signal.SIGKILL
    assert topic.lag(None).records == left
    if left:
        assert list(topic.missed()) == []
        topic.purge([reader_at(topic, 4)], force=True)
    assert [missed.records for missed in topic.missed()] == [60]
    assert list(topic.missed()) == []
