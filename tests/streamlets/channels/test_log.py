"""The log of a topic, without Spark: commits, positions, limits, cleaned logs, deleted directories."""

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

from streamlets.channels.base import Lag, TopicLostError
from streamlets.channels.delta.actions import DataFile, Txn
from streamlets.channels.delta.channel import DeltaChannel
from streamlets.channels.delta.integrity import LOG, last_checkpoint
from streamlets.channels.delta.log import TopicLog
from streamlets.channels.delta.maintenance import Upkeep, maintain_topic
from streamlets.channels.delta.offsets import Offset, Place
from streamlets.channels.delta.table import open_table
from tests.random_examples import examples
from tests.streamlets.channels.topics import READING, WIDER, Clock, add, append, batch, ids_of, made, topic_plan

EAGER = Upkeep(checkpoint_every=3, keep_log=-1e12, keep_orphans=-1e12, sweep_every=-1)


def test_records_come_back_in_commit_order(tmp_path: Path) -> None:
    """A scan yields records in the order of their commits."""
    topic = made(tmp_path)
    for number in range(5):
        add(topic, number, range(number * 10, number * 10 + 10))
    assert ids_of(topic.scan()) == list(range(50))


def test_a_transaction_happens_once(tmp_path: Path) -> None:
    """A repeated transaction writes nothing, and does not iterate its records."""
    topic = made(tmp_path)
    add(topic, 7, [1, 2])
    end = topic.end()

    def unasked() -> Iterator[Any]:
        raise AssertionError
        yield

    assert not append(topic, unasked(), READING, 7)
    assert not append(topic, unasked(), READING, 3)
    assert topic.end() == end
    assert append(topic, [batch([3])], READING, 3, writer="another")
    assert ids_of(topic.scan()) == [1, 2, 3]


def test_an_empty_append_stores_its_transaction(tmp_path: Path) -> None:
    """A transaction without records is stored like any other, and later records can be read."""
    topic = made(tmp_path)
    append(topic, [], READING, 1)
    add(topic, 1, [1])
    add(topic, 2, [2])
    assert ids_of(topic.scan()) == [2]


def test_lag_counts_the_records_after_a_position(tmp_path: Path) -> None:
    """The lag is the number of unread records and the age of the oldest one, 0 at the end."""
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


def test_the_lag_of_named_readers(tmp_path: Path) -> None:
    """The lag with the name of a reader equals the lag without: for two readers at different positions, and for one
    that moves back."""
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
    return sum(isinstance(value, DataFile) for value in gc.get_objects())


def test_commits_that_all_readers_have_read_are_not_kept_in_memory(tmp_path: Path) -> None:
    """Of a topic whose readers keep up, a runner has only the last commits in memory, because it runs for months."""
    topic, before = made(tmp_path), _files_in_memory()
    for n in range(40):
        add(topic, n, [n])
        assert topic.lag(topic.end(), reader="reader").records == 0
        topic.maintain()
        assert list(topic.missed()) == []
    assert _files_in_memory() - before < 5
    assert topic.lag(None).records == 40


def test_scan_between_two_positions(tmp_path: Path) -> None:
    """A scan begins after `after` and ends at `until`."""
    topic = made(tmp_path)
    ends = []
    for number in range(4):
        add(topic, number, [number])
        ends.append(topic.end())
    assert ids_of(topic.scan(after=ends[0], until=ends[2])) == [1, 2]
    assert ids_of(topic.scan(after=ends[3])) == []


def test_each_writer_schema_has_its_own_table(tmp_path: Path) -> None:
    """A topic with records of two contracts has two Delta tables; a scan without a reader yields both schemas."""
    topic = made(tmp_path)
    add(topic, 1, [1])
    add(topic, 2, [2], WIDER)
    tables = {p.name for p in topic.path.iterdir() if p.is_dir()}
    assert tables == {READING.fingerprint, WIDER.fingerprint}
    assert [b.schema.names for b in topic.scan()] == [["id", "src"], ["id", "src", "value"]]


def test_delta_rs_reads_our_tables(tmp_path: Path) -> None:
    """Another Delta implementation reads the same rows, and the configuration of the table has the contract."""
    topic = made(tmp_path)
    for number in range(10):
        add(topic, number, [number])
    table = DeltaTable(topic.path / READING.fingerprint)
    assert sorted(table.to_pyarrow_table().column("id").to_pylist()) == list(range(10))
    assert table.metadata().configuration["streamlets.contract"] == READING.json
    assert table.version() == 10


def test_delta_rs_reads_a_cleaned_log(tmp_path: Path) -> None:
    """Checkpoints conform to Delta: another implementation reads a table whose log was cleaned."""
    topic = made(tmp_path)
    for number in range(10):
        add(topic, number, [number])
        maintain_topic(topic.path, tmp_path / "_staged", Clock(), EAGER)
    directory = topic.path / READING.fingerprint
    assert last_checkpoint(directory) == 9
    assert not (directory / LOG / f"{5:020}.json").exists()
    table = DeltaTable(directory)
    assert sorted(table.to_pyarrow_table().column("id").to_pylist()) == list(range(10))
    assert table.transaction_version("w") == 9


def test_concurrent_writers(tmp_path: Path) -> None:
    """Writers that commit at the same time get different versions; no record is lost or duplicated."""
    topic = made(tmp_path)

    def write(writer: int) -> None:
        own = DeltaChannel(tmp_path).topic(topic_plan("readings"))
        for number in range(20):
            append(own, [batch([writer * 100 + number])], READING, number, writer=f"w{writer}")

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(ids_of(topic.scan())) == sorted(w * 100 + n for w in range(4) for n in range(20))
    assert DeltaTable(topic.path / READING.fingerprint).version() == 80


def test_a_writer_continues_from_the_checkpoint_of_a_cleaned_log(tmp_path: Path) -> None:
    """A table whose next commits were cleaned has the versions and transactions of the checkpoint."""
    topic = made(tmp_path)
    add(topic, 0, [0])
    slow = open_table(topic.path / READING.fingerprint, files=False)
    for number in range(1, 10):
        add(topic, number, [number])
    maintain_topic(topic.path, tmp_path / "_staged", Clock(), EAGER)
    assert slow.version == 1
    slow.refresh()
    assert (slow.version, slow.txns) == (10, {"w": Txn("w", 9)})
    assert not slow.append([], Txn("w", 9), Clock())


@settings(max_examples=examples(25), deadline=None)
@given(
    commits=st.lists(st.tuples(st.sampled_from([READING, WIDER]), st.integers(0, 6)), min_size=1, max_size=12),
    limits=st.lists(st.integers(1, 9), min_size=1, max_size=6),
    upkeep_at=st.sets(st.integers(0, 11), max_size=3),
)
def test_limited_steps_cover_a_topic_exactly(commits, limits, upkeep_at) -> None:  # type: ignore[no-untyped-def]
    """For all commits, limits and cleaning: a step has more records than its limit only if it is a single commit. Steps
    do not overlap, omit no record, keep the order of commits and end at the end of the topic. A reader that starts at
    the end of any step reads the same."""
    with tempfile.TemporaryDirectory() as directory:
        topic = made(Path(directory))
        expected: list[int] = []
        for number, (of, count) in enumerate(commits):
            appended = range(number * 10, number * 10 + count)
            add(topic, number, appended, of)
            expected += appended
            if number in upkeep_at:
                maintain_topic(topic.path, Path(directory) / "_staged", Clock(), EAGER)
        log = TopicLog(topic.path)
        log.refresh()
        place, seen = Offset(log.id), []
        for step in range(1000):
            limit = limits[step % len(limits)]
            after = place.joined(log.advance(place, limit, log.end()))
            if after == place:
                break
            ids = ids_of(topic.scan(after=place.to_position(), until=after.to_position()))
            assert len(ids) <= limit or len({id // 10 for id in ids}) == 1
            assert log.count(place, after) == len(ids)
            restarted = TopicLog(topic.path, after)
            restarted.refresh()
            restarted.check(after)
            assert restarted.end() == log.end()
            assert restarted.count(after, restarted.end()) == log.count(after, log.end())
            seen += ids
            place = Offset.from_dict(json.loads(json.dumps(after.to_dict())))
        assert seen == expected
        assert place == log.end()


def test_reading_new_commits_lists_no_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the directory of the topic has not changed for some time, a reader reads new commits without listing it."""
    topic = made(tmp_path)
    add(topic, 1, [1])
    (topic.path / "_missed").mkdir()
    log = TopicLog(topic.path, clock=lambda: topic.path.stat().st_mtime + 10)
    log.refresh()
    add(topic, 2, [2])

    def listed(*_: object) -> None:
        raise AssertionError("a directory was listed")

    monkeypatch.setattr(Path, "iterdir", listed)
    monkeypatch.setattr(os, "scandir", listed)
    monkeypatch.setattr(os, "listdir", listed)
    log.refresh()
    assert log.end().place(READING.fingerprint) == Place(3, 0)


def test_a_deleted_topic_is_an_error_of_one_line(tmp_path: Path) -> None:
    """Readers, writers and `end` of a topic whose directory was deleted report this, with help."""
    topic = made(tmp_path)
    add(topic, 1, [1])
    log = TopicLog(topic.path)
    log.refresh()
    shutil.rmtree(topic.path)
    for operation in (log.refresh, topic.end, lambda: add(topic, 2, [2])):
        with pytest.raises(TopicLostError, match=r"of topic `readings` was deleted or replaced.*--fresh") as error:
            operation()
        assert "\n" not in str(error.value)
    assert not topic.path.exists()


def test_a_deleted_table_is_an_error(tmp_path: Path) -> None:
    """A reader whose table was deleted fails instead of waiting for new commits forever."""
    topic = made(tmp_path)
    add(topic, 1, [1])
    log = TopicLog(topic.path)
    log.refresh()
    shutil.rmtree(topic.path / READING.fingerprint)
    with pytest.raises(TopicLostError, match=f"the table `{READING.fingerprint}` of topic `readings` was deleted"):
        log.refresh()


def test_a_topic_that_was_created_again_is_another_topic(tmp_path: Path) -> None:
    """A position is not valid in a topic that was deleted and created again with the same name."""
    topic = made(tmp_path)
    add(topic, 1, [1])
    place = topic.end()
    shutil.rmtree(topic.path)
    topic = made(tmp_path)
    add(topic, 2, [2])
    with pytest.raises(TopicLostError, match="was deleted and created again after it was read"):
        list(topic.scan(after=place))


def test_creating_again_keeps_the_topic(tmp_path: Path) -> None:
    """Creating a topic that exists changes nothing."""
    topic = made(tmp_path)
    add(topic, 1, [1])
    end = topic.end()
    topic.create()
    assert made(tmp_path).end() == end


def test_an_external_topic_is_not_created(tmp_path: Path) -> None:
    """If a topic that another application manages does not exist, this is an error, and the topic is not created."""
    topic = DeltaChannel(tmp_path).topic(topic_plan("theirs", managed=False))
    with pytest.raises(TopicLostError, match="theirs"):
        topic.create()
    assert not topic.path.exists()


def test_only_orphans_are_swept(tmp_path: Path) -> None:
    """A sweep deletes only files that neither the log nor a manifest refers to."""
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
    """The next checkpoint depends on the size of the last one, not on the number of all commits."""
    topic = made(tmp_path)
    add(topic, 0, [1])
    table = open_table(topic.path / READING.fingerprint, files=False)
    for commits in (3000, 3120):
        for number in range(table.version, commits):
            table.append([], Txn("w", number), Clock())
        topic.maintain()
        assert last_checkpoint(table.path) == commits


def test_maintenance_keeps_new_files(tmp_path: Path) -> None:
    """A file that may belong to a running batch is kept, even if the log does not have it."""
    topic = made(tmp_path)
    add(topic, 1, [1])
    new = topic.path / READING.fingerprint / "data" / "part-0.parquet"
    new.write_bytes(b"running batch")
    topic.maintain()
    assert new.exists()


def test_a_table_without_a_first_commit_is_found_later(tmp_path: Path) -> None:
    """The directory of a table exists before its first commit. A reader that lists it in between lists it again."""
    topic = made(tmp_path)
    add(topic, 1, [1])
    hidden, table = tmp_path / "hidden", topic.path / READING.fingerprint
    table.rename(hidden)
    table.mkdir()
    log = TopicLog(topic.path, clock=lambda: 4e9)
    log.refresh()
    assert not log.tables
    for part in hidden.iterdir():
        part.rename(table / part.name)
    log.refresh()
    assert log.count(Offset(log.id), log.end()) == 1


def test_a_table_is_found_that_was_created_in_the_tick_of_the_last_listing(tmp_path: Path) -> None:
    """A recent modification time is not trusted, because an entry added in the same tick does not change it."""
    topic = made(tmp_path)
    young = topic.path.stat().st_mtime_ns
    log = TopicLog(topic.path, clock=lambda: young / 1e9 + 1)
    log.refresh()
    add(topic, 1, [1])
    os.utime(topic.path, ns=(young, young))
    log.refresh()
    assert log.count(Offset(log.id), log.end()) == 1
