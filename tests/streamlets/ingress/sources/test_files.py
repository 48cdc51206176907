"""Sources of files: formats, broken, empty, late and rewritten files, and columns from paths."""

from __future__ import annotations

import bz2
import datetime
import gzip
import lzma
import os
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from streamlets.testkit import Testkit
from tests.streamlets.ingress.sources.bench import Bench, Eaten

HEADER = "id,product,price\n"


@pytest.fixture
def kit(tmp_path: Path) -> Iterator[Testkit]:
    """Provide a kit."""
    with Testkit(directory=tmp_path / "kit") as created:
        yield created


def test_csv(kit: Testkit, tmp_path: Path) -> None:
    """Cells have the types of the schema, columns are found by name, and others are ignored."""
    bench = Bench(kit, tmp_path / "data", "csv")
    bench.write("a.csv", '\ufeffprice,id,colour,product\n1.5,1,red,"apple, green"\n,2,,"say ""hi""\n"\n')
    assert bench.read() == [
        {"id": 1, "product": "apple, green", "price": 1.5},
        {"id": 2, "product": 'say "hi"\n', "price": None},
    ]
    assert bench.read() == [] and bench.letters() == []


def test_csv_of_other_forms(kit: Testkit, tmp_path: Path) -> None:
    """Without a header, and with another separator, quote, null and encoding."""
    bench = Bench(
        kit, tmp_path / "data", "csv", header=False, separator=";", quote="'", null_value="NULL", encoding="latin-1"
    )
    bench.write("a.csv", "1;'Käse; alt';NULL\n2;NULL;3\n".encode("latin-1"))
    assert bench.read() == [
        {"id": 1, "product": "Käse; alt", "price": None},
        {"id": 2, "product": None, "price": 3.0},
    ]


def test_values_of_all_types_in_csv(kit: Testkit, tmp_path: Path) -> None:
    """Times are ISO 8601, and decimals keep their digits."""
    schema = "b boolean, i int, d decimal(20,2), day date, at timestamp, local timestamp_ntz, f float"
    bench = Bench(kit, tmp_path / "data", "csv", schema)
    bench.write(
        "a.csv",
        "b,i,d,day,at,local,f\n"
        "true,-7,123456789012345678.90,2024-02-29,2024-02-29T12:00:00+01:00,2024-02-29 12:00,0.5\n",
    )
    (row,) = bench.read()
    assert row == {
        "b": True,
        "i": -7,
        "d": Decimal("123456789012345678.90"),
        "day": datetime.date(2024, 2, 29),
        "at": datetime.datetime(2024, 2, 29, 11, tzinfo=datetime.UTC),
        "local": datetime.datetime(2024, 2, 29, 12),
        "f": 0.5,
    }


@pytest.mark.parametrize(
    ("source", "text", "letters"),
    [
        (
            "csv",
            f"{HEADER}1,a,1\nmany,b,1\n3,c\n,d,1\n5,e,2\n",
            [
                ('{"id": "many", "product": "b", "price": "1"}', "line 3: `id`: is a `str` ('many'), expected `long`"),
                ('["3", "c"]', "line 4: has 2 cells, expected 3"),
                (
                    '{"id": "", "product": "d", "price": "1"}',
                    "line 5: `id`: is a `str` (''), expected `long`",
                ),
            ],
        ),
        (
            "json",
            '{"id": 1, "product": "a", "price": 1}\n{"id": 2\n\n[3]\n{"product": "d"}\n{"id": 5, "price": 2}\n',
            [
                ('{"id": 2', "line 2: invalid JSON: Expecting ',' delimiter: line 1 column 9 (char 8)"),
                ("[3]", "line 4: is not a JSON object, but '[3]'"),
                ('{"product": "d"}', "line 5: `id`: is missing and has no default"),
            ],
        ),
    ],
)
def test_broken_lines_are_dead_letters_by_themselves(
    kit: Testkit, tmp_path: Path, source: str, text: str, letters: list[tuple[str, str]]
) -> None:
    """With the file and the line; the other lines are records."""
    bench = Bench(kit, tmp_path / "data", source)
    path = bench.write("orders", text)
    assert [row["id"] for row in bench.read()] == [1, 5]
    assert bench.letters() == [(record, f"{path}, {reason}") for record, reason in letters]


def test_text(kit: Testkit, tmp_path: Path) -> None:
    """Each line is a record, also an empty one; a line that is not UTF-8 is a dead letter."""
    bench = Bench(kit, tmp_path / "data", "text", "path string, n int", line_column="n")
    bench.write("a.log", b"one\n\ntwo\r\n\xff\nlast")
    assert [(row["n"], row["path"]) for row in bench.read()] == [(1, "one"), (2, ""), (3, "two"), (5, "last")]
    ((_, reason),) = bench.letters()
    assert "line 4: `path`: is not valid UTF-8" in reason


def test_json_values(kit: Testkit, tmp_path: Path) -> None:
    """Nested records, arrays and maps; further keys are ignored."""
    schema = "id long, at timestamp, tags array<string>, where struct<x: double>, counts map<string, int>"
    bench = Bench(kit, tmp_path / "data", "json", schema, encoding="utf-16")
    bench.write(
        "a.json",
        '{"id": 1, "at": "2024-01-01T00:00:00Z", "tags": ["a"], "where": {"x": 1}, "counts": {"k": 2}, "z": 0}\n'
        .encode("utf-16"),
    )  # fmt: skip
    (row,) = bench.read()
    assert row["tags"] == ["a"] and row["where"] == {"x": 1.0} and dict(row["counts"]) == {"k": 2}


@pytest.mark.parametrize(("suffix", "compress"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)])
def test_compressed_files(kit: Testkit, tmp_path: Path, suffix: str, compress: Any) -> None:
    """By their names; a damaged one is a failed task, and says why."""
    bench = Bench(kit, tmp_path / "data", "csv")
    content = compress(f"{HEADER}1,a,1\n".encode())
    bench.write(f"a.csv.{suffix}", content)
    bench.write(f"b.csv.{suffix}", content[:-6])
    assert [row["id"] for row in bench.read()] == [1]
    ((_, reason),) = bench.letters()
    assert "end" in reason.lower()


@pytest.mark.parametrize("source", ["csv", "json", "text", "avro", "parquet"])
def test_empty_files_have_no_records(kit: Testkit, tmp_path: Path, source: str) -> None:
    """They are read as others are, also when they get content later."""
    bench = Bench(kit, tmp_path / "data", source, "line string")
    path = bench.write("empty", "")
    assert bench.read() == [] and bench.letters() == []
    if source == "text":
        path.write_text("now\n")
        assert bench.read() == [{"line": "now"}]


def test_late_and_rewritten_files(kit: Testkit, tmp_path: Path) -> None:
    """A file is read once in each version, whatever its name and its time; a restart changes nothing."""
    bench = Bench(kit, tmp_path / "data", "csv")
    bench.write("b.csv", f"{HEADER}1,a,1\n")
    assert [row["id"] for row in bench.read()] == [1]
    late = bench.write("a.csv", f"{HEADER}2,a,1\n")
    os.utime(late, (1, 1))
    assert [row["id"] for row in bench.read()] == [2]
    bench.source.restart()
    assert bench.read() == []
    bench.write("b.csv", f"{HEADER}1,a,1\n3,c,1\n")
    assert [row["id"] for row in bench.read()] == [1, 3]


def test_a_file_that_is_rewritten_before_it_is_read(kit: Testkit, tmp_path: Path) -> None:
    """Only its last version is read: the next discovery passes it."""
    bench = Bench(kit, tmp_path / "data", "csv")
    path = bench.write("a.csv", f"{HEADER}1,a,1\n")
    bench.source.discover()
    path.write_text(f"{HEADER}1,a,1\n2,b,2\n")
    bench.source.step()
    assert bench.source.outlet("out").take() == [] and bench.letters() == []
    assert [row["id"] for row in bench.read()] == [1, 2]


def test_a_file_that_is_deleted_before_it_is_read(kit: Testkit, tmp_path: Path) -> None:
    """Its records are lost, so its task is a dead letter."""
    bench = Bench(kit, tmp_path / "data", "csv")
    path = bench.write("a.csv", f"{HEADER}1,a,1\n")
    bench.source.discover()
    path.unlink()
    step = bench.source.step()
    assert [reason for _, reason in step.failed] == [f"FileChangedError: `{path}` was deleted before it was read"]


def test_files_that_are_being_written_are_left_alone(tmp_path: Path) -> None:
    """A file that changes while a discovery waits is passed by a later one."""
    from streamlets.ingress.sources.files.tasks import FileTasks

    done, growing, old = (tmp_path / name for name in ("done", "growing", "old"))
    for path in (done, growing, old):
        path.write_text("x")
    eat = Eaten()

    def passed() -> list[str]:
        return [Path(task["path"]).name for task in eat.tasks]

    def grow(seconds: float) -> None:
        growing.write_text("longer")

    tasks = FileTasks(tmp_path, 5.0, grow)
    tasks.discover(eat)
    assert passed() == ["done", "old"]
    tasks = FileTasks(tmp_path, 5.0, lambda seconds: None)
    tasks.discover(eat)
    assert passed() == ["done", "old", "done", "growing", "old"]
    tasks.discover(eat)
    assert len(passed()) == 5, "an instance passes nothing twice"


def test_columns_of_paths(kit: Testkit, tmp_path: Path) -> None:
    """Partitions, the name and the time of the file, and the line."""
    schema = "id long, day date, country string, file string, at timestamp, line long"
    root = tmp_path / "data"
    bench = Bench(
        kit, root, "csv", schema, path=str(root / "**" / "*.csv"), file_column="file", time_column="at",
        line_column="line",
    )  # fmt: skip
    path = bench.write("day=2024-01-31/country=a%2Fb/part.csv", "id\n1\n\n2\n")
    os.utime(path, (1, 1.5))
    bench.write("day=2024-01-31/country=__HIVE_DEFAULT_PARTITION__/part.csv", "id\n3\n")
    wrong = bench.write("day=never/country=x/part.csv", "id\n4\n")
    rows = sorted(bench.read(), key=lambda row: row["id"])
    at = datetime.datetime(1970, 1, 1, 0, 0, 1, 500000, tzinfo=datetime.UTC)
    day = datetime.date(2024, 1, 31)
    assert rows[0] == {"id": 1, "day": day, "country": "a/b", "file": str(path), "at": at, "line": 2}
    assert [(row["id"], row["country"], row["line"]) for row in rows[1:]] == [(2, "a/b", 4), (3, None, 2)]
    ((task, reason),) = bench.letters()
    assert str(wrong) in task and "`day`" in reason and "never" in reason


def test_missing_columns(kit: Testkit, tmp_path: Path) -> None:
    """A file without a column of the schema fails; or the column is null, if it can be."""
    bench = Bench(kit, tmp_path / "data", "csv")
    bench.write("a.csv", "id,produkt,price\n1,a,1\n")
    assert bench.read() == []
    ((_, reason),) = bench.letters()
    assert reason.endswith("the file has no column `product`; its columns: `id`, `produkt`, `price`")
    with Testkit(directory=tmp_path / "second") as second:
        kind = Bench(second, tmp_path / "other", "csv", missing_columns="null")
        kind.write("a.csv", "id,price\n1,1\n")
        kind.write("b.csv", "product\nx\n")
        assert kind.read() == [{"id": 1, "product": None, "price": 1.0}]
        assert "no column `id`" in kind.letters()[0][1]


def test_parquet_and_avro(kit: Testkit, tmp_path: Path) -> None:
    """Their columns are found by name; values that do not fit are dead letters with their place."""
    import fastavro
    import pyarrow as pa
    import pyarrow.parquet as pq

    parquet = Bench(kit, tmp_path / "parquet", "parquet", "id int NOT NULL, tags array<string>, n int", line_column="n")
    table = pa.table({"other": [0, 0, 0], "tags": [["a"], None, []], "id": [1, 2**40, 3]})
    pq.write_table(table, parquet.root / "a.parquet")
    pq.write_table(pa.table({"tags": [["x"]], "id": [4]}), parquet.root / "b.parquet")
    assert [(row["id"], row["tags"], row["n"]) for row in parquet.read()] == [(1, ["a"], 1), (3, [], 3), (4, ["x"], 1)]
    ((_, reason),) = parquet.letters()
    assert reason == f"{parquet.root / 'a.parquet'}, row 2: `id`: is {2**40}, out of range for `int`"

    with Testkit(directory=tmp_path / "second") as second:
        avro = Bench(second, tmp_path / "avro", "avro")
        fields = [{"name": name, "type": type} for name, type in (("product", "string"), ("id", "long"), ("z", "int"))]
        schema = {"type": "record", "name": "R", "fields": fields}
        with (avro.root / "a.avro").open("wb") as file:
            fastavro.writer(file, schema, [{"product": "p", "id": 7, "z": 0}])
        avro.write("b.avro", b"not Avro")
        assert avro.read() == []
        reasons = sorted(reason for _, reason in avro.letters())
        assert "invalid Avro container file" in reasons[0] and "no column `price`" in reasons[1]


def test_typed_columns_of_parquet_keep_their_place(kit: Testkit, tmp_path: Path) -> None:
    """Columns from paths are added to batches that need no conversion."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = "day date, id long, n long, price double"
    root = tmp_path / "data"
    bench = Bench(kit, root, "parquet", schema, path=str(root / "*" / "*"), line_column="n")
    (root / "day=2024-01-31").mkdir()
    pq.write_table(pa.table({"price": [0.5] * 3000, "id": list(range(3000))}), root / "day=2024-01-31" / "a")
    rows = bench.read()
    assert [row["id"] for row in rows] == list(range(3000)) and [row["n"] for row in rows] == list(range(1, 3001))
    assert {row["day"] for row in rows} == {datetime.date(2024, 1, 31)}


@pytest.mark.parametrize("name", ["a.csv", "day=2024-01-31/a.csv"])
def test_a_path_of_one_file(kit: Testkit, tmp_path: Path, name: str) -> None:
    """Without a pattern; only this file is read."""
    path = tmp_path / "data" / name
    path.parent.mkdir(parents=True)
    path.write_text("id,name\n1,a\n")
    path.with_name("b.csv").write_text("id,name\n2,b\n")
    bench = Bench(kit, tmp_path / "data", "csv", "id long, name string", path=str(path))
    assert bench.read() == [{"id": 1, "name": "a"}] and bench.letters() == []


def test_a_column_that_is_there_twice(kit: Testkit, tmp_path: Path) -> None:
    """The file is a dead letter: nobody knows which of them is meant. Another column may be there twice."""
    bench = Bench(kit, tmp_path / "data", "csv")
    bench.write("a.csv", "id,product,price,id\n1,a,1,2\n")
    bench.write("b.csv", "id,product,price,,\n3,a,1,,\n")
    assert [row["id"] for row in bench.read()] == [3]
    ((_, reason),) = bench.letters()
    assert reason == "CodecError: the file has the column `id` twice"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("csv", "id,price\n1,1e400\n2,-1e400\n3,inf\n4,1e300\n"),
        (
            "json",
            '{"id": 1, "price": 1e400}\n{"id": 2, "price": -1%s}\n{"id": 3, "price": "Infinity"}\n'
            '{"id": 4, "price": 1e300}\n' % ("0" * 400),
        ),
    ],
)
def test_numbers_that_are_too_large(kit: Testkit, tmp_path: Path, source: str, text: str) -> None:
    """They are dead letters, and not infinity."""
    bench = Bench(kit, tmp_path / "data", source, "id long, price double")
    bench.write("a", text)
    assert bench.read() == [{"id": 3, "price": float("inf")}, {"id": 4, "price": 1e300}]
    reasons = [reason for _, reason in bench.letters()]
    assert len(reasons) == 2 and all("`price`: is" in reason for reason in reasons)


def test_a_key_of_json_that_is_there_twice(kit: Testkit, tmp_path: Path) -> None:
    """The line is a dead letter."""
    bench = Bench(kit, tmp_path / "data", "json")
    bench.write("a", '{"id": 1, "more": {"x": 1, "x": 2}}\n{"id": 8, "id": 9}\n{"id": 3}\n')
    assert [row["id"] for row in bench.read()] == [3]
    assert [reason.split(": ", 1)[1] for _, reason in bench.letters()] == [
        "invalid JSON: the key `x` is there twice",
        "invalid JSON: the key `id` is there twice",
    ]
