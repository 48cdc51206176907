"""Readers of what sinks have written, other than Spark: rows by the number of the record, in the form of `plain`."""

from __future__ import annotations

import base64
import bz2
import csv
import datetime
import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc

from tests.crossings.sink_rows import SCHEMA, Rows, plain

NULL = "__HIVE_DEFAULT_PARTITION__"
_DECOMPRESS: Mapping[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.decompress,
    ".bz2": bz2.decompress,
    ".deflate": zlib.decompress,
}


def data_files(root: Path) -> list[Path]:
    """Return the files that readers see: Spark, Arrow and pandas ignore the other names."""
    found = [path for path in root.rglob("*") if path.is_file()]
    return sorted(path for path in found if not _is_hidden(path.relative_to(root)))


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(("_", ".")) and "=" not in part for part in path.parts)


def partition(root: Path, file: Path) -> dict[str, Any]:
    """Return the values that the directories of a file stand for."""
    pairs = (part.split("=", 1) for part in file.relative_to(root).parts[:-1])
    return {name: None if value == NULL else in_utc(name, value_of(name, unquote(value))) for name, value in pairs}


def in_utc(name: str, value: Any) -> Any:
    """Return a timestamp with the time zone that neither ORC nor a directory stores, other values unchanged."""
    zoned = pa.types.is_timestamp(SCHEMA.field(name).type) and SCHEMA.field(name).type.tz is not None
    return value.replace(tzinfo=datetime.UTC) if zoned and value is not None else value


def by_number(rows: Iterator[dict[str, Any]]) -> Rows:
    """Return rows by number; each number must occur once."""
    found: Rows = {}
    for row in rows:
        assert row["id"] not in found, f"record {row['id']} was written twice"
        found[row["id"]] = {name: plain(value) for name, value in row.items()}
    return found


def text_of(file: Path) -> str:
    """Return the text of a file that may be compressed."""
    return _DECOMPRESS.get(file.suffix, bytes)(file.read_bytes()).decode()


def value_of(name: str, text: str | None) -> Any:
    """Return the value of a column from its text in ISO 8601, or as other programs read numbers."""
    if text is None:
        return None
    type = SCHEMA.field(name).type
    if pa.types.is_boolean(type):
        return {"true": True, "false": False}[text]
    if pa.types.is_integer(type):
        return int(text)
    if pa.types.is_floating(type):
        return float(text)
    if pa.types.is_decimal(type):
        return Decimal(text)
    if pa.types.is_date(type):
        return datetime.date.fromisoformat(text)
    if pa.types.is_timestamp(type):
        return datetime.datetime.fromisoformat(text)
    return text


def read_csv(root: Path, columns: Sequence[str], *, header: bool = True, separator: str = ",", null: str = "") -> Rows:
    """Read files as RFC 4180 has them, in which a field that is null has no quotes."""

    def rows() -> Iterator[dict[str, Any]]:
        for file in data_files(root):
            lines = list(_fields(text_of(file), separator))
            above = partition(root, file)
            names = [name for name in columns if name not in above]
            if header:
                assert [name for name, _ in lines.pop(0)] == names
            for fields in lines:
                assert len(fields) == len(names), fields
                values = [None if text == null and not quoted else text for text, quoted in fields]
                yield {name: value_of(name, text) for name, text in zip(names, values, strict=True)} | above

    return by_number(rows())


def _fields(text: str, separator: str) -> Iterator[list[tuple[str, bool]]]:
    """Yield the fields of each record, and whether a field has quotes, which Python's reader does not report."""
    place, record = 0, list[tuple[str, bool]]()
    while place < len(text):
        if text[place] == '"':
            parts, start = [], place + 1
            while True:
                end = text.index('"', start)
                parts.append(text[start:end])
                if text[end + 1 : end + 2] != '"':
                    break
                parts.append('"')
                start = end + 2
            field, place = ("".join(parts), True), end + 1
        else:
            end = min(text.find(stop, place) % (len(text) + 1) for stop in (separator, "\n"))
            field, place = (text[place:end], False), end
            assert '"' not in field[0], field
        record.append(field)
        if text.startswith(separator, place):
            place += len(separator)
        else:
            assert text[place] == "\n", text[place : place + 20]
            yield record
            place, record = place + 1, []


def python_csv(root: Path, separator: str = ",") -> list[list[str]]:
    """Return the records of all files as Python's reader sees them, with headers."""
    return [
        row
        for file in data_files(root)
        for row in csv.reader(io.StringIO(text_of(file), newline=""), delimiter=separator, strict=True)
    ]


def json_value(name: str, value: Any) -> Any:
    """Return the value of a column from JSON, which has fewer types."""
    type = SCHEMA.field(name).type
    if value is None:
        return None
    if pa.types.is_binary(type):
        return base64.b64decode(value)
    if name == "place":
        at = value.get("at")
        parts = {"x": value.get("x"), "label": value.get("label")}
        return {**parts, "at": at and datetime.datetime.fromisoformat(at)}
    if pa.types.is_nested(type):
        return value
    if pa.types.is_boolean(type):
        return value
    return value_of(name, str(value))


def read_json(root: Path, columns: Sequence[str]) -> Rows:
    """Read files with an object per line. A field may be omitted if it is null."""

    def rows() -> Iterator[dict[str, Any]]:
        for file in data_files(root):
            above = partition(root, file)
            for line in text_of(file).removesuffix("\n").split("\n"):
                parsed = json.loads(line, parse_float=Decimal)
                assert set(parsed) <= set(columns), line
                yield {name: json_value(name, parsed.get(name)) for name in columns if name not in above} | above

    return by_number(rows())


def from_arrow(table: pa.Table) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table in the types of the records."""
    for row in table.to_pylist():
        yield {name: dict(value) if name == "counts" and value is not None else value for name, value in row.items()}


def read_parquet(root: Path, columns: Sequence[str]) -> Rows:
    """Read Parquet files, whose timestamps must be in microseconds."""

    def rows() -> Iterator[dict[str, Any]]:
        for file in data_files(root):
            table = pq.ParquetFile(file).read()
            above = partition(root, file)
            yield from ({**row, **above} for row in from_arrow(table))

    return by_number(rows())


def read_orc(root: Path, columns: Sequence[str]) -> Rows:
    """Read ORC files, whose timestamps are without time zone for pyarrow; Spark writes those without one as integers of
    microseconds (docs/sinks.md)."""

    def rows() -> Iterator[dict[str, Any]]:
        for file in data_files(root):
            above = partition(root, file)
            for row in from_arrow(orc.ORCFile(file).read()):
                if row.get("local") is not None:
                    row["local"] = datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=row["local"])
                if row.get("place") is not None:
                    row["place"]["at"] = in_utc("at", row["place"]["at"])
                yield {name: in_utc(name, value) for name, value in row.items()} | above

    return by_number(rows())


def read_text(root: Path, columns: Sequence[str]) -> Rows:
    """Read lines with the number of a record."""

    def rows() -> Iterator[dict[str, Any]]:
        for file in data_files(root):
            for line in text_of(file).split("\n")[:-1]:
                yield {"id": int(line)} | partition(root, file)

    return by_number(rows())


READERS: Mapping[str, Callable[..., Rows]] = {
    "csv": read_csv,
    "json": read_json,
    "parquet": read_parquet,
    "orc": read_orc,
    "text": read_text,
}
