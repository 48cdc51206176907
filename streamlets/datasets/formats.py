"""The formats of files with records: how each is written, and read with a contract."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from blueprint.avro.model import Array, Contract, Map, Primitive, Record, Union
from blueprint.avro.spark_types import optional
from streamlets.contract.values import JsonValues, RecordError, Values
from streamlets.datasets.container import container_writer
from streamlets.datasets.json_rows import cell_text, json_row
from streamlets.ingress.spouts.codecs import LARGEST_RECORD

if TYPE_CHECKING:
    import pyarrow as pa

    Write = Callable[[pa.RecordBatch], None]


class FileError(Exception):
    """A file cannot be read as records; the message names the file and the place in it."""


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A format of files.

    Arguments:
        name: its name for users.
        suffix: what the names of its files end with.
        writer: opens a writer on a stream, which takes batches with the Arrow schema of the contract.
        rows: yields the records of a file as values of the contract, with the Python types of Arrow. It raises
            `FileError`, also if the file has none of the columns that are given last.
    """

    name: str
    suffix: str
    writer: Callable[[IO[bytes], Contract], AbstractContextManager[Write]]
    rows: Callable[[Path, Contract, Collection[str]], Iterator[dict[str, Any]]]


def format_of(path: Path) -> FileFormat | None:
    """Return the format of a file by its name; None if it is not a known one."""
    return next((one for one in FORMATS.values() if path.name.lower().endswith(one.suffix)), None)


@contextmanager
def _parquet_writer(stream: IO[bytes], contract: Contract) -> Iterator[Write]:
    import pyarrow.parquet as pq

    from streamlets.contract.types import arrow_schema

    with pq.ParquetWriter(stream, arrow_schema(contract), compression="zstd") as writer:
        yield writer.write_batch


def _parquet_rows(path: Path, contract: Contract, required: Collection[str]) -> Iterator[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from streamlets.contract.types import arrow_schema

    try:
        with pq.ParquetFile(path) as file:
            _check_columns(path, file.schema_arrow.names, required)
            own = file.schema_arrow.equals(arrow_schema(contract))
            number = 0
            for batch in file.iter_batches():
                for row in batch.to_pylist():
                    number += 1
                    yield row if own else _record(Values(contract), _plain_maps(row), path, f"record {number}")
    except (pa.ArrowException, EOFError) as error:
        raise FileError(f"{path} is not a Parquet file that can be read: {_one_line(error)}") from None


def _plain_maps(value: Any) -> Any:
    """Return a value with maps as dicts: Arrow's Python values of maps are lists of pairs."""
    if isinstance(value, dict):
        return {key: _plain_maps(inner) for key, inner in value.items()}
    if isinstance(value, list):
        if value and all(isinstance(item, tuple) for item in value):
            return {key: _plain_maps(inner) for key, inner in value}
        return [_plain_maps(item) for item in value]
    return value


@contextmanager
def _csv_writer(stream: IO[bytes], contract: Contract) -> Iterator[Write]:
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=True)
    names = [field.name for field in contract.record.fields]
    cells = csv.writer(text, lineterminator="\n")
    cells.writerow(names)
    of = json_row(contract)

    def write(batch: pa.RecordBatch) -> None:
        cells.writerows([cell_text(value) for value in of(row).values()] for row in batch.to_pylist())

    try:
        yield write
    finally:
        text.detach()


def _csv_rows(path: Path, contract: Contract, required: Collection[str]) -> Iterator[dict[str, Any]]:
    fields = {field.name: field.schema for field in contract.record.fields}
    csv.field_size_limit(max(csv.field_size_limit(), LARGEST_RECORD))
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        reader = csv.reader(file, strict=True)
        try:
            names = next(reader, [])
            _check_columns(path, names, required)
            for cells in reader:
                place = f"line {reader.line_num}"
                if not cells and len(names) > 1:
                    continue
                cells = cells or [""]  # some programs write null as an empty line
                if len(cells) != len(names):
                    raise FileError(f"{path}, {place} has {len(cells)} cells, expected {len(names)}")
                pairs = zip(names, cells, strict=True)
                values = {name: _cell(cell, fields[name], contract) for name, cell in pairs if name in fields}
                yield _record(JsonValues(contract, extra=True), values, path, place)
        except csv.Error as error:
            raise FileError(f"{path}, line {reader.line_num}: invalid CSV: {error}") from None


def _cell(cell: str, schema: Any, contract: Contract) -> object:
    """Return the JSON value of a cell; a cell that has none stays a string, which the contract then refuses."""
    held, nullable = optional(schema, contract)
    if cell == "" and nullable:
        return None
    parts = isinstance(held, (Array, Map, Record, Union))
    number = isinstance(held, Primitive) and held.type in ("boolean", "int", "long", "float", "double")
    if not parts and not number:
        return cell
    try:
        return json.loads(cell, parse_float=Decimal)
    except ValueError:
        return cell


@contextmanager
def _json_writer(stream: IO[bytes], contract: Contract) -> Iterator[Write]:
    of = json_row(contract)

    def write(batch: pa.RecordBatch) -> None:
        lines = (json.dumps(of(row), ensure_ascii=False, separators=(",", ":")) for row in batch.to_pylist())
        stream.write("".join(f"{line}\n" for line in lines).encode())

    yield write


def _json_rows(path: Path, contract: Contract, required: Collection[str]) -> Iterator[dict[str, Any]]:
    missing, number = set(required), 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                values = json.loads(line, parse_float=Decimal)
            except (ValueError, RecursionError) as error:
                raise FileError(f"{path}, line {number}: invalid JSON: {error}") from None
            if not isinstance(values, Mapping):
                raise FileError(f"{path}, line {number} is not a JSON object")
            missing -= values.keys()
            yield _record(JsonValues(contract, extra=True), values, path, f"line {number}")
    if number and missing:  # a line may omit a null; but a field that no line has was given another name
        raise FileError(f"{path} has no field `{min(missing)}` in any line")


def _avro_rows(path: Path, contract: Contract, required: Collection[str]) -> Iterator[dict[str, Any]]:
    import fastavro

    names = {field.name for field in contract.record.fields}
    with path.open("rb") as file:
        try:
            reader: Any = fastavro.reader(file)
            schema = reader.writer_schema
            if not isinstance(schema, Mapping) or schema.get("type") != "record":
                raise FileError(f"{path} has values of another type, expected records")
            _check_columns(path, [field["name"] for field in schema["fields"]], required)
            for number, record in enumerate(reader, 1):
                values = {name: value for name, value in record.items() if name in names}
                yield _record(Values(contract), values, path, f"record {number}")
        except FileError:
            raise
        except Exception as error:  # noqa: BLE001 - fastavro raises many types for damaged files
            raise FileError(f"{path} is not an Avro file that can be read: {_one_line(error)}") from None


def _check_columns(path: Path, names: Sequence[str], required: Collection[str]) -> None:
    """Check the names of the columns of a file.

    Raises:
        FileError: one is there twice, or a required one is missing.
    """
    if twice := [name for name, number in Counter(names).items() if number > 1]:
        raise FileError(f"{path} has the column `{twice[0]}` twice")
    for name in required:
        if name not in names:
            listed = ", ".join(f"`{known}`" for known in names) or "none"
            raise FileError(f"{path} has no column `{name}`; its columns: {listed}")


def _record(values: Values, row: Mapping[str, Any], path: Path, place: str) -> dict[str, Any]:
    """Return a row as values of a contract.

    Raises:
        FileError: it breaks the contract.
    """
    names = {field.name for field in values.contract.record.fields}
    try:
        return values.record({name: value for name, value in row.items() if name in names}, values.contract.record)
    except RecordError as error:
        raise FileError(f"{path}, {place}: {error}") from None


def _one_line(error: BaseException) -> str:
    lines: Sequence[str] = str(error).splitlines()
    return lines[0] if lines else type(error).__name__


FORMATS: Mapping[str, FileFormat] = {
    one.name: one
    for one in (
        FileFormat("parquet", ".parquet", _parquet_writer, _parquet_rows),
        FileFormat("csv", ".csv", _csv_writer, _csv_rows),
        FileFormat("jsonl", ".jsonl", _json_writer, _json_rows),
        FileFormat("avro", ".avro", container_writer, _avro_rows),
    )
}
"""All formats by name."""
