"""Appending to Delta tables without Spark: repeated and fenced writes, markers, several schemas, cleaned logs."""

from __future__ import annotations

import signal
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from blueprint.avro.model import Contract
from streamlets.channels.base import Position, TopicWriteError, WriterFencedError, WrittenBatch
from streamlets.channels.delta.integrity import commit_path
from streamlets.channels.delta.maintenance import Upkeep, maintain_topic
from streamlets.channels.delta.table import Table
from streamlets.channels.delta.topic import DeltaTopic
from tests.streamlets.channels.test_crash import run
from tests.streamlets.channels.topics import READING, WIDER, Clock, add, batch, ids_of, made

EAGER = Upkeep(checkpoint_every=1, keep_log=-1e12, sweep_every=1e12, compaction=None)


def clean_log(topic: DeltaTopic) -> None:
    """Write a checkpoint, and delete the commits before it."""
    maintain_topic(topic.path, topic.path.parent / "_staged", Clock(), EAGER)


def data_files(topic: DeltaTopic) -> list[Path]:
    """Return the data files of a topic, whether a commit refers to them or not."""
    return list(topic.path.rglob("data/append/*.parquet"))


def test_a_writer_knows_its_last_append_with_any_contract(tmp_path: Path) -> None:
    """A writer that changes its contract continues after its last sequence, and has its last marker."""
    topic = made(tmp_path)
    with topic.appender(READING, writer="w") as appender:
        assert appender.append([batch([1])], 5, marker=b"five")
    with topic.appender(WIDER, writer="w") as appender:
        assert (appender.last, appender.marker) == (5, b"five")
        assert not appender.append([batch([2], WIDER)], 5)
        assert appender.append([batch([2], WIDER)], 6)
    assert topic.appender(READING, writer="w").last == 6
    assert topic.appender(READING, writer="w").marker == b"five"
    assert ids_of(topic.scan()) == [1, 2]


@pytest.mark.parametrize(("older", "newer"), [(READING, READING), (READING, WIDER), (WIDER, READING)])
def test_a_writer_is_fenced_in_every_table(tmp_path: Path, older: Contract, newer: Contract) -> None:
    """A writer with a higher epoch fences the older ones, also those with another contract."""
    topic = made(tmp_path)
    old = topic.appender(older, writer="w", epoch=1)
    new = topic.appender(newer, writer="w", epoch=2)
    with pytest.raises(WriterFencedError, match=r"`w` of topic `readings` with epoch 1 was fenced.*with epoch 2"):
        old.append([batch([1], older)], 0)
    assert new.append([batch([2], newer)], 0)
    assert ids_of(topic.scan()) == [2]
    assert len(data_files(topic)) == 1
    with pytest.raises(WriterFencedError):
        topic.appender(older, writer="w", epoch=1)


def test_epoch_and_marker_survive_the_cleaning_of_the_log(tmp_path: Path) -> None:
    """The checkpoint of a table has them, and other Delta readers can read it and the commits."""
    topic = made(tmp_path)
    with topic.appender(READING, writer="w", epoch=7) as appender:
        for number in range(5):
            appender.append([batch([number])], number, marker=bytes([number, 255]))
    table = topic.path / READING.fingerprint
    assert DeltaTable(table).to_pyarrow_table().num_rows == 5
    clean_log(topic)
    assert not commit_path(table, 2).exists()
    assert DeltaTable(table).to_pyarrow_table().num_rows == 5
    with pytest.raises(WriterFencedError):
        topic.appender(READING, writer="w", epoch=6)
    appender = topic.appender(READING, writer="w", epoch=7)
    assert (appender.last, appender.marker) == (4, b"\x04\xff")


def test_a_claim_is_not_listed_as_a_writer(tmp_path: Path) -> None:
    """A writer that has opened a topic but not written to it is not in its summary."""
    topic = made(tmp_path)
    add(topic, 1, [1])
    topic.appender(READING, writer="waiting", epoch=1)
    assert topic.summary().writers[0].queries == ("w",)


@pytest.mark.parametrize("contracts", [(READING, READING), (READING, WIDER)])
def test_of_racing_writers_only_the_newest_publishes(tmp_path: Path, contracts: tuple[Contract, Contract]) -> None:
    """Writers of one id with rising epochs append in threads. What an append reported as committed is in the topic, and
    nothing else; in a table, no record of an epoch follows one of a higher epoch; the highest epoch is never fenced."""
    topic = made(tmp_path)
    barrier, published = threading.Barrier(4), dict[int, list[int]]()

    def write(epoch: int) -> None:
        contract = contracts[epoch % 2]
        own, written = made(tmp_path), published.setdefault(epoch, [])
        barrier.wait(600)
        try:
            appender = own.appender(contract, writer="w", epoch=epoch)
            for _ in range(30):
                number = 0 if appender.last is None else appender.last + 1
                if appender.append([batch([epoch * 10_000 + number], contract)], number):
                    written.append(epoch * 10_000 + number)
        except WriterFencedError:
            assert epoch < 4

    threads = [threading.Thread(target=write, args=(epoch,)) for epoch in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(published[4]) == 30
    assert sorted(ids_of(topic.scan())) == sorted(id for written in published.values() for id in written)
    for contract in contracts:
        epochs = [id // 10_000 for id in ids_in(topic, contract)]
        assert epochs == sorted(epochs)


def ids_in(topic: DeltaTopic, contract: Contract) -> list[int]:
    """Return the ids in the table of a contract, in the order of its commits."""
    rows = [row for batch in topic.scan(metadata=True) for row in batch.to_pylist()]
    return [row["id"] for row in rows if row["_meta"]["position"].startswith(f"{contract.fingerprint}/")]


APPEND = """
import sys
from pathlib import Path
from tests.streamlets.channels.topics import READING, batch, made
topic = made(Path(sys.argv[1]))
with topic.appender(READING, writer="w", epoch=int(sys.argv[2])) as appender:
    next = int(appender.marker or 0)
    for number in range(next, 5):
        assert appender.append([batch([number])], number, marker=b"%d" % (number + 1))
assert "pyspark" not in sys.modules
"""


@pytest.mark.parametrize(
    "point", ["after-append-file", "after-append-file:3", "after-append-commit", "after-append-commit:3",
              *(f"during-rename:{number}" for number in range(1, 9))],
)  # fmt: skip
def test_a_killed_writer_continues(tmp_path: Path, point: str) -> None:
    """A writer that is killed at any step and starts again with the next epoch appends each record once, and finds the
    marker that belongs to its last append."""
    assert run(APPEND, str(tmp_path), "1", at=point).returncode == -signal.SIGKILL
    again = run(APPEND, str(tmp_path), "2", at="never")
    assert again.returncode == 0, again.stderr
    assert ids_of(made(tmp_path).scan()) == list(range(5))


def test_appending_does_not_import_spark(tmp_path: Path) -> None:
    """A producer starts without the second that the import of pyspark takes; the program checks it at its end."""
    ended = run(APPEND, str(tmp_path), "0", at="never")
    assert ended.returncode == 0, ended.stderr


def test_a_writer_that_slept_over_the_cleaning_of_the_log_appends_at_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process is suspended between reading the log and its commit, and the version that it writes is cleaned in the
    meantime. The commit is repeated at the end of the log, where readers find it."""
    topic = made(tmp_path)
    slow = topic.appender(READING, writer="slow")
    commit, slept = Table.commit, list[int]()

    def sleep(table: Table, version: int, data: bytes) -> bool:
        if not slept:
            slept.append(version)
            for number in range(3):
                add(topic, number, [number])
            clean_log(topic)
            add(topic, 3, [3])
        return commit(table, version, data)

    monkeypatch.setattr(Table, "commit", sleep)
    assert slow.append([batch([9])], 0)
    assert slept == [1]
    assert ids_of(made(tmp_path).scan()) == [0, 1, 2, 3, 9]
    assert not slow.append([batch([9])], 0)


def test_a_writer_that_slept_over_the_cleaning_of_the_log_is_fenced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same, but another instance of the writer has taken over in the meantime: nothing is published."""
    topic = made(tmp_path)
    slow = topic.appender(READING, writer="w", epoch=1)
    commit, slept = Table.commit, list[int]()

    def sleep(table: Table, version: int, data: bytes) -> bool:
        if not slept:
            slept.append(version)
            with topic.appender(READING, writer="w", epoch=2) as newer:
                for number in range(3):
                    newer.append([batch([number])], number)
            clean_log(topic)
        return commit(table, version, data)

    monkeypatch.setattr(Table, "commit", sleep)
    with pytest.raises(WriterFencedError):
        slow.append([batch([9])], 0)
    assert ids_of(made(tmp_path).scan()) == [0, 1, 2]
    assert not commit_path(topic.path / READING.fingerprint, slept[0]).exists()
    assert len(data_files(topic)) == 3


def test_a_checkpoint_right_after_a_commit_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log is cleaned up to a commit just after it was written: its records stay in the topic."""
    topic = made(tmp_path)
    appender = topic.appender(READING, writer="w")
    commit = Table.commit

    def clean(table: Table, version: int, data: bytes) -> bool:
        committed = commit(table, version, data)
        clean_log(topic)
        return committed

    monkeypatch.setattr(Table, "commit", clean)
    assert appender.append([batch([9])], 100)
    assert appender.append([batch([10])], 101)
    assert ids_of(made(tmp_path).scan()) == [9, 10]


def test_a_failed_append_publishes_nothing_and_can_be_repeated(tmp_path: Path) -> None:
    """If the records cannot be written, no file remains, and the same sequence is accepted later."""
    topic = made(tmp_path)
    appender = topic.appender(READING, writer="w")

    def broken() -> Iterator[pa.RecordBatch]:
        yield batch([1])
        raise OSError(28, "No space left on device")

    with pytest.raises(TopicWriteError, match="No space left on device; no record was published"):
        appender.append(broken(), 0)
    assert not data_files(topic)
    assert appender.append([batch([1])], 0)
    assert ids_of(topic.scan()) == [1]


def test_commits_name_the_batches_that_wrote_records(tmp_path: Path) -> None:
    """Also in parts of a topic, and no more than asked for; other writers and cleaned commits name none."""
    topic = made(tmp_path)
    first, second = str(uuid.UUID(int=1)), str(uuid.UUID(int=2))
    ends: list[Position | None] = [None]
    for writer, number in ((f"a.out-{first}", 0), (f"a.out-{first}", 1), ("spout", 7), (f"b.out-{second}", 4)):
        with topic.appender(READING, writer=writer) as appender:
            appender.append([batch([number])], number)
        ends.append(topic.end())
    end = topic.end()
    newest = [WrittenBatch(second, 4), WrittenBatch(first, 1), WrittenBatch(first, 0)]
    assert list(topic.written_by(None, end, 10)) == newest
    assert list(topic.written_by(None, end, 2)) == newest[:2]
    for index, expected in enumerate([newest[2:], newest[1:2], [], newest[:1]]):
        until = ends[index + 1]
        assert until is not None
        assert list(topic.written_by(ends[index], until, 10)) == expected
    assert topic.written_by(end, end, 10) == ()
    clean_log(topic)
    assert topic.written_by(None, end, 10) == (newest[0],)
