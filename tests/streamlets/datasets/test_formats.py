"""Each format of files, crossed with every type of Avro and with random schemas and records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blueprint.avro import Contract, parse_contract
from streamlets.contract import arrow_schema
from streamlets.contract.values import JsonValues
from streamlets.datasets.formats import FORMATS, FileError, format_of
from streamlets.datasets.json_rows import comparable_row
from tests.random_examples import examples
from tests.streamlets.contract.avro_values import as_read, plain
from tests.streamlets.contract.cases import CASES, MISSING, record
from tests.streamlets.contract.schemas import schemas, values

READING_TEXT = {"name": "text", "type": ["null", "string"]}
READING = parse_contract(
    json.dumps(
        {
            "type": "record",
            "name": "Reading",
            "fields": [{"name": "id", "type": "long"}, READING_TEXT],
        }
    )
)

every_format = pytest.mark.parametrize("name", FORMATS)


def written(file: Path, name: str, rows: list[dict[str, Any]], contract: Contract) -> Path:
    """Write records to a file, in two parts."""
    batch = pa.RecordBatch.from_pylist(rows, schema=arrow_schema(contract))
    middle = batch.num_rows // 2
    with file.open("wb") as stream, FORMATS[name].writer(stream, contract) as write:
        write(batch.slice(0, middle))
        write(batch.slice(middle))
    return file


def texts(rows: Any, contract: Contract) -> list[str]:
    """Return what makes records equal."""
    of = comparable_row(contract)
    return [json.dumps(of(row)) for row in rows]


@every_format
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_type_is_read_as_written(case: Any, name: str, tmp_path: Path) -> None:
    """The records of a file are those that were written."""
    contract = parse_contract(json.dumps(record(case.writer)))
    rows = [{"id": 1} | ({} if value is MISSING else {"f": value}) for value, _ in case.values]
    rows = pa.RecordBatch.from_pylist(rows, schema=arrow_schema(contract)).to_pylist()
    rows = [row for row in rows if name != "csv" or distinct_in_csv(row)]
    file = written(tmp_path / "file", name, rows, contract)
    assert texts(FORMATS[name].rows(file, contract, ()), contract) == texts(rows, contract)


def distinct_in_csv(row: dict[str, Any]) -> bool:
    """Return whether no value is the empty text, which a reader takes for null where null is allowed."""
    return not any(value in ("", b"") for value in row.values())


@every_format
@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_random_records_are_read_as_written(data: st.DataObject, name: str, tmp_path: Path) -> None:
    """Also nested ones, with unions and logical types."""
    contract = parse_contract(json.dumps(data.draw(schemas())))
    rows = data.draw(st.lists(values(contract.record, contract), min_size=1, max_size=3))
    rows = pa.RecordBatch.from_pylist(rows, schema=arrow_schema(contract)).to_pylist()
    rows = [row for row in rows if name != "csv" or distinct_in_csv(row)]
    file = written(tmp_path / "file", name, rows, contract)
    assert texts(FORMATS[name].rows(file, contract, ()), contract) == texts(rows, contract)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_containers_are_read_by_fastavro(data: st.DataObject, tmp_path: Path) -> None:
    """The header has the whole schema, and every block is complete."""
    contract = parse_contract(json.dumps(data.draw(schemas())))
    rows = data.draw(st.lists(values(contract.record, contract), max_size=3))
    batch = pa.RecordBatch.from_pylist(rows, schema=arrow_schema(contract))
    file = written(tmp_path / "file.avro", "avro", rows, contract)
    with file.open("rb") as stream:
        reader = fastavro.reader(stream)
        theirs = [as_read(row, contract.record, contract) for row in reader]
        assert reader.metadata["avro.schema"] == contract.json
    assert theirs == [plain(row, contract.record, contract) for row in batch.to_pylist()]


def test_containers_have_several_blocks(tmp_path: Path) -> None:
    """Each has a limited size, so that readers need little memory."""
    rows: list[dict[str, Any]] = [{"id": number, "text": "x" * 1000} for number in range(1000)]
    file = written(tmp_path / "file.avro", "avro", rows, READING)
    with file.open("rb") as stream:
        blocks = [block.num_records for block in fastavro.block_reader(stream)]
    assert sum(blocks) == 1000
    assert max(blocks) < 100
    assert file.stat().st_size < 100_000, "they are compressed"


def test_json_lines_are_what_spouts_read(tmp_path: Path) -> None:
    """`flow put` delivers an exported file to the topic of another application."""
    rows: list[dict[str, Any]] = [{"id": 1, "text": "ä\n"}, {"id": 2, "text": None}]
    file = written(tmp_path / "file", "jsonl", rows, READING)
    lines = file.read_text(encoding="utf-8").splitlines()
    assert lines == ['{"id":1,"text":"ä\\n"}', '{"id":2,"text":null}']
    assert [JsonValues(READING).record(json.loads(line), READING.record) for line in lines] == rows


def test_parquet_of_others(tmp_path: Path) -> None:
    """Columns with other types, in another order, and more of them are read if their values fit."""
    pq.write_table(pa.table({"more": [1], "text": ["a"], "id": pa.array([7], pa.int8())}), tmp_path / "file.parquet")
    assert list(FORMATS["parquet"].rows(tmp_path / "file.parquet", READING, ())) == [{"id": 7, "text": "a"}]


def test_csv_of_others(tmp_path: Path) -> None:
    """With a byte order mark, quotes, line ends of Windows, empty lines, and columns that the records do not have."""
    (tmp_path / "file.csv").write_bytes('\ufefftext,more,id\r\n"a, ""b""\nc",x,7\r\n\r\n,,8\r\n'.encode())
    assert list(FORMATS["csv"].rows(tmp_path / "file.csv", READING, ())) == [
        {"id": 7, "text": 'a, "b"\nc'},
        {"id": 8, "text": None},
    ]


def test_csv_with_one_column(tmp_path: Path) -> None:
    """An empty line is a record of it."""
    contract = parse_contract(json.dumps({"type": "record", "name": "R", "fields": [READING_TEXT]}))
    (tmp_path / "file.csv").write_text('text\n\n""\na\n')
    rows = list(FORMATS["csv"].rows(tmp_path / "file.csv", contract, ()))
    assert rows == [{"text": None}, {"text": None}, {"text": "a"}]
    file = written(tmp_path / "own.csv", "csv", rows, contract)
    assert list(FORMATS["csv"].rows(file, contract, ())) == rows


@every_format
def test_long_texts(name: str, tmp_path: Path) -> None:
    """They have no limit that a user meets."""
    rows = [{"id": 1, "text": "x" * 1_000_000}]
    file = written(tmp_path / "file", name, rows, READING)
    assert list(FORMATS[name].rows(file, READING, ())) == rows


@pytest.mark.parametrize("name", ["avro", "csv", "parquet"])
def test_columns_that_are_required(name: str, tmp_path: Path) -> None:
    """A file that lacks one is not taken for one with nulls."""
    narrow = parse_contract(json.dumps({"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}]}))
    file = written(tmp_path / "file", name, [{"id": 1}], narrow)
    assert list(FORMATS[name].rows(file, READING, ["id"])) == [{"id": 1, "text": None}]
    with pytest.raises(FileError, match="has no column `text`; its columns: `id`"):
        list(FORMATS[name].rows(file, READING, ["id", "text"]))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("csv", b"id,text\nx,a\n", "line 2: `id`: is a `str` ('x'), expected `long`"),
        ("csv", b"id,text\n1\n", "line 2 has 1 cells, expected 2"),
        ("csv", b"id,text\n1,a\n2,\xff\n", "line 3: `text`: is not valid UTF-8"),
        ("csv", b"id,text,id\n1,a,2\n", "has the column `id` twice"),
        ("csv", b"id\n1\n", "has no column `text`; its columns: `id`"),
        ("csv", b"", "has no column `id`; its columns: none"),
        ("csv", b'id,text\n1,"a\n', "invalid CSV"),
        ("csv", b"text\na\n", "has no column `id`; its columns: `text`"),
        ("jsonl", b'{"id": 1}\n{"id"\n', "line 2: invalid JSON"),
        ("jsonl", b'{"id": 1, "text": "\\ud800"}\n', "line 1: `text`: is not valid UTF-8"),
        ("jsonl", b'{"id": 1}\n{"id": 2, "Text": "a"}\n', "has no field `text` in any line"),
        ("jsonl", b"[1]\n", "line 1 is not a JSON object"),
        ("jsonl", b'{"id": 1.5}\n', "line 1: `id`: is a `Decimal`"),
        ("avro", b"Obj\x01nonsense", "is not an Avro file that can be read"),
        ("avro", b"", "is not an Avro file that can be read"),
        ("parquet", b"PAR1nonsensePAR1", "is not a Parquet file that can be read"),
        ("parquet", b"", "is not a Parquet file that can be read"),
    ],
)
def test_broken_files(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    """The error has the file, the place and the reason."""
    file = tmp_path / f"file{FORMATS[name].suffix}"
    file.write_bytes(content)
    with pytest.raises(FileError) as raised:
        list(FORMATS[name].rows(file, READING, ["id", "text"]))
    assert str(raised.value).startswith(str(file))
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", ["avro", "parquet"])
def test_a_cut_file_is_an_error(name: str, tmp_path: Path) -> None:
    """Its first records are not taken for all of them."""
    file = written(tmp_path / "file", name, [{"id": number, "text": "a"} for number in range(99)], READING)
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(FileError):
        list(FORMATS[name].rows(file, READING, ()))


def test_the_name_of_a_file_says_its_format() -> None:
    """In any case of letters."""
    found = {name: format_of(Path(name)) for name in ("a.parquet", "A.CSV", "a.jsonl", "a.b.avro", "a.txt", "csv")}
    assert [form.name if form else None for form in found.values()] == ["parquet", "csv", "jsonl", "avro", None, None]
