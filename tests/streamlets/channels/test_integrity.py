"""A log with a gap, or with a commit that is not whole, is reported by everything that reads or writes the topic."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from streamlets.channels.base import TopicDamagedError
from streamlets.channels.delta.integrity import EMPTY_COMMIT, LOG, POINTER, checkpoint_path, commit_path
from streamlets.channels.delta.log import MARKER, TopicLog
from streamlets.channels.delta.maintenance import Upkeep, maintain_topic
from streamlets.channels.delta.table import open_table
from streamlets.channels.delta.topic import DeltaTopic
from tests.streamlets.channels.topics import READING, Clock, add, append, batch, ids_of, made, topic_plan

CLEANING = Upkeep(checkpoint_every=3, keep_log=-1e12, keep_orphans=1e12, sweep_every=1e12, compaction=None)


def filled(root: Path, commits: int = 6) -> DeltaTopic:
    """Return a topic with a record per commit, of which the first is in version 1."""
    topic = made(root)
    for number in range(commits):
        add(topic, number, [number])
    return topic


def table_of(topic: DeltaTopic) -> Path:
    return topic.path / READING.fingerprint


def empty(path: Path) -> None:
    path.write_bytes(b"")


def cut_in_a_line(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def cut_between_lines(path: Path) -> None:
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])


def from_another_version(path: Path) -> None:
    path.write_bytes(path.with_name(f"{5:020}.json").read_bytes())


def from_another_topic(path: Path) -> None:
    other = filled(path.parent / "elsewhere")
    path.write_bytes(commit_path(table_of(other), int(path.stem)).read_bytes())


DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "missing": (Path.unlink, "is missing"),
    "empty": (empty, "it is empty"),
    "cut in a line": (cut_in_a_line, "it is incomplete, or not JSON"),
    "cut between lines": (cut_between_lines, "it has 0 of 2 actions"),
    "of another version": (from_another_version, "it is commit 5"),
    "of another topic": (from_another_topic, "it belongs to another table"),
}

USES: dict[str, Callable[[DeltaTopic], object]] = {
    "scan": lambda topic: list(topic.scan()),
    "end": lambda topic: topic.end(),
    "lag": lambda topic: topic.lag(None),
    "summary": lambda topic: topic.summary(),
    "contracts": lambda topic: topic.contracts(),
    "last": lambda topic: list(topic.last(2)),
    "append": lambda topic: append(topic, [batch([99])], READING, 99),
    "append of another writer": lambda topic: append(topic, [batch([99])], READING, 0, writer="v"),
    "purge": lambda topic: topic.purge([]),
    "maintain": lambda topic: maintain_topic(topic.path, topic.path.parent / "_staged", Clock(), CLEANING),
    "sweep": lambda topic: topic.sweep(),
}

READS: dict[str, Callable[[DeltaTopic], object]] = {name: use for name, use in USES.items() if name != "maintain"}
"""Without maintenance, which reads nothing if nothing is due."""


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("damage", DAMAGES)
def test_every_use_reports_a_damaged_commit(tmp_path: Path, damage: str, use: str) -> None:
    """The message names the topic, the commit, its file, when it was committed, and the ways out. Nothing changes."""
    topic = filled(tmp_path)
    path = commit_path(table_of(topic), 3)
    destroy, reason = DAMAGES[damage]
    destroy(path)
    files = sorted(topic.path.rglob("*.parquet"))
    with pytest.raises(TopicDamagedError) as error:
        USES[use](made(tmp_path))
    message = str(error.value)
    for part in ("topic `readings` is damaged", "commit 3", reason, str(path), "2023-11-14", "UTC", "--fresh"):
        assert part in message
    assert sorted(topic.path.rglob("*.parquet")) == files


def test_the_way_out_of_a_missing_commit(tmp_path: Path) -> None:
    """With the line that the message shows, the other records can be read, and positions stay valid."""
    topic = filled(tmp_path)
    ends = [topic.end()]
    path = commit_path(table_of(topic), 3)
    path.unlink()
    path.write_text(EMPTY_COMMIT + "\n")
    topic = made(tmp_path)
    assert ids_of(topic.scan()) == [0, 1, 3, 4, 5]
    add(topic, 6, [6])
    assert ids_of(topic.scan(after=ends[0])) == [6]


@pytest.mark.parametrize(("first", "last"), [(1, 1), (2, 4), (5, 5)])
def test_a_gap_is_reported_with_its_range(tmp_path: Path, first: int, last: int) -> None:
    """A gap of several commits, and one at the beginning."""
    topic = filled(tmp_path)
    for version in range(first, last + 1):
        commit_path(table_of(topic), version).unlink()
    words = f"commit {first} of" if first == last else f"commits {first} to {last} of"
    with pytest.raises(TopicDamagedError, match=words):
        made(tmp_path).end()


def test_a_reader_that_waits_for_news_finds_a_gap(tmp_path: Path) -> None:
    """If the next commit is missing although a later one exists, a running reader does not wait for ever; until the
    next check, it lists no directory."""
    topic = filled(tmp_path, 2)
    log = TopicLog(topic.path)
    log.refresh()
    (table,) = log.tables.values()
    now = [0.0]
    table.ticks, table._checked = lambda: now[0], 0.0
    for number in (2, 3):
        add(topic, number, [number])
    commit_path(table.path, 3).unlink()
    log.refresh()
    now[0] = 31.0
    with pytest.raises(TopicDamagedError, match="commit 3 of the table"):
        log.refresh()


@pytest.mark.parametrize("missing", [2, 3])
def test_a_running_writer_does_not_close_a_gap(tmp_path: Path, missing: int) -> None:
    """Its own last commit is missing, or the next one, which another writer has created."""
    topic = filled(tmp_path, 2)
    with topic.appender(READING, writer="w") as appender:
        other = made(tmp_path)
        for number in range(2) if missing == 3 else ():
            append(other, [batch([number])], READING, number, writer="v")
        commit_path(table_of(topic), missing).unlink()
        with pytest.raises(TopicDamagedError, match=f"commit {missing} of the table"):
            appender.append([batch([9])], 9)
    assert not commit_path(table_of(topic), missing).exists()


def test_a_table_that_ends_before_a_position_is_damaged(tmp_path: Path) -> None:
    """If the last commits were deleted, a reader that has read them does not take later records for those."""
    topic = filled(tmp_path)
    end = topic.end()
    for version in (5, 6):
        commit_path(table_of(topic), version).unlink()
    with pytest.raises(TopicDamagedError, match="commits 5 to 6"):
        list(made(tmp_path).scan(after=end))


def test_a_first_commit_that_is_missing(tmp_path: Path) -> None:
    """A table without its first commit is not passed over, and not created again."""
    damages: tuple[Callable[[Path], None], ...] = (Path.unlink, empty)
    for number, damage in enumerate(damages):
        topic = filled(tmp_path / str(number))
        damage(commit_path(table_of(topic), 0))
        for use in USES.values():
            with pytest.raises(TopicDamagedError, match="commit 0 of the table"):
                use(DeltaTopic(topic.path.parent, topic_plan("readings"), Clock()))


@pytest.mark.parametrize("content", [None, b"", b'{"ver', b"[]", b'{"version": 2}', b'{"version": 999999}'])
def test_the_pointer_to_the_last_checkpoint_is_not_needed(tmp_path: Path, content: bytes | None) -> None:
    """If the file is missing, damaged or older, the checkpoint is found by listing the log."""
    topic = filled(tmp_path)
    maintain_topic(topic.path, tmp_path / "_staged", Clock(), CLEANING)
    assert not commit_path(table_of(topic), 2).exists()
    pointer = table_of(topic) / LOG / POINTER
    pointer.unlink() if content is None else pointer.write_bytes(content)
    topic = made(tmp_path)
    assert ids_of(topic.scan()) == list(range(6))
    add(topic, 6, [6])
    assert ids_of(topic.scan()) == list(range(7))


def test_a_damaged_checkpoint_is_reported(tmp_path: Path) -> None:
    """Empty, cut, or of another table: the message names the file."""
    topic, other = filled(tmp_path / "a"), filled(tmp_path / "b")
    for made_topic in (topic, other):
        maintain_topic(made_topic.path, tmp_path / "_staged", Clock(), CLEANING)
    path = checkpoint_path(table_of(topic), 6)
    whole = path.read_bytes()
    for content in (b"", whole[: len(whole) // 2], checkpoint_path(table_of(other), 6).read_bytes()):
        path.write_bytes(content)
        for use in READS.values():
            with pytest.raises(TopicDamagedError, match=r"checkpoint 6.*\.checkpoint\.parquet.*from a backup"):
                use(made(tmp_path / "a"))


@pytest.mark.parametrize("content", [b"", b'{"id": "', b"[]"])
def test_a_damaged_identity_of_a_topic_is_reported(tmp_path: Path, content: bytes) -> None:
    """The message names the file. If it is deleted, as the message proposes, the records can be read again."""
    topic = filled(tmp_path)
    (topic.path / MARKER).write_bytes(content)
    for use in (*READS.values(), DeltaTopic.create):
        with pytest.raises(TopicDamagedError, match=rf"{MARKER}.*delete the file, if"):
            use(DeltaTopic(tmp_path, topic_plan("readings"), Clock()))
    (topic.path / MARKER).unlink()
    assert ids_of(made(tmp_path).scan()) == list(range(6))


def test_commits_of_earlier_releases_are_read(tmp_path: Path) -> None:
    """They do not have a seal."""
    topic = filled(tmp_path)
    for version in range(1, 7):
        path = commit_path(table_of(topic), version)
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        del lines[0]["commitInfo"]["streamlets.seal"]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert ids_of(made(tmp_path).scan()) == list(range(6))


def test_looking_for_news_opens_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at a table without news lists nothing and reads one file, which does not exist."""
    table = open_table(table_of(filled(tmp_path)), files=True)
    opened: list[object] = []
    read = Path.read_bytes

    def reading(path: Path) -> bytes:
        opened.append(path)
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", reading)
    monkeypatch.setattr(os, "scandir", opened.append)
    for _ in range(100):
        table.refresh()
    assert opened == [commit_path(table.path, 7)] * 100
