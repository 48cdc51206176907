"""Ranges of a topic by time and position, and snapshots that are limited to one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from streamlets.channels.base import Position
from streamlets.channels.delta.channel import DeltaChannel
from streamlets.channels.delta.maintenance import Upkeep, maintain_topic
from streamlets.channels.delta.topic import DeltaTopic
from streamlets.storage.damage import DamagedFileError
from tests.streamlets.channels.topics import READING, WIDER, add, append, batch, ids_of, made, topic_plan

BEGIN = 1_700_000_000.0


class Minutes:
    """A clock that a test sets."""

    now = BEGIN

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Minutes:
    """The clock of the topic."""
    return Minutes()


@pytest.fixture
def topic(tmp_path: Path, clock: Minutes) -> DeltaTopic:
    """A topic with a commit of two records a minute, and from the third minute on one with another schema."""
    topic = made(tmp_path / "topics", "readings", clock)  # type: ignore[arg-type]
    for number in range(5):
        clock.now = BEGIN + 60 * number
        add(topic, number, [2 * number, 2 * number + 1])
        if number >= 3:
            append(topic, [batch([100 + number], WIDER)], WIDER, number, writer="wider")
    return topic


def snapshot_of(topic: DeltaTopic, directory: Path) -> DeltaTopic:
    """Return a snapshot, opened as a topic."""
    directory.mkdir()
    topic.snapshot(directory / "readings")
    return DeltaChannel(directory).topic(topic_plan("readings", managed=False))


@pytest.mark.parametrize(
    ("minute", "ids"),
    [(-1, [*range(10), 103, 104]), (0, [*range(10), 103, 104]), (0.5, [*range(2, 10), 103, 104]),
     (3, [6, 7, 8, 9, 103, 104]), (4, [8, 9, 104]), (9, [])],
)  # fmt: skip
def test_a_position_by_time(topic: DeltaTopic, minute: float, ids: list[int]) -> None:
    """Records that were committed at the time are after the position, those before it are not."""
    position = topic.position_at(BEGIN + 60 * minute)
    assert sorted(ids_of(topic.scan(None, position))) == ids
    last = topic.time_before(position)
    assert last == (None if minute <= 0 else BEGIN + 60 * min(4, -(-minute // 1) - 1))


def test_a_position_as_text(topic: DeltaTopic) -> None:
    """What people see of a position is one."""
    for position in (topic.position_at(BEGIN + 120), topic.end()):
        assert topic.position_of(topic.shown(position)) == position
    table = READING.fingerprint
    assert sorted(ids_of(topic.scan(None, topic.position_of(f"{table}/3#1")))) == [*range(5, 10), 103, 104]


@pytest.mark.parametrize(
    ("text", "reason"),
    [("yesterday", "is not a position"), ("none/1#0", "has no table `none`"), ("TABLE/77#0", "after the end")],
)
def test_a_text_that_is_not_a_position(topic: DeltaTopic, text: str, reason: str) -> None:
    """The message says why."""
    with pytest.raises(ValueError, match=reason):
        topic.position_of(text.replace("TABLE", READING.fingerprint))


def test_deleted_records_are_noticed(topic: DeltaTopic) -> None:
    """Only from a start before them, by time and by position."""
    second = topic.position_at(BEGIN + 60)
    assert topic.deleted_since(0.0) is None
    assert topic.deleted_since(Position(topic.position_at(0.0).json)) is None
    topic.purge((), before=BEGIN + 61)
    assert topic.deleted_since(0.0) == topic.deleted_since(BEGIN + 60) == topic.deleted_since(second) == BEGIN + 120
    assert topic.deleted_since(BEGIN + 120) is None
    assert topic.deleted_since(topic.position_at(BEGIN + 120)) is None


def test_all_records_deleted(topic: DeltaTopic) -> None:
    """What is left begins after the last record."""
    topic.purge(())
    assert topic.deleted_since(BEGIN) == BEGIN + 240.001
    assert topic.deleted_since(BEGIN + 241) is None


def test_a_commit_without_records_is_no_loss(tmp_path: Path, clock: Minutes) -> None:
    """A writer with an epoch begins with one."""
    topic = made(tmp_path, "readings", clock)  # type: ignore[arg-type]
    with topic.appender(READING, writer="w", epoch=3) as appender:
        clock.now += 60
        appender.append([batch([1])], 0)
    assert topic.deleted_since(0.0) is None


def test_a_snapshot_has_what_the_topic_loses(topic: DeltaTopic, tmp_path: Path) -> None:
    """Its files are the same, so it takes no space; later records are not in it. The topic is as it was."""
    files = {file: file.read_bytes() for file in topic.path.rglob("*") if file.is_file()}
    copy = snapshot_of(topic, tmp_path / "copy")
    assert {file: file.read_bytes() for file in topic.path.rglob("*") if file.is_file()} == files
    shared = list(copy.path.rglob("*.parquet"))
    assert shared
    assert all(file.stat().st_nlink > 1 for file in shared)
    add(topic, 9, [50])
    topic.purge((), before=BEGIN + 181)
    topic.sweep()
    assert sorted(ids_of(copy.scan())) == [*range(10), 103, 104]
    assert sorted(ids_of(topic.scan())) == [8, 9, 50, 104]


def test_a_snapshot_of_a_maintained_topic(topic: DeltaTopic, tmp_path: Path, clock: Minutes) -> None:
    """The log may begin with a checkpoint, and files may have been merged; positions stay valid."""
    position = topic.position_at(BEGIN + 120)
    maintain_topic(topic.path, tmp_path, clock, Upkeep(checkpoint_every=1, keep_log=0.0))
    add(topic, 9, [50])
    copy = snapshot_of(topic, tmp_path / "copy")
    assert sorted(ids_of(copy.scan(None, position))) == [*range(4, 10), 50, 103, 104]


def test_a_snapshot_where_links_are_not_possible(
    topic: DeltaTopic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files are copied, as to another file system."""
    link = os.link

    def refuse(source: Path, target: Path) -> None:
        if "copy" in str(target) and ".tmp" not in str(source):
            raise OSError(18, "Invalid cross-device link")
        link(source, target)

    monkeypatch.setattr(os, "link", refuse)
    assert sorted(ids_of(snapshot_of(topic, tmp_path / "copy").scan())) == [*range(10), 103, 104]


def test_a_limited_snapshot(topic: DeltaTopic, tmp_path: Path) -> None:
    """Everything that reads it sees only the range, which may grow."""
    copy = snapshot_of(topic, tmp_path / "copy")
    first, second, third = (topic.position_at(BEGIN + 60 * minute) for minute in (1, 3, 4))
    copy.limit(first, second)
    assert (copy.end(), copy.lag(None).records, copy.count(None, copy.end())) == (second, 4, 4)
    assert ids_of(copy.scan()) == [2, 3, 4, 5]
    assert ids_of(batch for batch in copy.last(10)) == [2, 3, 4, 5]
    copy.limit(first, third)
    assert sorted(ids_of(copy.scan(None, second))) == [6, 7, 103]
    copy.limit(None, first)
    assert ids_of(copy.scan()) == [0, 1]


def test_a_damaged_limit(topic: DeltaTopic, tmp_path: Path) -> None:
    """Without it, a reader would read other records."""
    copy = snapshot_of(topic, tmp_path / "copy")
    (copy.path / "_range.json").write_text("{")
    with pytest.raises(DamagedFileError, match="range of a snapshot"):
        copy.end()
