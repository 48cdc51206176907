"""Records that Spark reads itself are the records that Python reads, whichever way they are stored and split."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from blueprint.avro.model import Contract
from streamlets.channels.delta import native
from streamlets.channels.delta.native import NativePlanner, watch_of
from streamlets.channels.delta.planning import Reading
from streamlets.channels.delta.records import read_slices
from streamlets.channels.records import fitted
from streamlets.contract.resolve import is_read_by_name, resolver
from streamlets.contract.types import arrow_schema
from tests.streamlets.channels.conftest import Bench
from tests.streamlets.channels.test_spark import WITH_DEFAULT, wait_for
from tests.streamlets.channels.topics import READING, add, append, contract, ids_of, inlet, made, outlet
from tests.streamlets.contract.cases import CASES, Case
from tests.streamlets.contract.test_resolve import batch as records_of
from tests.streamlets.contract.test_resolve import contracts

BY_NAME = [case for case in CASES if is_read_by_name(*contracts(case))]


def is_native(rows: Any) -> bool:
    """Return whether Spark reads the files of a DataFrame itself."""
    return "PlannedSource" in rows._jdf.queryExecution().logical().toString()


def read_all(bench: Bench, rows: Any, name: str = "all") -> list[Any]:
    """Return all rows of a stream, read by a bounded query."""
    query = rows.writeStream.format("memory").queryName(name).option("checkpointLocation", str(bench.root / name))
    bench.run(query)
    return list(bench.session.table(name).collect())


@pytest.mark.parametrize("case", BY_NAME, ids=lambda case: case.name)
def test_reading_by_name_gives_what_avro_gives(case: Case) -> None:
    """If columns are read by their names, the columns that a file lacks are null, and no value is converted."""
    writer, reader = contracts(case)
    batch = by_name = records_of(case)
    for name, kind in ((field.name, field.type) for field in arrow_schema(reader)):  # `fitted` widens no numbers
        if name in batch.schema.names and pa.types.is_primitive(kind):
            number = batch.schema.get_field_index(name)
            by_name = by_name.set_column(number, name, batch.column(number).cast(kind))
    assert fitted(by_name, arrow_schema(reader)).to_pylist() == resolver(writer, reader)(batch).to_pylist()


def test_most_kinds_of_schemas_are_read_in_both_ways() -> None:
    """The cases of Avro's rules have both: values that stay, and values that only Python converts."""
    assert 20 < len(BY_NAME) < len(CASES) - 20


OTHERS = {
    "another name": (contract(("x", "long")), contract(("X", ["null", "long"]))),
    "a column of nulls": (contract(("x", "null")), contract(("x", "null"))),
    "two names that differ in case": (contract(("x", "long"), ("X", "long")),) * 2,
    "a name in another case": (contract(("X", "long")), contract(("id", ["null", "long"]), ("x", ["null", "long"]))),
    "an integer that becomes a fraction": (contract(("x", "int")), contract(("x", "double"))),
    "a wider number in a list": (
        contract(("x", {"type": "array", "items": "int"})),
        contract(("x", {"type": "array", "items": "long"})),
    ),
    "no common field": (contract(("x", "int")), contract(("y", "long"))),
}


@pytest.mark.parametrize("name", OTHERS)
def test_python_reads_what_differs(name: str) -> None:
    """Spark would find another column, or none."""
    assert not is_read_by_name(*OTHERS[name])


@pytest.mark.spark
def test_spark_reads_all_kinds_of_values(bench: Bench) -> None:
    """Records of all schemas that are read by name arrive as Python reads them, in a stream each."""
    for number, case in enumerate(BY_NAME):
        writer, reader = contracts(case)
        topic = bench.topic(f"t{number}")
        append(topic, [records_of(case)], writer, 0)
        rows = bench.read(inlet(f"t{number}", reader))
        assert is_native(rows), case.name
        expected = pa.Table.from_batches(topic.scan(reader), arrow_schema(reader)).to_pylist()
        found = [row.asDict(recursive=True) for row in read_all(bench, rows, f"all{number}")]
        assert sorted(map(_comparable, found)) == sorted(map(_comparable, expected)), case.name


def _comparable(value: Any) -> str:
    """Return a value in one notation for Spark, whose times have no zone, and for Arrow, whose maps are pairs."""
    if value in ({}, []):
        return "empty"
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{_comparable(item)}" for key, item in sorted(value.items())) + "}"
    if isinstance(value, list):
        pairs = [item for item in value if isinstance(item, tuple)]
        return _comparable(dict(pairs)) if pairs else f"[{','.join(map(_comparable, value))}]"
    if hasattr(value, "tzinfo"):
        return str(value.replace(tzinfo=None))
    return repr(bytes(value)) if isinstance(value, (bytes, bytearray)) else repr(value)


@pytest.mark.spark
@pytest.mark.parametrize(
    "setting",
    ["", "spark.sql.parquet.enableVectorizedReader=false", "spark.sql.parquet.columnarReaderBatchSize=7",
     "spark.sql.parquet.enableNestedColumnVectorizedReader=false", "spark.sql.columnVector.offheap.enabled=true",
     "spark.sql.codegen.maxFields=1", "spark.sql.caseSensitive=true", "spark.sql.files.ignoreMissingFiles=true"],
)  # fmt: skip
def test_tasks_read_exactly_their_rows(bench: Bench, setting: str) -> None:
    """A task begins and ends inside a file and inside Spark's batches of rows, also with nested columns."""
    kind = contract(
        ("id", "long"), ("tags", {"type": "array", "items": "string"}), ("sizes", {"type": "map", "values": "long"}),
        ("inner", {"type": "record", "name": "Inner", "fields": [{"name": "x", "type": ["null", "string"]}]}),
    )  # fmt: skip
    if setting:
        bench.session.conf.set(*setting.split("="))
    topic = bench.topic("in")
    for number in range(3):
        ids = range(number * 10_000, number * 10_000 + 10_000)
        rows = [
            {"id": i, "tags": [f"{i}"] * (i % 3), "sizes": [("k", i)], "inner": {"x": f"{i}" if i % 2 else None}}
            for i in ids
        ]
        append(topic, [pa.RecordBatch.from_pylist(rows, schema=arrow_schema(kind))], kind, number)
    stream = bench.read(inlet("in", kind), replicas=7)
    assert is_native(stream)
    found = {row.id: row for row in read_all(bench, stream)}
    assert sorted(found) == list(range(30_000))
    for i, row in found.items():
        assert (row.tags, row.sizes, row.inner.x) == ([f"{i}"] * (i % 3), {"k": i}, f"{i}" if i % 2 else None)


@pytest.mark.spark
@pytest.mark.parametrize("setting", ["", "spark.sql.parquet.enableVectorizedReader=false"])
def test_numbers_are_widened(bench: Bench, setting: str) -> None:
    """Integers become longs, and floats doubles, with and without dictionaries and nulls."""
    if setting:
        bench.session.conf.set(*setting.split("="))
    stored = contract(("id", "int"), ("few", ["null", "int"]), ("x", "float"), ("y", ["null", "float"]))
    wider = contract(("id", "long"), ("few", ["null", "long"]), ("x", "double"), ("y", ["null", "double"]))
    rows = [{"id": -i, "few": i % 3 or None, "x": i / 4, "y": None if i % 5 else 0.5} for i in range(9000)]
    topic = bench.topic("in")
    append(topic, [pa.RecordBatch.from_pylist(rows, schema=arrow_schema(stored))], stored, 0)
    stream = bench.read(inlet("in", wider), replicas=2)
    assert is_native(stream)
    found = sorted((row.asDict() for row in read_all(bench, stream)), key=lambda row: -row["id"])
    assert found == rows == pa.Table.from_batches(topic.scan(wider)).to_pylist()


@pytest.mark.spark
def test_a_path_may_have_any_characters(bench: Bench) -> None:
    """The path of a topic is neither a URL nor a pattern."""
    name = "a b%20c#d?e[1]{2}é"
    add(bench.topic(name), 0, range(5))
    rows = bench.read(inlet(name))
    assert is_native(rows) and sorted(row.id for row in read_all(bench, rows)) == list(range(5))


@pytest.mark.spark
def test_a_topic_may_ask_for_python(bench: Bench) -> None:
    """With `reader = python`, and with the column `_meta`, the records pass through Python."""
    add(bench.topic("in"), 0, range(5))
    topic = bench.channel.topic(bench.channels.plan("in", options={"reader": "python"}))
    rows = topic.read(bench.session, inlet("in"), name="python")
    assert not is_native(rows) and len(read_all(bench, rows)) == 5
    assert not is_native(bench.read(inlet("in"), metadata=True))


@pytest.mark.spark
def test_each_reader_continues_where_the_other_one_ended(bench: Bench) -> None:
    """Both have the same positions, so a checkpoint of one serves the other, and no batch is repeated or empty."""
    topics = [bench.channel.topic(bench.channels.plan("in", options={"reader": name})) for name in ("python", "auto")]
    topics[0].create([READING])
    for number in range(4):
        add(topics[0], number, range(number * 10, number * 10 + 10))
        rows = topics[number % 2].read(bench.session, inlet("in"), name="in_")
        assert is_native(rows) is bool(number % 2)
        bench.run(bench.write(rows, outlet("out")))
    assert [b.rows["out"] for b in bench.batches] == [10] * 4
    assert sorted(ids_of(bench.topic("out").scan())) == list(range(40))


@pytest.mark.spark
@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "same size", "another's"])
def test_a_damaged_file_is_named(bench: Bench, damage: str) -> None:
    """A file that is not the one that was committed ends the query, with the same message as in Python."""
    topic = bench.topic("in")
    add(topic, 0, range(100))
    (file,) = topic.path.glob("*/data/**/*.parquet")
    whole = file.read_bytes()
    damaged = {"empty": b"", "cut": whole[:-20], "same size": b"x" * len(whole), "another's": whole + whole}
    file.unlink() if damage == "missing" else file.write_bytes(damaged[damage])
    with pytest.raises(Exception, match="TopicDamagedError") as raised:
        read_all(bench, bench.read(inlet("in")))
    message = str(raised.value)
    for part in ("topic `in` is damaged", "the file with 100 records of commit 1", str(file), "--fresh"):
        assert part in message, message
    with pytest.raises(Exception, match="the file with 100 records of commit 1"):
        list(topic.scan())


@pytest.mark.spark
def test_other_records_are_read_in_python_from_the_next_start_on(bench: Bench) -> None:
    """A query that reads natively cannot convert the records of a new writer; its next start does."""
    wide, narrow = WITH_DEFAULT, contract(("id", "long"))
    topic = bench.topic("in")
    append(topic, [pa.RecordBatch.from_pylist([{"id": 1, "src": "a"}], schema=arrow_schema(wide))], wide, 0)
    copy = bench.write(bench.read(inlet("in", wide)), outlet("out", wide))
    query = copy.trigger(processingTime="0 seconds").start()
    wait_for(lambda: bench.topic("out").lag(None).records == 1, query)
    append(topic, [pa.RecordBatch.from_pylist([{"id": 2}], schema=arrow_schema(narrow))], narrow, 0, writer="narrow")
    with pytest.raises(Exception, match="converted in Python"):
        query.awaitTermination(60)
    rows = bench.read(inlet("in", wide))
    assert not is_native(rows)
    bench.run(bench.write(rows, outlet("out", wide)))
    assert sorted(ids_of(bench.topic("out").scan())) == [1, 2]


@pytest.mark.spark
def test_an_idle_query_looks_at_files_only(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without news, Spark calls the planner once a second at most; a commit is found without waiting for that."""
    calls = []
    latest = NativePlanner.latest

    def counted(planner: NativePlanner, start: Any, *, all: bool) -> Any:
        calls.append(time.monotonic())
        return latest(planner, start, all=all)

    monkeypatch.setattr(NativePlanner, "latest", counted)
    monkeypatch.setattr("streamlets.channels.delta.log._SETTLED", 0.1)
    add(bench.topic("in"), 0, [0])
    query = bench.write(bench.read(inlet("in")), outlet("out")).trigger(processingTime="0 seconds").start()
    wait_for(lambda: bench.topic("out").lag(None).records == 1, query)
    time.sleep(1.0)
    begun, before = time.monotonic(), len(calls)
    time.sleep(3.0)
    idle = time.monotonic() - begun
    assert len(calls) - before <= idle + 2
    for number in range(1, 20):
        add(bench.topic("in"), number, [number])
    wait_for(lambda: bench.topic("out").lag(None).records == 20, query)
    query.stop()
    assert sorted(ids_of(bench.topic("out").scan())) == list(range(20))


def test_a_new_commit_or_table_shows_in_the_files(tmp_path: Path) -> None:
    """A planner that has nothing new says which files will show news, unless it cannot tell yet."""
    topic = made(tmp_path)
    add(topic, 0, range(3))
    planner = NativePlanner(_reading(topic.path))
    end, _ = planner.latest(planner.initial(), all=False)
    _, watch = planner.latest(end, all=False)
    assert watch is None  # the directory was just changed: another change may have the same time
    log = planner._planner.log()
    assert log is not None
    log.clock = lambda: time.time() + 60
    _, watch = planner.latest(end, all=False)
    assert watch is not None and watch == watch_of(log) and not any(Path(path).exists() for path in watch.awaited)
    add(topic, 1, range(3))
    assert any(Path(path).exists() for path in watch.awaited)
    append(topic, [records_of_other()], OTHER, 0, writer="other")
    assert topic.path.stat().st_mtime_ns // 1_000_000 != watch.modified


OTHER = contract(("id", "long"), ("src", ["null", "string"]), ("note", ["null", "string"]))


def records_of_other() -> pa.RecordBatch:
    """Return a record of another schema."""
    return pa.RecordBatch.from_pylist([{"id": 7}], schema=arrow_schema(OTHER))


def test_a_plan_has_the_records_of_a_batch(tmp_path: Path) -> None:
    """The stretches of all tasks are the records that Python reads, and each task has its share."""
    topic = made(tmp_path)
    for number in range(4):
        add(topic, number, range(number * 10, number * 10 + 10))
    planner = NativePlanner(_reading(topic.path, replicas=3))
    start, (end, _) = planner.initial(), planner.latest(planner.initial(), all=True)
    tasks = planner.plan(start, end)
    assert [sum(stretch.rows for stretch in task) for task in tasks] == [13, 13, 14]
    slices = [piece for part in planner._planner.parts(start, end) for piece in part]
    assert ids_of(read_slices(slices, READING)) == list(range(40))


def _reading(path: Path, *, reader: Contract = READING, replicas: int = 0) -> str:
    return Reading(str(path), reader.json, "earliest", 0, 1, False, replicas=replicas).to_json()


def test_a_bounded_run_does_not_watch(tmp_path: Path) -> None:
    """Its end is fixed, whatever is committed later."""
    topic = made(tmp_path)
    add(topic, 0, range(3))
    planner = NativePlanner(_reading(topic.path))
    planner.bound()
    end, _ = planner.latest(planner.initial(), all=True)
    add(topic, 1, range(3))
    assert planner.latest(end, all=True)[0] == end
    assert native.can_read(Reading.from_json(_reading(topic.path)))
