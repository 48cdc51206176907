"""Topics through Spark: reading, writing, limits, layouts, output modes."""

from __future__ import annotations

import datetime as dt
import json
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from blueprint.avro.sources.loading import parse_contract
from streamlets.channels.base import Position
from streamlets.contract.types import arrow_schema
from streamlets.spark.drain import drain
from tests.streamlets.channels.conftest import Bench
from tests.streamlets.channels.topics import READING, add, append, batch, contract, ids_of, inlet, outlet

pytestmark = pytest.mark.spark


def feed(bench: Bench, commits: int = 3, each: int = 10, topic: str = "in") -> None:
    """Append commits of `each` records with ids from 0 on."""
    for number in range(commits):
        add(bench.topic(topic), number, range(number * each, (number + 1) * each))


def test_records_pass_from_topic_to_topic(bench: Bench) -> None:
    """A query copies each record of a topic once, and delta-rs can read the copy."""
    feed(bench)
    bench.run(bench.write(bench.read(inlet("in")), outlet("out")))
    assert sorted(ids_of(bench.topic("out").scan())) == list(range(30))
    table = DeltaTable(bench.topic("out").path / READING.fingerprint)
    assert sorted(table.to_pyarrow_table().column("id").to_pylist()) == list(range(30))
    assert [(b.batch, dict(b.rows), b.replayed) for b in bench.batches] == [(0, {"out": 30}, False)]


EVERYTHING = contract(
    ("b", "boolean"), ("i", "int"), ("l", "long"), ("f", "float"), ("d", "double"), ("s", "string"), ("y", "bytes"),
    ("day", {"type": "int", "logicalType": "date"}),
    ("millis", {"type": "long", "logicalType": "timestamp-millis"}),
    ("micros", {"type": "long", "logicalType": "timestamp-micros"}),
    ("local", {"type": "long", "logicalType": "local-timestamp-micros"}),
    ("price", {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}),
    ("colour", {"type": "enum", "name": "Colour", "symbols": ["RED", "BLUE"]}),
    ("hash", {"type": "fixed", "name": "Hash", "size": 2}),
    ("tags", {"type": "array", "items": ["null", "string"]}),
    ("sizes", {"type": "map", "values": "long"}),
    ("inner", {"type": "record", "name": "Inner", "fields": [{"name": "x", "type": ["null", "int"]}]}),
    ("either", ["null", "string", "int"]),
)  # fmt: skip


def test_values_of_all_types_are_preserved(bench: Bench) -> None:
    """Values of each Avro type are unchanged after Spark and a topic."""
    utc = dt.UTC
    row = {
        "b": True, "i": -1, "l": 2**62, "f": 0.5, "d": 0.1, "s": "é\n'", "y": b"\x00\xff", "day": dt.date(1899, 12, 31),
        "millis": dt.datetime(2013, 3, 10, 2, 30, 0, 123000, tzinfo=utc),
        "micros": dt.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=utc),
        "local": dt.datetime(2013, 3, 10, 2, 30, 0, 1), "price": Decimal("-1234567.89"), "colour": "BLUE",
        "hash": b"ab", "tags": ["x", None], "sizes": [("k", 1)], "inner": {"x": None},
        "either": {"member0": None, "member1": 7},
    }  # fmt: skip
    records = pa.RecordBatch.from_pylist([row], schema=arrow_schema(EVERYTHING))
    append(bench.topic("in"), [records], EVERYTHING, 0)
    bench.run(bench.write(bench.read(inlet("in", EVERYTHING)), outlet("out", EVERYTHING)))
    (copy,) = bench.topic("out").scan(EVERYTHING)
    assert copy.to_pylist() == [row]
    assert copy.schema.equals(arrow_schema(EVERYTHING))
    assert DeltaTable(bench.topic("out").path / EVERYTHING.fingerprint).to_pyarrow_table().num_rows == 1


def test_an_inlet_limits_its_batches(bench: Bench) -> None:
    """A batch has as many commits as the limit of the inlet allows, at least one; a bounded run reads all records."""
    for number, ids in enumerate((range(2), range(2, 5), range(5, 15), range(15, 30))):
        add(bench.topic("in"), number, ids)
    query = bench.run(bench.write(bench.read(inlet("in", max_records=10)), outlet("out")))
    assert [b.rows["out"] for b in bench.batches] == [5, 10, 15]
    assert Position(query.lastProgress["sources"][0]["endOffset"]) == bench.topic("in").end()
    assert sorted(ids_of(bench.topic("out").scan())) == list(range(30))


def test_a_bounded_run_continues_after_the_previous_one(bench: Bench) -> None:
    """The next bounded run with the same checkpoint reads only new records."""
    feed(bench, commits=1)
    for number in (1, 2):
        bench.run(bench.write(bench.read(inlet("in")), outlet("out")))
        add(bench.topic("in"), number, range(number * 10, number * 10 + 10))
    assert [b.rows["out"] for b in bench.batches] == [10, 10]


def test_an_inlet_may_start_at_the_end(bench: Bench) -> None:
    """With `starting` latest, a query with a new checkpoint reads only records that are added later."""
    feed(bench, commits=1)
    latest = inlet("in", starting="latest")
    bench.run(bench.write(bench.read(latest), outlet("out")))
    add(bench.topic("in"), 1, [77])
    bench.run(bench.write(bench.read(latest), outlet("out")))
    assert ids_of(bench.topic("out").scan()) == [77]


def test_metadata_has_the_position_of_a_record(bench: Bench) -> None:
    """With metadata each record has its position, unique in the topic, and the time of its commit."""
    feed(bench, commits=2, each=3)
    rows = bench.read(inlet("in", max_records=4), metadata=True)
    bench.run(
        rows.select("id", "_meta.*").writeStream.format("parquet")
        .option("path", str(bench.root / "out")).option("checkpointLocation", str(bench.root / "checkpoints" / "m"))
    )  # fmt: skip
    rows_read = sorted(bench.session.read.parquet(str(bench.root / "out")).collect())
    table = READING.fingerprint
    places = [(r.id, r.position, r.sequence) for r in rows_read]
    assert places == [(i, f"{table}/{1 + i // 3}", i % 3) for i in range(6)]
    assert all(r.key is None and r.headers is None and r.timestamp.year >= 2025 for r in rows_read)


WITH_DEFAULT = parse_contract(
    '{"type": "record", "name": "Reading", "fields": [{"name": "id", "type": "long"},'
    ' {"name": "src", "type": ["string", "null"], "default": "none"}]}'
)


def test_records_of_several_schemas_are_read_with_one(bench: Bench) -> None:
    """Records of several writers' schemas are read with the schema of the reader, also those of a writer that starts
    while the reader runs."""
    old = contract(("id", "int"))
    new = contract(("id", "long"), ("src", ["null", "string"]), ("more", "string"))
    rows = pa.RecordBatch.from_pylist([{"id": 1}], schema=arrow_schema(old))
    append(bench.topic("in"), [rows], old, 0, writer="old")
    copy = bench.write(bench.read(inlet("in", WITH_DEFAULT)), outlet("out", WITH_DEFAULT))
    query = copy.trigger(processingTime="0 seconds").start()
    wait_for(lambda: bench.topic("out").lag(None).records == 1, query)
    rows = pa.RecordBatch.from_pylist([{"id": 2, "src": "s", "more": "m"}], schema=arrow_schema(new))
    append(bench.topic("in"), [rows], new, 0, writer="new")
    wait_for(lambda: bench.topic("out").lag(None).records == 2, query)
    rows_read = [r for b in bench.topic("out").scan() for r in b.to_pylist()]
    assert rows_read == [{"id": 1, "src": "none"}, {"id": 2, "src": "s"}]


PARTITIONED = contract(
    ("id", "long"), ("src", ["null", "string"]), ("at", {"type": "long", "logicalType": "timestamp-micros"})
)


def test_files_are_partitioned_by_columns(bench: Bench) -> None:
    """Partition columns preserve null, the empty string, special characters and timestamps."""
    sources = [None, "", "a/b=c d%20", "ünïcödé:*?", "x'\"\\"]
    rows = [{"id": i, "src": s, "at": dt.datetime(2024, 1, 1, i, tzinfo=dt.UTC)} for i, s in enumerate(sources)]
    records = pa.RecordBatch.from_pylist(rows, schema=arrow_schema(PARTITIONED))
    append(bench.topic("in"), [records], PARTITIONED, 0)
    plan = outlet("out", PARTITIONED, partition_by=("src", "at"))
    bench.run(bench.write(bench.read(inlet("in", PARTITIONED)), plan))
    rows_read = sorted((r for b in bench.topic("out").scan(PARTITIONED) for r in b.to_pylist()), key=lambda r: r["id"])
    assert rows_read == rows
    (directory,) = (p for p in bench.topic("out").path.iterdir() if p.is_dir())
    values = {(v["src"], v["at"]) for v in _partitions(directory)}
    assert values == {(s or None, f"2024-01-01 0{i}:00:00.000000") for i, s in enumerate(sources)}
    theirs = DeltaTable(directory).to_pyarrow_table().sort_by("id").to_pylist()
    assert [(r["id"], r["src"], r["at"]) for r in theirs] == [(r["id"], r["src"] or None, r["at"]) for r in rows]


def _partitions(table: Any) -> list[dict[str, str | None]]:
    lines = (table / "_delta_log" / f"{1:020}.json").read_text().splitlines()
    return [json.loads(line)["add"]["partitionValues"] for line in lines if '"add"' in line]


def test_other_partition_columns_lead_to_another_table(bench: Bench) -> None:
    """If the partition columns of an outlet change, its records are written to another table, which readers find."""
    feed(bench)
    reader = (
        bench.write(bench.read(inlet("out")), outlet("copy"), query="copy").trigger(processingTime="0 seconds").start()
    )
    bench.run(bench.write(bench.read(inlet("in")), outlet("out")))
    add(bench.topic("in"), 9, range(100, 110))
    bench.run(bench.write(bench.read(inlet("in")), outlet("out", partition_by=("src",))))
    assert len([p for p in bench.topic("out").path.iterdir() if p.is_dir()]) == 2
    wait_for(lambda: bench.topic("copy").lag(None).records == 40, reader)
    assert sorted(ids_of(bench.topic("copy").scan())) == [*range(30), *range(100, 110)]


def wait_for(done: Any, query: Any, seconds: float = 240.0) -> None:
    """Wait until a condition is true, or the query has failed."""
    import time

    end = time.monotonic() + seconds
    while not done():
        assert query.exception() is None, query.exception()
        assert time.monotonic() < end, "the condition did not become true"
        time.sleep(0.05)


def test_update_and_complete_modes(bench: Bench) -> None:
    """An aggregation can be written in update mode (changed groups) and in complete mode (the whole result)."""
    from pyspark.sql import functions as F

    counted = contract(("kind", "long"), ("n", "long"), name="Counted")
    feed(bench, commits=2, each=4)
    for mode in ("update", "complete"):
        kinds = (
            bench.read(inlet("in", max_records=4)).groupBy((F.col("id") % 2).alias("kind")).agg(F.count("*").alias("n"))
        )
        bench.run(bench.write(kinds, outlet(mode, counted), query=mode).outputMode(mode))
        rows_read = [tuple(r.values()) for b in bench.topic(mode).scan() for r in b.to_pylist()]
        assert sorted(rows_read) == [(0, 2), (0, 4), (1, 2), (1, 4)]


def test_an_empty_batch_writes_no_commit(bench: Bench) -> None:
    """A batch whose rows are all filtered out writes no version, no manifest and no file."""
    feed(bench)
    bench.run(bench.write(bench.read(inlet("in")).where("id < 0"), outlet("out")))
    assert bench.topic("out").lag(None).records == 0
    table = bench.topic("out").path / READING.fingerprint
    assert [p.name for p in (table / "_delta_log").iterdir()] == [f"{0:020}.json"]
    assert not list(table.rglob("*.parquet"))
    assert dict(bench.batches[0].rows) == {"out": 0}


def test_a_deleted_topic_fails_its_reader_in_one_line(bench: Bench) -> None:
    """A running reader whose topic is deleted fails; the message has the topic, its directory and help."""
    feed(bench)
    query = bench.write(bench.read(inlet("in")), outlet("out")).trigger(processingTime="0 seconds").start()
    wait_for(lambda: bench.topic("out").lag(None).records == 30, query)
    shutil.rmtree(bench.topic("in").path)
    with pytest.raises(
        Exception,
        match=r"TopicLostError: the .* of topic `in` was deleted or replaced .*flow checkpoints reset .*--fresh",
    ):
        query.awaitTermination(60)


def test_a_deleted_topic_fails_its_writer(bench: Bench) -> None:
    """A writer whose topic was deleted fails, and does not create an incomplete topic."""
    feed(bench, commits=1)
    bench.run(bench.write(bench.read(inlet("in")), outlet("out")))
    writer = bench.write(bench.read(inlet("in")), outlet("out"))
    shutil.rmtree(bench.topic("out").path)
    add(bench.topic("in"), 1, [5])
    with pytest.raises(Exception, match=r"TopicLostError: the .* of topic `out` was deleted"):
        bench.run(writer)
    assert not (bench.root / "topics" / "out").exists()


def test_a_draining_streamlet_ends_on_a_commit(bench: Bench) -> None:
    """After `drain` the running batch is the last one: its offset is committed, and the next start reads the rest."""
    feed(bench, commits=100, each=1)
    one = inlet("in", max_records=1)
    query = bench.write(bench.read(one), outlet("out")).trigger(processingTime="0 seconds").start()
    wait_for(lambda: bench.topic("out").lag(None).records >= 3, query)
    drain(query)
    assert query.awaitTermination(60)
    checkpoint = bench.root / "checkpoints" / "q"
    offsets, commits = (
        max(int(p.name) for p in (checkpoint / n).iterdir() if p.name.isdigit()) for n in ("offsets", "commits")
    )
    assert offsets == commits
    done = bench.topic("out").lag(None).records
    assert 3 <= done < 100
    bench.run(bench.write(bench.read(inlet("in")), outlet("out")))
    assert sorted(ids_of(bench.topic("out").scan())) == list(range(100))


def last(directory: Path) -> int:
    """Return the highest batch in a directory of a Spark checkpoint."""
    return max(int(path.name) for path in directory.iterdir() if path.name.isdigit())


def test_many_records_are_read_by_several_tasks(bench: Bench) -> None:
    """A large file is read by several tasks, and every record is read once."""
    from pyspark.sql import functions as F

    append(bench.topic("in"), [batch(range(50_000)), batch(range(50_000, 120_000))], READING, 0)
    parts = bench.read(inlet("in")).withColumn("part", F.spark_partition_id())
    bench.run(
        parts.writeStream.format("parquet")
        .option("path", str(bench.root / "out")).option("checkpointLocation", str(bench.root / "checkpoints" / "m"))
    )  # fmt: skip
    rows_read = bench.session.read.parquet(str(bench.root / "out"))
    assert rows_read.agg(F.count("*"), F.countDistinct("id"), F.countDistinct("part")).first() == (120_000, 120_000, 2)
