"""Proposed schemas: every record of a sample has the schema, and what is doubtful is listed."""

from __future__ import annotations

import bz2
import csv
import io
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamlets.ingress.sources.sample import SampleError
from streamlets.sampling.proposal import Proposal
from streamlets.sampling.requests import source_of
from streamlets.testkit import Testkit
from tests.streamlets.egress.postgresql import postgresql_server as postgresql_server
from tests.streamlets.ingress.sources.api import Api, serving
from tests.streamlets.ingress.sources.bench import Bench
from tests.streamlets.ingress.sources.test_jdbc import Execute
from tests.streamlets.ingress.sources.test_jdbc import server as server


@pytest.fixture
def kit(tmp_path: Path) -> Iterator[Testkit]:
    """Provide a kit."""
    with Testkit(directory=tmp_path / "kit") as created:
        yield created


@pytest.fixture
def api() -> Iterator[Api]:
    """Provide a server of records."""
    with serving() as server:
        yield server


def of_cells(tmp_path: Path, *cells: str) -> tuple[str, list[str]]:
    """Return the type of a column of a CSV file with these cells, and the doubts."""
    file = tmp_path / "cells.csv"
    with file.open("w", newline="") as opened:
        csv.writer(opened).writerows([["n", "x"], *([str(number), cell] for number, cell in enumerate(cells))])
    return of_file(file, "x")


def of_file(file: Path, column: str, *options: str) -> tuple[str, list[str]]:
    """Return the type of a column of a file, and its doubts."""
    proposal = source_of(str(file), options=options).proposal(1000)
    return dict(proposal.columns)[column], [doubt.reason for doubt in proposal.doubts if doubt.column == column]


CELLS = [
    (("1", "-2", "0"), "bigint NOT NULL", ""),
    (("1", "", "3"), "bigint", ""),
    (("9223372036854775807",), "bigint NOT NULL", ""),
    (("9223372036854775808",), "decimal(38,0) NOT NULL", "too large"),
    (("01", "2"), "string NOT NULL", "first character"),
    (("+4917", "2"), "string NOT NULL", "first character"),
    (("1.5", "2"), "double NOT NULL", ""),
    (("1.5", "2.25"), "double NOT NULL", ""),
    (("1e5", "2.5"), "double NOT NULL", ""),
    (("1.50", "22.25"), "decimal(18,2) NOT NULL", "2 digits"),
    (("1.5", "2.0"), "decimal(18,1) NOT NULL", "1 digit "),
    (("1.5", "2.7"), "double NOT NULL", ""),
    (("1234567890123456.50",), "decimal(38,2) NOT NULL", "only value"),
    (("true", "False"), "boolean NOT NULL", ""),
    (("yes", "no"), "string NOT NULL", "truth"),
    (("2026-01-31", "2024-02-29"), "date NOT NULL", ""),
    (("2026-02-29",), "string NOT NULL", "may be a date"),
    (("31.01.2026",), "string NOT NULL", "may be a date"),
    (("2026-01-31T10:00:00Z", "2026-01-31 10:00:00.5+01:00"), "timestamp NOT NULL", ""),
    (("2026-01-31T10:00:00Z", "2026-01-31 10:00"), "timestamp NOT NULL", "no time zone"),
    (("2026-01-31T10:00:00Z", "2026-01-31"), "string NOT NULL", ""),
    (("123e4567-e89b-12d3-a456-426614174000",), "string NOT NULL", ""),
    (("1", "NA", "3"), "string NOT NULL", "`null-value`"),
    (("1", "2", "3", "4", "many"), "string NOT NULL", "most values are numbers"),
    (("", ""), "string", "no value"),
    (("1_000",), "string NOT NULL", ""),
    (("nan", "1.5"), "string NOT NULL", "`null-value`"),
]


@pytest.mark.parametrize(("cells", "type", "doubt"), CELLS, ids=[" ".join(cells) for cells, _, _ in CELLS])
def test_the_type_of_cells(cells: tuple[str, ...], type: str, doubt: str, tmp_path: Path) -> None:
    """The type is the narrowest one that every cell has, and a doubt says what else it may be."""
    proposed, doubts = of_cells(tmp_path, *cells)
    assert proposed == type
    assert any(doubt in reason for reason in doubts) if doubt else not doubts


def test_a_uuid_is_a_logical_type(tmp_path: Path) -> None:
    """Strings that all are UUIDs have the logical type."""
    (tmp_path / "a.json").write_text('{"id": "123e4567-e89b-12d3-a456-426614174000"}\n')
    (field,) = source_of(str(tmp_path / "a.json")).proposal(10).schema["fields"]
    assert field["type"] == {"type": "string", "logicalType": "uuid"}


POOL: list[Any] = [
    1, -7, 2**40, 2**70, 1.5, 2.25, "12.50", "007", "true", True, False, "2026-01-31", "2026-01-31T10:00:00Z",
    "2026-01-31 10:00", "NA", "", "x", "ä€", "1e9", ".5", "5.", "-", "yes", "123e4567-e89b-12d3-a456-426614174000",
    "a,b", 'q"q', "1_0", " 1", "١",
]  # fmt: skip
NESTED: list[Any] = [
    None,
    [],
    [1, 2],
    ["a", None],
    [{"a": 1}],
    {},
    {"a": 1},
    {"a": "x", "b": [1.5]},
    {"a b": 1},
    {"c": {"d": 1}},
]


@pytest.mark.parametrize("seed", range(60))
def test_every_record_of_a_sample_has_the_schema(seed: int, kit: Testkit, tmp_path: Path) -> None:
    """Whatever values a file has: with the proposed schema, none of its records is a dead letter."""
    chance = random.Random(seed)
    form = chance.choice(["csv", "json"])
    pool = POOL if form == "csv" else [*POOL, *NESTED]
    narrow = [chance.sample(pool, chance.randint(1, 4)) for _ in range(5)]
    rows = [[chance.choice(values) for values in narrow] for _ in range(chance.randint(1, 12))]
    out = io.StringIO()
    if form == "csv":
        csv.writer(out).writerows([list("abcde"), *rows])
    else:
        for row in rows:
            values = {name: value for name, value in zip("abcde", row, strict=True) if chance.random() < 0.9}
            out.write(json.dumps(values) + "\n")
    file = tmp_path / "in" / f"data.{form}"
    file.parent.mkdir()
    file.write_bytes(out.getvalue().encode())
    found = source_of(str(file))
    try:
        schema = found.proposal(1000).text
    except SampleError as error:
        assert "no columns" in str(error)  # each object is empty
        return
    typed = Bench(
        kit, file.parent, form, schema, **{k.replace("-", "_"): v for k, v in found.options.items() if k != "path"}
    )
    read, letters = typed.read(), typed.letters()
    assert not letters
    assert len(read) == len(rows)


def test_a_file_is_compressed_or_has_another_separator(tmp_path: Path) -> None:
    """Compressed files are read, and a separator is found and named as an option."""
    (tmp_path / "a.csv.bz2").write_bytes(bz2.compress(b"id;name\n1;x\n"))
    proposal = source_of(str(tmp_path / "a.csv.bz2")).proposal(10)
    assert proposal.columns == [("id", "bigint NOT NULL"), ("name", "string NOT NULL")]
    assert proposal.sample.options == {"separator": ";"}


def test_files_differ(tmp_path: Path) -> None:
    """A column that only some files have is nullable and needs an option; directories are columns."""
    for day, text in (("2026-01-01", "id,a\n1,2\n"), ("2026-01-02", "id,b\n2,3\n")):
        (tmp_path / f"day={day}").mkdir()
        (tmp_path / f"day={day}" / "x.csv").write_text(text)
    proposal = source_of(f"{tmp_path}/*/*.csv").proposal(10)
    assert proposal.columns == [
        ("id", "bigint NOT NULL"), ("a", "bigint"), ("b", "bigint"), ("day", "date NOT NULL"),
    ]  # fmt: skip
    assert proposal.sample.options == {"missing-columns": "null"}
    assert {doubt.column for doubt in proposal.doubts} == {"a", "b"}


def test_names_that_cannot_be_fields(tmp_path: Path) -> None:
    """Such a column is omitted with the reason."""
    (tmp_path / "a.csv").write_text("id,unit price\n1,2\n")
    proposal = source_of(str(tmp_path / "a.csv")).proposal(10)
    assert [name for name, _ in proposal.columns] == ["id"]
    assert [doubt.column for doubt in proposal.doubts] == ["unit price"]


@pytest.mark.parametrize("form", ["avro", "parquet"])
def test_files_with_types(form: str, kit: Testkit, tmp_path: Path) -> None:
    """The types of the file are proposed, and its records have them."""
    file = tmp_path / "in" / f"a.{form}"
    file.parent.mkdir()
    rows = [{"id": 1, "name": None, "tags": ["a"], "nested": {"x": 1.5}}]
    inner = {"type": "record", "name": "I", "fields": [{"name": "x", "type": "double"}]}
    if form == "avro":
        fields = [
            {"name": "id", "type": "int"}, {"name": "name", "type": ["null", "string"]},
            {"name": "tags", "type": {"type": "array", "items": "string"}}, {"name": "nested", "type": inner},
        ]  # fmt: skip
        with file.open("wb") as opened:
            fastavro.writer(opened, {"type": "record", "name": "R", "fields": fields}, rows)
    else:
        schema = pa.schema([
            pa.field("id", pa.int32(), nullable=False), ("name", pa.string()), ("tags", pa.list_(pa.string())),
            ("nested", pa.struct([("x", pa.float64())])),
        ])  # fmt: skip
        pq.write_table(pa.Table.from_pylist(rows, schema), file)
    proposal = source_of(str(file)).proposal(10)
    assert [type.removesuffix(" NOT NULL").partition("<")[0] for _, type in proposal.columns] == [
        "int", "string", "array", "struct",
    ]  # fmt: skip
    assert not proposal.doubts
    assert Bench(kit, file.parent, form, proposal.text).read() == rows


def test_a_table(server: tuple[str, Execute]) -> None:
    """The types of the database are proposed; SQLite has only values."""
    url, execute = server
    execute("INSERT INTO orders VALUES (1, 'a', 1.25, true, '2026-01-31 10:00:00+00', 1.5)")
    proposal: Proposal = source_of(url, table="orders").proposal(10)
    sqlite = url.startswith("sqlite")
    assert dict(proposal.columns) == {
        "id": "bigint NOT NULL" if sqlite else "bigint",
        "name": "string NOT NULL" if sqlite else "string",
        "price": "decimal(20,2)",
        "open": "boolean",
        "at": "timestamp NOT NULL" if sqlite else "timestamp",
        "score": "double NOT NULL" if sqlite else "double",
    } | ({"at": "string NOT NULL"} if sqlite else {})


def test_a_page(api: Api) -> None:
    """The array of records and the way to the next page are found."""
    api.records = [{"id": number, "at": "2026-01-31"} for number in range(7)]
    proposal = source_of(f"{api.url}/link").proposal(10)
    assert proposal.columns == [("id", "bigint NOT NULL"), ("at", "date NOT NULL")]
    assert proposal.sample.options == {"paging": "link"}
    cursor = source_of(f"{api.url}/urls").proposal(10)
    assert cursor.sample.options["paging"] == "cursor"
    assert cursor.columns == proposal.columns


ERRORS: dict[str, tuple[str | bytes, str]] = {
    "array.json": ('[\n{"id": 1}]', "jq"),
    "not.json": ("x\n", "not JSON in line 1"),
    "latin.csv": ("id\nä\n".encode("latin-1"), "set the option `encoding`"),
    "twice.csv": ("a,a\n1,2\n", "the column `a` twice"),
    "bad.parquet": ("x", "not a Parquet file"),
    "bad.avro": ("x", "not an Avro container file"),
    "empty.csv": ("", "no file with content"),
    "strange.xyz": ("x", "--as"),
    "bad.csv.gz": ("x", "cannot be read"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_one_clear_error(name: str, tmp_path: Path) -> None:
    """What cannot be read is one error with the file and the reason."""
    content, message = ERRORS[name]
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(SampleError, match=message) as raised:
        source_of(str(tmp_path / name)).proposal(10)
    assert name in str(raised.value)
    assert "\n" not in str(raised.value)
