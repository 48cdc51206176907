"""A topic's log without Spark: commits, positions, limits, cleaned logs, lost folders."""

from __future__ import annotations

import gc
import json
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlets.channels.base import Lag, TopicLostError, Txn
from streamlets.channels.delta import DeltaChannel
from streamlets.channels.delta.actions import DataFile
from streamlets.channels.delta.log import TopicLog
from streamlets.channels.delta.maintenance import Upkeep, last_checkpoint, maintain_topic
from streamlets.channels.delta.offsets import Offset, Place
from streamlets.channels.delta.table import LOG, open_table
from tests.random_examples import examples
from tests.streamlets.channels.topics import READING, WIDER, Clock, add, batch, ids_of, made, topic_plan

EAGER = Upkeep(checkpoint_every=3, keep_log=-1e12, keep_orphans=-1e12, sweep_every=-1)


def test_records_come_back_in_commit_order(tmp_path: Path) -> None:
    """What was appended is scanned in the order of the commits."""
    topic = made(tmp_path)
    for number in range(5):
        add(topic, number, range(number * 10, number * 10 + 10))
    assert ids_of(topic.scan()) == list(range(50))


def test_a_transaction_happens_once(tmp_path: Path) -> None:
    """The same transaction again writes nothing and does not even ask for its records."""
    topic = made(tmp_path)
    add(topic, 7, [1, 2])
    end = topic.end()

    def unasked() -> Iterator[Any]:
        raise AssertionError
        yield

    assert topic.append(unasked(), READING, Txn("w", 7)) == end
    assert topic.append(unasked(), READING, Txn("w", 3)) == end
    assert topic.append([batch([3])], READING, Txn("another", 3)) != end
    assert ids_of(topic.scan()) == [1, 2, 3]


def test_an_empty_append_leaves_no_record_but_its_transaction(tmp_path: Path) -> None:
    """A transaction without records is remembered like any other, and the topic's end stays readable."""
    topic = made(tmp_path)
    topic.append([], READING, Txn("w", 1))
    add(topic, 1, [1])
    add(topic, 2, [2])
    assert ids_of(topic.scan()) == [2]


def test_lag_counts_what_lies_behind_a_position(tmp_path: Path) -> None:
    """Lag is the number of records not read yet and the age of the oldest one; 0 at the end."""
    topic = made(tmp_path)
    assert topic.lag(None) == Lag(0, 0.0)
    add(topic, 1, range(10))
    middle = topic.end()
    add(topic, 2, range(5))
    assert topic.lag(None).records == 15
    lag = topic.lag(middle)
    assert lag.records == 5
    assert lag.seconds is not None and lag.seconds > 0
    assert topic.lag(topic.end()) == Lag(0, 0.0)


def test_the_lag_of_readers_that_go_on(tmp_path: Path) -> None:
    """Asked for again and again by the name of a reader it is what it is when asked once: of two readers at two places,
    and of one that goes back."""
    topic = made(tmp_path)
    places = [topic.end()]
    for n in range(1, 9):
        add(topic, n, range(n))
        places.append(topic.end())
        for reader, at in (("fast", places[-1]), ("slow", places[1 + n // 2])):
            assert topic.lag(at, reader=reader).records == topic.lag(at).records
    assert topic.lag(places[2], reader="fast").records == topic.lag(places[2]).records == 3 + 4 + 5 + 6 + 7 + 8
    assert topic.lag(None, reader="fast").records == 36


def _files_in_memory() -> int:
    gc.collect()
    return sum(isinstance(each, DataFile) for each in gc.get_objects())


def test_what_all_have_passed_is_not_kept_in_memory(tmp_path: Path) -> None:
    """A runner lives for months: of a topic whose readers keep up it remembers the last commits, not all of them."""
    topic, before = made(tmp_path), _files_in_memory()
    for n in range(40):
        add(topic, n, [n])
        assert topic.lag(topic.end(), reader="reader").records == 0
        topic.maintain()
        assert list(topic.missed()) == []
    assert _files_in_memory() - before < 5
    assert topic.lag(None).records == 40


def test_scan_between_two_positions(tmp_path: Path) -> None:
    """A scan begins behind `after` and ends at `until`."""
    topic = made(tmp_path)
    ends = []
    for number in range(4):
        add(topic, number, [number])
        ends.append(topic.end())
    assert ids_of(topic.scan(after=ends[0], until=ends[2])) == [1, 2]
    assert ids_of(topic.scan(after=ends[3])) == []


def test_each_writer_schema_has_its_own_table(tmp_path: Path) -> None:
    """Two contracts on one topic make two Delta tables; a scan as written yields both schemas."""
    topic = made(tmp_path)
    add(topic, 1, [1])
    add(topic, 2, [2], WIDER)
    tables = {p.name for p in topic.path.iterdir() if p.is_dir()}
    assert tables == {READING.fingerprint, WIDER.fingerprint}
    assert [b.schema.names for b in topic.scan()] == [["id", "src"], ["id", "src", "value"]]


def test_delta_rs_reads_our_tables(tmp_path: Path) -> None:
    """Another Delta implementation reads the same rows, and finds the contract in the table's configuration."""
    topic = made(tmp_path)
    for number in range(10):
        add(topic, number, [number])
    table = DeltaTable(topic.path / READING.fingerprint)
    assert sorted(table.to_pyarrow_table().column("id").to_pylist()) == list(range(10))
    assert table.metadata().configuration["streamlets.contract"] == READING.json
    assert table.version() == 10


def test_delta_rs_reads_a_cleaned_log(tmp_path: Path) -> None:
    """Our checkpoints are Delta checkpoints: with the log before them cleaned, another implementation still reads."""
    topic = made(tmp_path)
    for number in range(10):
        add(topic, number, [number])
        maintain_topic(topic.path, tmp_path / "_staged", Clock(), EAGER)
    folder = topic.path / READING.fingerprint
    assert last_checkpoint(folder) == 9
    assert not (folder / LOG / f"{5:020}.json").exists()
    table = DeltaTable(folder)
    assert sorted(table.to_pyarrow_table().column("id").to_pylist()) == list(range(10))
    assert table.transaction_version("w") == 9


def test_two_writers_at_once(tmp_path: Path) -> None:
    """Writers that commit at the same time each get their versions; nothing is lost or doubled."""
    topic = made(tmp_path)

    def write(writer: int) -> None:
        own = DeltaChannel(tmp_path).topic(topic_plan("readings"))
        for number in range(20):
            own.append([batch([writer * 100 + number])], READING, Txn(f"w{writer}", number))

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(ids_of(topic.scan())) == sorted(w * 100 + n for w in range(4) for n in range(20))
    assert DeltaTable(topic.path / READING.fingerprint).version() == 80


def test_a_writer_left_behind_by_cleaning_finds_its_transactions(tmp_path: Path) -> None:
    """A table whose next commits were cleaned goes on from the checkpoint: versions and transactions are right."""
    topic = made(tmp_path)
    add(topic, 0, [0])
    slow = open_table(topic.path / READING.fingerprint, files=False)
    for number in range(1, 10):
        add(topic, number, [number])
    maintain_topic(topic.path, tmp_path / "_staged", Clock(), EAGER)
    assert slow.version == 1
    slow.refresh()
    assert (slow.version, slow.txns) == (10, {"w": 9})
    assert not slow.append([], Txn("w", 9), Clock())


@settings(max_examples=examples(25), deadline=None)
@given(
    commits=st.lists(st.tuples(st.sampled_from([READING, WIDER]), st.integers(0, 6)), min_size=1, max_size=12),
    limits=st.lists(st.integers(1, 9), min_size=1, max_size=6),
    upkeep_at=st.sets(st.integers(0, 11), max_size=3),
)
def test_limited_steps_cover_a_topic_exactly(commits, limits, upkeep_at) -> None:  # type: ignore[no-untyped-def]
    """Whatever the commits, limits and cleaning: steps have more records than their limit only where they are a single
    commit, never overlap or leave anything out, keep the order of commits, end at the topic's end, and a reader that
    starts from any step's place agrees."""
    with tempfile.TemporaryDirectory() as folder:
        topic = made(Path(folder))
        expected: list[int] = []
        for number, (of, count) in enumerate(commits):
            ids = range(number * 10, number * 10 + count)
            add(topic, number, ids, of)
            expected += ids
            if number in upkeep_at:
                maintain_topic(topic.path, Path(folder) / "_staged", Clock(), EAGER)
        log = TopicLog(topic.path)
        log.refresh()
        place, seen = Offset(log.id), []
        for step in range(1000):
            limit = limits[step % len(limits)]
            after = place.joined(log.advance(place, limit, log.end()))
            if after == place:
                break
            found = ids_of(topic.scan(after=place.to_position(), until=after.to_position()))
            assert len(found) <= limit or len({id // 10 for id in found}) == 1
            assert log.count(place, after) == len(found)
            anew = TopicLog(topic.path, after)
            anew.refresh()
            anew.check(after)
            assert anew.end() == log.end()
            assert anew.count(after, anew.end()) == log.count(after, log.end())
            seen += found
            place = Offset.from_dict(json.loads(json.dumps(after.to_dict())))
        assert seen == expected
        assert place == log.end()


def test_looking_for_news_lists_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that knows the topic, whose folder has rested for a while, finds news without listing a folder."""
    topic = made(tmp_path)
    add(topic, 1, [1])
    (topic.path / "_missed").mkdir()
    log = TopicLog(topic.path, clock=lambda: topic.path.stat().st_mtime + 10)
    log.refresh()
    add(topic, 2, [2])

    def listed(*_: object) -> None:
        raise AssertionError("a folder was listed")

    monkeypatch.setattr(Path, "iterdir", listed)
    monkeypatch.setattr(os, "scandir", listed)
    monkeypatch.setattr(os, "listdir", listed)
    log.refresh()
    assert log.end().place(READING.fingerprint) == Place(3, 0)


def test_a_deleted_topic_is_told_in_one_line(tmp_path: Path) -> None:
    """Readers, writers and the end of a topic whose folder was deleted say so, and how to go on."""
    topic = made(tmp_path)
    add(topic, 1, [1])
    log = TopicLog(topic.path)
    log.refresh()
    shutil.rmtree(topic.path)
    for ask in (log.refresh, topic.end, lambda: add(topic, 2, [2])):
        with pytest.raises(TopicLostError, match=r"of topic `readings` was deleted or replaced.*--fresh") as error:
            ask()
        assert "\n" not in str(error.value)
    assert not topic.path.exists()


def test_a_deleted_table_is_told(tmp_path: Path) -> None:
    """A reader whose table was deleted below it does not wait for news for ever."""
    topic = made(tmp_path)
    add(topic, 1, [1])
    log = TopicLog(topic.path)
    log.refresh()
    shutil.rmtree(topic.path / READING.fingerprint)
    with pytest.raises(TopicLostError, match=f"the table `{READING.fingerprint}` of topic `readings` was deleted"):
        log.refresh()


def test_a_topic_made_again_is_another_topic(tmp_path: Path) -> None:
    """A position does not fit a topic that was deleted and made again under the same name."""
    topic = made(tmp_path)
    add(topic, 1, [1])
    place = topic.end()
    shutil.rmtree(topic.path)
    topic = made(tmp_path)
    add(topic, 2, [2])
    with pytest.raises(TopicLostError, match="was deleted and created again after it was read"):
        list(topic.scan(after=place))


def test_creating_again_keeps_the_topic(tmp_path: Path) -> None:
    """Creating a topic that is there changes nothing."""
    topic = made(tmp_path)
    add(topic, 1, [1])
    end = topic.end()
    topic.create()
    assert made(tmp_path).end() == end


def test_an_external_topic_is_not_made(tmp_path: Path) -> None:
    """A topic that is managed elsewhere and is not there is an error, not made."""
    topic = DeltaChannel(tmp_path).topic(topic_plan("theirs", managed=False))
    with pytest.raises(TopicLostError, match="theirs"):
        topic.create()
    assert not topic.path.exists()


def test_orphans_are_swept_and_named_files_are_not(tmp_path: Path) -> None:
    """Sweeping removes files that neither the log nor a manifest names, and no other."""
    topic = made(tmp_path)
    add(topic, 1, [1])
    data = topic.path / READING.fingerprint / "data"
    orphan, staged = data / "q" / "0" / "part-0.parquet", data / "q" / "1" / "part-1.parquet"
    for path in (orphan, staged):
        path.parent.mkdir(parents=True)
        path.write_bytes(b"rest")
    from streamlets.channels.delta.actions import DataFile
    from streamlets.channels.delta.manifest import Manifest, Manifests

    file = DataFile("data/q/1/part-1.parquet", 4, (1,))
    Manifests(tmp_path / "_staged" / "q").decide(1, Manifest({f"readings/{READING.fingerprint}": (file,)}))
    maintain_topic(topic.path, tmp_path / "_staged", lambda: 4e9, Upkeep())
    assert not orphan.exists()
    assert staged.exists()
    assert ids_of(topic.scan()) == [1]


def test_checkpoints_of_a_topic_that_drops_records_do_not_become_rare(tmp_path: Path) -> None:
    """The next checkpoint comes by the size of the last one, not by the number of commits ever made."""
    topic = made(tmp_path)
    add(topic, 0, [1])
    table = open_table(topic.path / READING.fingerprint, files=False)
    for commits in (3000, 3120):
        for number in range(table.version, commits):
            table.append([], Txn("w", number), Clock())
        topic.maintain()
        assert last_checkpoint(table.path) == commits


def test_maintenance_leaves_young_files_alone(tmp_path: Path) -> None:
    """A file that may belong to a batch under way stays, whatever the log says."""
    topic = made(tmp_path)
    add(topic, 1, [1])
    young = topic.path / READING.fingerprint / "data" / "part-0.parquet"
    young.write_bytes(b"under way")
    topic.maintain()
    assert young.exists()


def test_a_table_is_found_however_late_its_first_commit_comes(tmp_path: Path) -> None:
    """A table's folder is there before its first commit: a reader that looks in between looks again."""
    topic = made(tmp_path)
    add(topic, 1, [1])
    hidden, commits = tmp_path / "hidden", topic.path / READING.fingerprint / LOG
    commits.rename(hidden)
    log = TopicLog(topic.path, clock=lambda: 4e9)
    log.refresh()
    assert not log.tables
    hidden.rename(commits)
    log.refresh()
    assert log.count(Offset(log.id), log.end()) == 1


def test_a_table_is_found_that_was_made_in_the_tick_of_the_look_before(tmp_path: Path) -> None:
    """A folder's time of change tells nothing while it is young: what came in the same tick did not change it."""
    topic = made(tmp_path)
    young = topic.path.stat().st_mtime_ns
    log = TopicLog(topic.path, clock=lambda: young / 1e9 + 1)
    log.refresh()
    add(topic, 1, [1])
    os.utime(topic.path, ns=(young, young))
    log.refresh()
    assert log.count(Offset(log.id), log.end()) == 1
