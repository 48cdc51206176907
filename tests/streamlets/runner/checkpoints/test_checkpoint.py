"""Checkpoints read without Spark, and the readers of topics in them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from blueprint.avro.tasks import task_contract
from streamlets.channels.base import Position
from streamlets.channels.delta.topic import DeltaTopic
from streamlets.ingress.batch_sources.tasks import Task, to_batch
from streamlets.runner.checkpoints.checkpoint import checkpoints_in, read_checkpoint
from streamlets.runner.checkpoints.readers import readers_below
from tests.streamlets.channels.topics import READING, add, append, inlet, made

CONF = {"spark.sql.shuffle.partitions": "2"}


def written(
    root: Path, name: str, planned: dict[int, dict[str, str]], committed: int, *, named: bool = True, watermark: int = 0
) -> Path:
    """Write a checkpoint `streamlet.query` as Spark does: the end of each batch in each source, and the commits."""
    streamlet, query = name.split(".")
    directory = root / streamlet / query
    for part in ("offsets", "commits"):
        (directory / part).mkdir(parents=True)
    (directory / "metadata").write_text(json.dumps({"id": f"id-of-{query}"}))
    for number, positions in planned.items():
        lines = [f"{source}:{json}" if named else json for source, json in positions.items()]
        head = {"batchWatermarkMs": 0, "batchTimestampMs": 1000 * (1000 + number), "conf": CONF}
        text = "\n".join(["v2" if named else "v1", json.dumps(head), *lines])
        (directory / "offsets" / str(number)).write_text(text)
        (directory / "offsets" / f".{number}.crc").write_bytes(b"crc")
    for number in range(committed + 1):
        (directory / "commits" / str(number)).write_text("v1\n" + json.dumps({"nextBatchWatermarkMs": watermark}))
    return directory


def test_a_checkpoint_has_the_committed_and_the_planned_batch(tmp_path: Path) -> None:
    """With their positions, the watermark, settings and sizes."""
    directory = written(
        tmp_path, "average.averages", {9: {"a": '{"x": 1}'}, 10: {"a": '{"x": 2}', "b": "7"}}, 9, watermark=5000
    )
    (found,) = checkpoints_in(tmp_path)
    assert (found.name, found.id, found.directory) == ("average.averages", "id-of-averages", directory)
    assert found.committed is not None
    assert found.planned is not None
    assert (found.committed.number, found.committed.positions) == (9, {"a": '{"x": 1}'})
    assert (found.planned.number, found.planned.positions) == (10, {"a": '{"x": 2}', "b": "7"})
    assert (found.planned.time, found.planned.settings) == (1010.0, CONF)
    assert (found.watermark, found.damage, found.latest) == (5.0, (), found.planned)
    assert found.bytes == sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


def test_the_next_batch_begins_where_a_source_began_or_the_last_one_ended(tmp_path: Path) -> None:
    """Of sources that a batch has read before, and of those that have stored where they began."""
    directory = written(tmp_path, "a.q", {0: {"a": "1"}, 1: {"a": "2", "b": "3", "c": "4"}}, 0)
    for source in ("a", "b", "removed"):
        (directory / "sources" / source).mkdir(parents=True)
        (directory / "sources" / source / "0").write_bytes(b"\x00v1\n" + f'{{"of": "{source}"}}'.encode())
    assert read_checkpoint(directory).starts == {"a": "1", "b": '{"of": "b"}'}
    (directory / "commits" / "1").write_text("v1\n{}")
    assert read_checkpoint(directory).starts == {"a": "2", "b": "3", "c": "4"}
    (directory / "sources" / "b" / "0").write_bytes(b"\xff")
    for commit in ("0", "1"):
        (directory / "commits" / commit).unlink()
    assert read_checkpoint(directory).starts == {"a": '{"of": "a"}'}


def test_sources_whose_directories_alone_have_names(tmp_path: Path) -> None:
    """As Spark 4.2 writes checkpoints: a source began at the position with its topics."""
    planned = {"0": '{"t": {"0": 6}}', "1": '{"u": {"0": 3}}', "2": "12"}
    directory = written(tmp_path, "s.q", {0: planned}, 0, named=False)
    (directory / "commits" / "0").unlink()
    for source, at in {"first": '{"u": {"0": 1}}', "second": '{"t": {"0": 2}}', "third": "4"}.items():
        (directory / "sources" / source).mkdir(parents=True)
        (directory / "sources" / source / "0").write_bytes(b"\x00v1\n" + at.encode())
    assert read_checkpoint(directory).starts == {"0": '{"t": {"0": 2}}', "1": '{"u": {"0": 1}}'}


def test_sources_without_names_are_numbered(tmp_path: Path) -> None:
    """They are numbered in their order without source evolution; a source without data yet is omitted."""
    directory = written(tmp_path, "s.q", {0: {"0": '{"x": 1}', "1": "-", "2": "12"}}, 0, named=False)
    found = read_checkpoint(directory)
    assert found.committed is not None
    assert found.committed.positions == {"0": '{"x": 1}', "2": "12"}
    assert found.planned is None


def test_stateful_operators_have_a_version_and_a_size(tmp_path: Path) -> None:
    """Name, partitions and the last version of the state are read from Spark's files."""
    directory = written(tmp_path, "s.q", {0: {}}, 0)
    state = directory / "state" / "0"
    (state / "_metadata").mkdir(parents=True)
    note = {"operatorInfo": {"operatorId": 0, "operatorName": "dedupe"}, "stateStoreInfo": []}
    (state / "_metadata" / "metadata").write_text("v1\n" + json.dumps(note))
    for partition in (0, 1):
        (state / str(partition)).mkdir()
        for version in (1, 2):
            (state / str(partition) / f"{version}.changelog").write_bytes(b"12345")
    (state / "1" / "3_12ab.zip").write_bytes(b"12345")
    (operator,) = read_checkpoint(directory).operators
    assert (operator.number, operator.name, operator.version, operator.partitions) == (0, "dedupe", 3, 2)
    assert operator.bytes > 20


@pytest.mark.parametrize(
    ("file", "content", "damage"),
    [
        ("offsets/3", b"", "offsets/3 is empty"),
        ("offsets/3", b"v1\n{\"batch", "offsets/3 is damaged"),
        ("commits/2", b"", "commits/2 is empty"),
        ("offsets/2", b"\xff\x00", "offsets/2 is damaged"),
        ("metadata", b"{", "metadata is damaged"),
    ],
)  # fmt: skip
def test_damaged_files_do_not_raise(tmp_path: Path, file: str, content: bytes, damage: str) -> None:
    """A file that a power cut damaged is in `damage`, and the rest is read."""
    directory = written(tmp_path, "s.q", {2: {"a": "{}"}, 3: {"a": "{}"}}, 2)
    (directory / file).write_bytes(content)
    assert read_checkpoint(directory).damage == (damage,)


def test_a_missing_plan_of_a_committed_batch_is_damage(tmp_path: Path) -> None:
    """The records that a committed batch has read must be known."""
    directory = written(tmp_path, "s.q", {1: {"a": "{}"}}, 1)
    (directory / "offsets" / "1").unlink()
    assert "offsets/1, the positions that it read, is missing" in read_checkpoint(directory).damage[0]


def test_there_may_be_no_checkpoints(tmp_path: Path) -> None:
    """Before the first run there are none; the checkpoint of a query that never started is empty and intact."""
    assert checkpoints_in(tmp_path / "none") == ()
    (tmp_path / "s" / "q").mkdir(parents=True)
    (found,) = checkpoints_in(tmp_path)
    assert (found.id, found.committed, found.planned, found.damage) == ("", None, None, ())


@pytest.fixture
def topic(tmp_path: Path) -> DeltaTopic:
    """A topic with three commits of ten records."""
    topic = made(tmp_path / "topics")
    for number in range(3):
        add(topic, number, range(10))
    return topic


def position(topic: DeltaTopic, version: int) -> str:
    """Return a place in the topic, as in a checkpoint."""
    end = json.loads(topic.end().json)
    end["tables"][READING.fingerprint][1] = version
    return json.dumps(end)


def test_readers_are_those_with_a_position_in_the_topic(tmp_path: Path, topic: DeltaTopic) -> None:
    """The position of a reader is the end of its last committed batch, or None before the first commit. Readers of
    other topics are not readers of this one."""
    other = made(tmp_path / "topics", "other")
    add(other, 0, [1])
    root = tmp_path / "checkpoints"
    written(root, "average.averages", {0: {"in": position(topic, 2)}, 1: {"in": position(topic, 3)}}, 0)
    written(root, "fresh.q", {0: {"in": position(topic, 2)}}, -1)
    written(root, "elsewhere.q", {0: {"in": other.end().json}}, 0)
    written(root, "custom.q", {0: {"rate": "12", "in": '{"logOffset": 3}'}}, 0)
    found = {reader.name: reader.committed for reader in readers_below(topic, root, [])}
    assert found == {"average.averages (in)": Position(position(topic, 2)), "fresh.q (in)": None}


def test_unread_tasks_of_a_batch_source_are_kept(tmp_path: Path) -> None:
    """Its offset has a position in the task topic; without a checkpoint it has read nothing. Other topics of such a
    name have no reader by that."""
    root = tmp_path / "checkpoints"
    tasks, lookalike = made(tmp_path / "topics", "tasks.pages"), made(tmp_path / "topics", "tasks.other")
    add(lookalike, 0, [1])
    places: list[Position] = []
    for number in range(3):
        append(tasks, [to_batch([Task(number, b"1", "json")])], task_contract(), number)
        places.append(tasks.end())
    assert [(r.name, r.committed) for r in readers_below(tasks, root, [])] == [("pages.tasks", None)]
    assert tasks.purge(readers_below(tasks, root, [])).records == 0
    assert readers_below(lookalike, root, []) == []
    ends = [json.dumps({"task": number, "position": place.json}) for number, place in enumerate(places)]
    written(root, "pages.read", {0: {"tasks": ends[0]}, 1: {"tasks": ends[1]}}, 0)
    (reader,) = readers_below(tasks, root, [])
    assert (reader.name, reader.committed) == ("pages.read (tasks)", places[0])
    dropped = tasks.purge([reader])
    assert (dropped.records, dropped.held) == (1, {"pages.read (tasks)": 2})
    assert [row["number"] for batch in tasks.scan() for row in batch.to_pylist()] == [1, 2]


def test_a_reader_with_an_unfinished_batch_has_been_reading_since_that_was_planned(
    tmp_path: Path, topic: DeltaTopic
) -> None:
    """Files that were removed from the topic later may still be read by that batch; a committed batch reads nothing."""
    root = tmp_path / "checkpoints"
    written(root, "busy.q", {0: {"in": position(topic, 2)}, 1: {"in": position(topic, 3)}}, 0)
    written(root, "idle.q", {0: {"in": position(topic, 2)}}, 0)
    found = {reader.name: reader.reading_since for reader in readers_below(topic, root, [])}
    assert found == {"busy.q (in)": 1001.0, "idle.q (in)": None}


def test_an_inlet_without_a_checkpoint_is_a_reader_that_has_read_nothing(tmp_path: Path, topic: DeltaTopic) -> None:
    """Unless it starts with the latest records, or its streamlet has a checkpoint."""
    root = tmp_path / "checkpoints"
    assert [r.name for r in readers_below(topic, root, [inlet("readings")])] == ["reader.in"]
    assert readers_below(topic, root, [inlet("readings", starting="latest")]) == []
    written(root, "reader.q", {0: {"in": position(topic, 2)}}, 0)
    assert [r.name for r in readers_below(topic, root, [inlet("readings")])] == ["reader.q (in)"]


def test_a_damaged_checkpoint_keeps_all_records(tmp_path: Path, topic: DeltaTopic) -> None:
    """While the position of a query cannot be read, it may be the beginning of the topic."""
    directory = written(tmp_path / "checkpoints", "average.averages", {0: {"in": position(topic, 3)}}, 0)
    (directory / "offsets" / "0").write_bytes(b"")
    (reader,) = readers_below(topic, tmp_path / "checkpoints", [])
    assert reader.committed is None
    assert topic.purge([reader]).records == 0
