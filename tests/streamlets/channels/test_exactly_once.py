"""A batch is written to its topics once, with failures at any step and with non-deterministic rows."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from blueprint.avro.model import Contract
from streamlets.channels.delta.manifest import STAGED
from streamlets.channels.delta.table import LOG, Table
from streamlets.storage import objects
from tests.streamlets.channels.conftest import Bench
from tests.streamlets.channels.topics import READING, add, contract, ids_of, inlet, outlet

pytestmark = pytest.mark.spark

COLOURED = contract(
    ("id", "long"), ("colour", {"type": "enum", "name": "Colour", "symbols": ["RED", "BLUE"]}), name="Coloured"
)


def feed(bench: Bench, count: int = 1000) -> None:
    """Append `count` records in a commit."""
    add(bench.topic("in"), 0, range(count))


def coloured(bench: Bench, broken: str) -> Any:
    """Return the records with a colour, which breaks the contract where `broken` is true."""
    from pyspark.sql import functions as F

    return bench.read(inlet("in")).select("id", F.when(F.expr(broken), "GREEN").otherwise("RED").alias("colour"))


def dead_ids(bench: Bench) -> list[int]:
    """Return the ids of the dead letters."""
    import json

    records = [r for b in bench.topic("dead").scan() for r in b.column("record").to_pylist()]
    return [json.loads(record)["id"] for record in records]


def test_a_replayed_batch_changes_nothing(bench: Bench) -> None:
    """If Spark replays a batch that the topic has, neither its records nor its version change."""
    feed(bench)
    for _ in range(2):
        bench.run(bench.write(bench.read(inlet("in")), outlet("out")))
        bench.forget_commit()
    assert sorted(ids_of(bench.topic("out").scan())) == list(range(1000))
    log = bench.topic("out").path / READING.fingerprint / LOG
    assert sorted(p.name for p in log.glob("*.json")) == [f"{0:020}.json", f"{1:020}.json"]
    assert [b.replayed for b in bench.batches] == [False, True]
    assert bench.batches[0].rows == bench.batches[1].rows
    assert all(batch.publishing > 0 for batch in bench.batches), "its time is a phase of the batch"


def test_broken_rows_fail_the_query_without_dead_letters(bench: Bench) -> None:
    """Without dead letters a broken row fails the query. The message has the number, outlet, reason and a row."""
    feed(bench, 10)
    with pytest.raises(
        Exception, match=r"BrokenRowsError: 2 rows break the contract `Coloured` of `writer\.out`, for example: .*GREEN"
    ):
        bench.run(bench.write(coloured(bench, "id > 7"), outlet("out", COLOURED)))
    assert bench.topic("out").lag(None).records == 0


def test_random_rows_are_written_once(bench: Bench) -> None:
    """If it is random which rows break the contract, each row is either in the topic or in the dead letters, in every
    batch."""
    plan = outlet("out", COLOURED, on_invalid="dead-letters")
    for number in range(2):
        add(bench.topic("in"), number, range(number * 2000, number * 2000 + 2000))
        bench.run(bench.write(coloured(bench, "rand() < 0.3"), plan, dead_letters="dead"))
    good, dead = ids_of(bench.topic("out").scan()), dead_ids(bench)
    assert sorted(good + dead) == list(range(4000))
    assert 800 < len(dead) < 1600


@pytest.fixture
def failing_commit(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Make the nth commit to a topic fail (counted down in the list)."""
    countdown = [0]
    original = Table.append

    def append(self: Table, *arguments: Any) -> bool:
        countdown[0] -= 1
        if countdown[0] == 0:
            raise RuntimeError("killed here")
        return original(self, *arguments)

    monkeypatch.setattr(Table, "append", append)
    yield countdown
    countdown[0] = 0


@pytest.mark.parametrize("nth", [1, 2])
def test_topic_and_dead_letters_are_consistent_after_a_failure(
    bench: Bench, failing_commit: list[int], nth: int
) -> None:
    """After a failure before either commit, a replay with other random rows publishes those of the first attempt."""
    feed(bench)
    plan = outlet("out", COLOURED, on_invalid="dead-letters")
    failing_commit[0] = nth
    with pytest.raises(Exception, match="killed here"):
        bench.run(bench.write(coloured(bench, "rand() < 0.3"), plan, dead_letters="dead"))
    assert (bench.topic("out").lag(None).records > 0) is (nth == 2) or bench.topic("dead").lag(None).records > 0
    bench.run(bench.write(coloured(bench, "rand() < 0.3"), plan, dead_letters="dead"))
    assert sorted(ids_of(bench.topic("out").scan()) + dead_ids(bench)) == list(range(1000))


def test_several_outlets_share_one_execution(bench: Bench) -> None:
    """A query with two outlets is executed once per batch, so each row with a random value is in one of them."""
    from pyspark.sql import functions as F

    feed(bench)
    rows = bench.read(inlet("in")).withColumn("dice", F.rand())
    low = (outlet("low", name="low"), lambda frame: frame.where("dice < 0.5").select("id", "src"))
    high = (outlet("high", name="high"), lambda frame: frame.where("dice >= 0.5").select("id", "src"))
    query = bench.run(bench.write(rows, low, high))
    ids = {name: ids_of(bench.topic(name).scan()) for name in ("low", "high")}
    assert sorted(ids["low"] + ids["high"]) == list(range(1000))
    assert dict(bench.batches[0].rows) == {name: len(values) for name, values in ids.items()}
    assert sum(p["numInputRows"] for p in query.recentProgress) == 1000


def test_two_outlets_may_share_a_topic(bench: Bench) -> None:
    """Two outlets of a query with the same topic write one commit with the records of both."""
    feed(bench, 10)
    rows = bench.read(inlet("in"))
    bench.run(bench.write(rows, outlet("out", name="a"), outlet("out", name="b")))
    assert sorted(ids_of(bench.topic("out").scan())) == sorted([*range(10), *range(10)])


def test_state_is_correct_after_a_second_execution(bench: Bench) -> None:
    """A stateful query has correct state after a batch with broken rows, which is executed twice."""
    plan = outlet("out", COLOURED, on_invalid="dead-letters")
    for number, ids in enumerate(([1, 2, 2, 3], [2, 3, 4], [4, 5])):
        add(bench.topic("in"), number, ids)
        rows = coloured(bench, "id = 3").dropDuplicates(["id"])
        bench.run(bench.write(rows, plan, dead_letters="dead"))
        bench.forget_commit()
    assert sorted(ids_of(bench.topic("out").scan())) == [1, 2, 4, 5]
    assert dead_ids(bench) == [3]


def test_a_full_disk_is_one_clear_error(bench: Bench, small_disk: SmallDisk) -> None:
    """If the disk is full, the query fails with one sentence, and no data of the batch is visible. The batch succeeds
    once there is space."""
    from streamlets.channels.delta.channel import DeltaChannel

    add(bench.topic("in"), 0, range(400_000))
    source = bench.read(inlet("in"))
    bench.channel = DeltaChannel(small_disk.path / "topics")
    with pytest.raises(Exception, match="TopicWriteError: cannot write to topic `out`: no space left on device"):
        bench.run(bench.write(source, outlet("out")))
    assert bench.topic("out").lag(None).records == 0
    assert not list(bench.topic("out").path.rglob("part-*"))
    small_disk.grow()
    bench.run(bench.write(source, outlet("out")))
    assert bench.topic("out").lag(None).records == 400_000


class SmallDisk:
    """A file system of 1 MB if the user may mount one; otherwise Spark's writer raises the same error."""

    def __init__(self, path: Path, patches: pytest.MonkeyPatch) -> None:
        self.path = path
        self._patches = patches
        path.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(path)]
        self.mounted = os.geteuid() == 0 and subprocess.run(mount, capture_output=True).returncode == 0
        if not self.mounted:
            from pyspark.sql import DataFrameWriter

            def full(*_: object) -> None:
                raise RuntimeError("java.io.IOException: No space left on device")

            patches.setattr(DataFrameWriter, "parquet", full)

    def grow(self) -> None:
        """Add space."""
        if self.mounted:
            subprocess.run(["mount", "-o", "remount,size=64m", str(self.path)], check=True)
        self._patches.undo()

    def close(self) -> None:
        """Unmount the file system."""
        if self.mounted:
            subprocess.run(["umount", "-l", str(self.path)], check=True)


@pytest.fixture
def small_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SmallDisk]:
    """Return a small disk, closed after the test."""
    disk = SmallDisk(tmp_path / "disk", monkeypatch)
    yield disk
    disk.close()


def test_a_full_disk_at_the_manifest(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the disk is full when the manifest is written, the error is as clear, and no manifest is left."""
    feed(bench)
    writer = bench.write(bench.read(inlet("in")), outlet("out"))
    real, refusals = objects._write, []

    def full(path: Path, data: bytes) -> None:
        if b"dead-letters" in data:  # the manifest
            refusals.append(path)
            raise OSError(28, "No space left on device")
        real(path, data)

    monkeypatch.setattr(objects, "_write", full)
    with pytest.raises(Exception, match=r"TopicWriteError: writer\.q: .*No space left on device"):
        bench.run(writer)
    monkeypatch.setattr(objects, "_write", real)
    assert len(refusals) == 1
    assert bench.topic("out").lag(None).records == 0
    assert not [p for p in (bench.root / "topics" / STAGED).rglob("*") if p.is_file()]
    bench.run(bench.write(bench.read(inlet("in")), outlet("out")))
    assert sorted(ids_of(bench.topic("out").scan())) == list(range(1000))


def test_a_dead_letter_is_replayed_without_loss(bench: Bench) -> None:
    """A row with values of all types breaks its contract by one field. Replayed with a contract that allows it, its
    values are exact to the microsecond, the last digit and the byte."""
    from pyspark.sql import functions as F

    from streamlets.runner.dead_letters.replay import Outlets, Replayed, replay

    part = {"type": "record", "name": "P", "fields": [{"name": "x", "type": "int"}]}

    def rich(*symbols: str) -> Contract:
        return contract(
            ("id", "long"),
            ("at", {"type": "long", "logicalType": "timestamp-micros"}),
            ("local", {"type": "long", "logicalType": "local-timestamp-micros"}),
            ("day", {"type": "int", "logicalType": "date"}),
            ("raw", "bytes"),
            ("price", {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 10}),
            ("ratio", "double"),
            ("either", ["null", "string", "long"]),
            ("names", {"type": "map", "values": "string"}),
            ("parts", {"type": "array", "items": part}),
            ("colour", {"type": "enum", "name": "Colour", "symbols": list(symbols)}),
        )  # fmt: skip

    columns = [
        "id",
        "timestamp'2024-02-29 12:34:56.789012' AS at",
        "timestamp_ntz'2024-02-29 12:34:56.789012' AS local",
        "date'2024-02-29' AS day",
        "X'00FF10' AS raw",
        "CAST(12345678901234567890.0123456789 AS DECIMAL(30,10)) AS price",
        "CAST('NaN' AS DOUBLE) AS ratio",
        "IF(id = 0, NULL, named_struct('member0', CAST(NULL AS STRING), 'member1', id)) AS either",
        "map('a', 'b') AS names",
        "array(named_struct('x', 1)) AS parts",
        "'GREEN' AS colour",
    ]
    feed(bench, 2)
    rows = bench.read(inlet("in")).select(*map(F.expr, columns))
    bench.run(bench.write(rows, outlet("out", rich("RED"), on_invalid="dead-letters"), dead_letters="dead"))
    assert bench.topic("out").lag(None).records == 0
    allowed = outlet("out", rich("RED", "GREEN"))
    targets = Outlets({"writer.out": allowed}, bench.topic, lambda plan: plan.topic)
    assert replay(bench.topic("dead"), targets, lambda letter: True) == Replayed({"writer.out": 2})
    bench.run(bench.write(rows, outlet("direct", rich("RED", "GREEN")), query="direct"))
    replayed, direct = (
        sorted((row for batch in bench.topic(name).scan() for row in batch.to_pylist()), key=lambda row: row["id"])
        for name in ("out", "direct")
    )
    assert [str(row) for row in replayed] == [str(row) for row in direct]
    assert len(replayed) == 2
