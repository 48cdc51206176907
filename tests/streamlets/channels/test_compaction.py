"""Compaction leads to fewer files, with the same records at the same positions."""

from __future__ import annotations

import json
import random
import signal
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from hypothesis import given, settings
from hypothesis import strategies as st

from streamlets.channels.base import Reader, TopicWriteError
from streamlets.channels.delta import compaction as compaction_module
from streamlets.channels.delta.actions import DataFile, Txn
from streamlets.channels.delta.compaction import Compaction, compact_table, worthwhile
from streamlets.channels.delta.log import TopicLog
from streamlets.channels.delta.maintenance import Upkeep, maintain_topic
from streamlets.channels.delta.offsets import Offset
from streamlets.channels.delta.records import read_slices
from streamlets.channels.delta.segments import Segment, Segments
from streamlets.channels.delta.table import Table, open_table
from streamlets.channels.delta.topic import DeltaTopic
from tests.random_examples import examples
from tests.streamlets.channels.test_crash import run
from tests.streamlets.channels.topics import READING, WIDER, Clock, add, ids_of, made

EAGER = Compaction(fresh=2, merged=2)
CLEANING = Upkeep(checkpoint_every=3, keep_log=-1e12, keep_orphans=-1e12, keep_removed=-1e12, sweep_every=-1,
                  compaction=EAGER)  # fmt: skip


def table_of(topic: DeltaTopic) -> Table:
    """Return the table of `READING`, with its files."""
    return open_table(topic.path / READING.fingerprint, files=True, removed=True)


def read_metadata(topic: DeltaTopic) -> list[tuple[int, str, int]]:
    """Return the id and the position of each record, in the order of the topic."""
    log = TopicLog(topic.path)
    log.refresh()
    batches = read_slices(log.slices(Offset(log.id), log.end()), READING, metadata=True)
    rows = pa.Table.from_batches(batches).to_pylist()
    return [(row["id"], row["_meta"]["position"], row["_meta"]["sequence"]) for row in rows]


def test_merged_files_have_the_same_records_at_the_same_positions(tmp_path: Path) -> None:
    """50 commits are merged into one file. Every record keeps its position, and delta-rs reads the same records."""
    topic = made(tmp_path)
    for number in range(50):
        add(topic, number, range(number * 3, number * 3 + 1 + number % 3))
    before = read_metadata(topic)
    assert compact_table(table_of(topic), Compaction(), Clock()) == 50
    assert len(table_of(topic).files or {}) == 1
    assert read_metadata(topic) == before
    theirs = DeltaTable(str(topic.path / READING.fingerprint))
    assert sorted(theirs.to_pyarrow_table()["id"].to_pylist()) == [id for id, _, _ in before]
    assert len(theirs.file_uris()) == 1


def test_few_or_large_files_are_not_merged(tmp_path: Path) -> None:
    """A few small files, and large files, are left unchanged."""
    topic = made(tmp_path)
    for number in range(31):
        add(topic, number, [number])
    assert compact_table(table_of(topic), Compaction(), Clock()) == 0
    assert compact_table(table_of(topic), Compaction(goal=10), Clock()) == 0
    assert table_of(topic).version == 31


def file(number: int, *, size: int = 1000, commits: int = 1, partition: str | None = None) -> DataFile:
    """Return a file with commits of 10 records, a second apart."""
    segments = Segments.of(Segment(number + i, 0, 10, (number + i) * 1000) for i in range(commits))
    values = {"day": partition} if partition else {}
    return DataFile(f"{number}-{partition}.parquet", size, (10 * commits,), values, segments)


def test_size_commits_and_time_limit_a_merged_file() -> None:
    """A merged file does not exceed its maximum size, number of commits, or time span."""
    files = [file(number) for number in range(100)]
    for limits, lengths in (
        (Compaction(fresh=2, goal=30_000), [30, 30, 30, 10]),
        (Compaction(fresh=2, segments=40), [40, 40, 20]),
        (Compaction(fresh=2, span=49.5), [50, 50]),
        (Compaction(), [100]),
    ):
        assert [len(run) for run in worthwhile(files, limits)] == lengths


def test_merged_files_are_merged_with_each_other() -> None:
    """A merged file is not merged with new files, but with other merged files once there are several."""
    merged = [file(100 * number, commits=100) for number in range(7)]
    fresh = [file(1000 + number) for number in range(40)]
    assert [len(run) for run in worthwhile([*merged, *fresh], Compaction())] == [40]
    merged.append(file(700, commits=100))
    assert [len(run) for run in worthwhile([*merged, *fresh], Compaction())] == [8, 40]


def test_partitions_are_merged_separately() -> None:
    """Files of a partition are adjacent, even if files of other partitions were written between them."""
    files = [file(number, partition="ab"[number % 2]) for number in range(64)]
    runs = list(worthwhile(files, Compaction()))
    assert [{file.partition["day"] for file in run} for run in runs] == [{"a"}, {"b"}]
    assert [len(run) for run in runs] == [32, 32]


@settings(max_examples=examples(25), deadline=None)
@given(
    commits=st.lists(st.tuples(st.sampled_from([READING, WIDER]), st.integers(0, 6)), min_size=2, max_size=14),
    rounds=st.sets(st.integers(0, 13), min_size=1, max_size=4),
    seed=st.integers(0, 2**16),
)
def test_readers_continue_after_compaction(commits, rounds, seed) -> None:  # type: ignore[no-untyped-def]
    """Each reader reads every record once and in order, whenever files are merged, logs cleaned and old files deleted:
    a running reader, one that restarts at each position, and one that starts from the beginning."""
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory() as directory:
        topic = made(Path(directory))
        log = TopicLog(topic.path)
        place: Offset | None = None
        seen: list[int] = []
        expected: list[int] = []
        for number, (of, count) in enumerate(commits):
            ids = range(number * 10, number * 10 + count)
            add(topic, number, ids, of)
            expected += ids
            if number in rounds:
                maintain_topic(topic.path, Path(directory) / "_staged", Clock(), CLEANING)
            if dice.random() < 0.5:
                log.refresh()
                place = place or Offset(log.id)
                after = place.joined(log.advance(place, dice.randint(1, 9), log.end()))
                seen += ids_of(read_slices(log.slices(place, after), READING))
                log.forget(after)
                restarted = TopicLog(topic.path, after)
                restarted.refresh()
                restarted.check(after)
                assert ids_of(read_slices(restarted.slices(after, restarted.end()), READING)) == expected[len(seen) :]
                place = Offset.from_dict(json.loads(json.dumps(after.to_dict())))
        log.refresh()
        assert seen + ids_of(read_slices(log.slices(place or Offset(log.id), log.end()), READING)) == expected
        assert ids_of(topic.scan(READING)) == expected


def test_removed_files_are_kept_for_batches_that_read_them(tmp_path: Path) -> None:
    """A reader that planned its batch before the merge still finds the small files. They are deleted after their time,
    whether the commits of the log or only its checkpoint has them."""
    topic = made(tmp_path)
    for number in range(10):
        add(topic, number, [number])
    log = TopicLog(topic.path)
    log.refresh()
    planned = list(log.slices(Offset(log.id), log.end()))
    now = [2e9]
    upkeep = Upkeep(checkpoint_every=3, keep_log=-1e12, sweep_every=-1, compaction=EAGER)
    maintain_topic(topic.path, tmp_path / "_staged", lambda: now[0], upkeep)
    assert len(table_of(topic).files or {}) == 1
    now[0] += upkeep.keep_removed - 1
    maintain_topic(topic.path, tmp_path / "_staged", lambda: now[0], upkeep)
    assert ids_of(read_slices(planned, None)) == list(range(10))
    now[0] += 2
    maintain_topic(topic.path, tmp_path / "_staged", lambda: now[0], upkeep)
    assert not any(Path(piece.path).exists() for piece in planned)
    assert ids_of(topic.scan()) == list(range(10))


@pytest.mark.parametrize(
    ("planned", "stay"),
    [((), 300), ((None,), 300), ((1e9, None), 3600), ((2e9 + 1,), 300), ((2e9 - 1, 2e9 + 1), 3600)],
    ids=["no reader", "an idle reader", "a batch from before the merge", "a batch from after it", "both"],
)
def test_merged_files_are_kept_for_unfinished_batches(
    tmp_path: Path, planned: tuple[float | None, ...], stay: int
) -> None:
    """Files that were merged are kept for five minutes, or for at most an hour if a reader has an unfinished batch from
    before the merge."""
    topic = made(tmp_path)
    for number in range(10):
        add(topic, number, [number])
    small = [topic.path / READING.fingerprint / path for path in table_of(topic).files or {}]
    now = [2e9]
    readers = [Reader(f"reader {number}", None, since) for number, since in enumerate(planned)]
    upkeep = Upkeep(checkpoint_every=1, keep_log=-1e12, sweep_every=1e12, compaction=EAGER)
    for later, exist in ((0, True), (stay - 1, True), (stay + 1, False)):
        now[0] = 2e9 + later
        add(topic, 10 + later, [0])
        maintain_topic(topic.path, tmp_path / "_staged", lambda: now[0], upkeep, lambda: readers)
        assert {path.exists() for path in small} == {exist}, later


def test_a_concurrent_writer_commits_the_next_version(tmp_path: Path) -> None:
    """If compaction has committed a writer's next version, the writer commits the one after it, once."""
    topic = made(tmp_path)
    for number in range(5):
        add(topic, number, [number])
    slow = open_table(topic.path / READING.fingerprint, files=False)
    compact_table(table_of(topic), EAGER, Clock())
    stale = table_of(topic)
    add(topic, 5, [5])
    assert not slow.append([], Txn("w", 5), Clock())
    assert slow.append([], Txn("w", 6), Clock())
    assert compact_table(stale, EAGER, Clock()) == 0
    assert ids_of(topic.scan()) == list(range(6))


def test_concurrent_merges_of_the_same_files_happen_once(tmp_path: Path) -> None:
    """The second process finds that the files are no longer in the log, and changes nothing."""
    topic = made(tmp_path)
    for number in range(5):
        add(topic, number, [number])
    first, second = table_of(topic), table_of(topic)
    assert compact_table(first, EAGER, Clock()) == 5
    assert compact_table(second, EAGER, Clock()) == 0
    assert len(list((topic.path / READING.fingerprint / compaction_module.DIRECTORY).iterdir())) == 1
    assert ids_of(topic.scan()) == list(range(5))


def test_a_full_disk_leaves_the_topic_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the merged file cannot be written, the error has one line, and the topic is unchanged."""
    topic = made(tmp_path)
    for number in range(5):
        add(topic, number, [number])

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pa.parquet.ParquetWriter, "write_table", full)
    with pytest.raises(TopicWriteError, match=r"cannot merge files of topic `readings`: .*No space left on device"):
        compact_table(table_of(topic), EAGER, Clock())
    assert not list((topic.path / READING.fingerprint / compaction_module.DIRECTORY).iterdir())
    assert ids_of(topic.scan()) == list(range(5))


COMPACT = """
import sys
from pathlib import Path
from tests.streamlets.channels.test_compaction import CLEANING, Clock, maintain_topic
maintain_topic(Path(sys.argv[1]) / "readings", Path(sys.argv[1]) / "_staged", Clock(), CLEANING)
"""


@pytest.mark.parametrize("point", ["after-compacted-file", "during-rename", "after-compaction-commit"])
def test_a_kill_during_a_merge_keeps_every_record_once(tmp_path: Path, point: str) -> None:
    """After a kill at each step the topic has its records once. The next merge leaves one file and no other files."""
    topic = made(tmp_path)
    for number in range(6):
        add(topic, number, [number])
    place = topic.end()
    assert run(COMPACT, str(tmp_path), at=point).returncode == -signal.SIGKILL
    assert ids_of(topic.scan()) == list(range(6))
    add(topic, 6, [6])
    add(topic, 7, [7])
    for _ in range(2):
        maintain_topic(topic.path, tmp_path / "_staged", Clock(), CLEANING)
    assert ids_of(topic.scan()) == list(range(8))
    assert ids_of(topic.scan(after=place)) == [6, 7]
    files = [path for path in (topic.path / READING.fingerprint / "data").rglob("*") if path.is_file()]
    assert len(files) == len(table_of(topic).files or {}) <= 2
