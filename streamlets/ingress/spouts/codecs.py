"""Codecs: how the files that a spout delivers become records. None reads a whole file into memory but `file`."""

from __future__ import annotations

import csv
import importlib
import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import IO, Any, Protocol

from blueprint.avro.model import Contract, Primitive, Record
from blueprint.avro.spark_types import optional
from blueprint.catalog import ParameterProblem
from blueprint.known_keys import KnownKey, text_values
from blueprint.spelling import suggestion
from blueprint.wording import counted
from streamlets.contract.text import is_unicode
from streamlets.contract.values import JsonValues, RecordError, Values
from streamlets.ingress.spouts.cells import cell_value, unique_keys
from streamlets.ingress.spouts.decoding import UNDECODABLE, shown_encoding, text_of, without_mark

LARGEST_RECORD = 64 * 1024 * 1024
"""The maximum size in bytes of a line, or of a file that is one record."""


class CodecError(Exception):
    """A file cannot be decoded, so that its transaction is refused."""


@dataclass(frozen=True, slots=True)
class Row:
    """The unit of a spout's data that becomes a record.

    Arguments:
        values: the values by field name; a string is the row's JSON text, not parsed yet.
        place: its place for messages, such as `line 3`.
        text: the row as it came, for the dead letters; "" for its values as JSON.
    """

    values: Mapping[str, Any] | str
    place: str
    text: str = ""


class Codec(Protocol):
    """Turns files into records. A class of your own needs only `decode`, and has a constructor without arguments."""

    def decode(self, path: str, file: IO[bytes]) -> Iterator[Mapping[str, Any]]:
        """Yield the records of a file, as dicts by field name.

        Arguments:
            path: the path under which the file was delivered; "" without one.
            file: its content; for an append, the appended part.
        """


@dataclass(frozen=True, slots=True)
class _Named:
    """A codec by name: its options with their defaults, and its function."""

    options: Mapping[str, object]
    rows: Any


def codec_problems(name: str, options: Mapping[str, Any]) -> Iterator[ParameterProblem]:
    """Yield problems with the name of a codec and its options. The class of a custom codec is not imported."""
    codec = _CODECS.get(name)
    if codec is None:
        if "." not in name:
            hint = suggestion(name, _CODECS)
            yield ParameterProblem(("codec",), f"there is no codec `{name}`; {hint}", (_CUSTOM,))
        elif options:
            message = f"a codec of your own has no options, found `{next(iter(options))}`"
            yield ParameterProblem(("codec-options",), message, about="key")
        return
    for key, value in options.items():
        if key not in codec.options:
            known = suggestion(key, codec.options) if codec.options else "it has none"
            message = f"the codec `{name}` has no option `{key}`; {known}"
            yield ParameterProblem(("codec-options", key), message, about="key")
        elif key == "header" and not isinstance(value, bool):
            yield ParameterProblem(("codec-options", key), f"`{value}` is not `true` or `false`")
        elif key == "delimiter" and len(str(value)) != 1:
            yield ParameterProblem(("codec-options", key), f"the delimiter must be one character, found `{value}`")


def codec_keys(name: object) -> Iterator[KnownKey]:
    """Yield the codecs, and the options of one.

    Arguments:
        name: the name of the codec, which may not exist.
    """
    yield KnownKey(path=("codec",), values=text_values(_CODECS))
    codec = _CODECS.get(name) if isinstance(name, str) else None
    for key, default in codec.options.items() if codec is not None else ():
        truths = ("true", "false") if isinstance(default, bool) else ()
        detail = f"default: {json.dumps(default)}" if default is not None else ""
        yield KnownKey(path=("codec-options", key), detail=detail, values=text_values(truths))


_CUSTOM = "a codec of your own is the path of its class, such as `feeds.codecs.Prices`"


def open_codec(name: str, options: Mapping[str, Any], contract: Contract) -> RowsOf:
    """Return the function that yields the rows of a file.

    Arguments:
        name: the name of a codec, or the path of a class.
        options: its options, which have no problems.
        contract: the contract of the outlet.

    Raises:
        CodecError: the class cannot be loaded, or the contract has no field for the content.
    """
    codec = _CODECS.get(name)
    if codec is not None:
        if "field" in codec.options:
            options = {**options, "field": _content_field(name, options.get("field"), contract)}
        return partial(codec.rows, contract=contract, **{**codec.options, **options})
    module, _, attribute = name.rpartition(".")
    try:
        own: Codec = getattr(importlib.import_module(module), attribute)()
    except Exception as error:
        raise CodecError(f"the codec `{name}` cannot be loaded: {type(error).__name__}: {error}") from error
    return partial(_own_rows, own)


class RowsOf(Protocol):
    """Yields the rows of a file."""

    def __call__(self, path: str, file: IO[bytes]) -> Iterator[Row]: ...


def _content_field(codec: str, name: str | None, contract: Contract) -> str:
    """Return the field for the content: the configured one, the one with the usual name, or the only one."""
    fields = [field.name for field in contract.record.fields]
    usual = {"file": "content", "lines": "line"}[codec]
    if name is not None:
        if name not in fields:
            raise CodecError(f"`{contract.record.name}` has no field `{name}`, which is the `field` of its codec")
        return name
    if usual in fields:
        return usual
    others = [field for field in fields if field != "path"]
    if len(others) != 1:
        raise CodecError(
            f"`{contract.record.name}` has no field `{usual}` for the codec `{codec}`: set `codec-options.field`"
        )
    return others[0]


def _with_path(row: dict[str, Any], path: str, contract: Contract) -> dict[str, Any]:
    named = any(field.name == "path" for field in contract.record.fields)
    return {**row, "path": path} if named and "path" not in row else row


def _file_rows(path: str, file: IO[bytes], *, contract: Contract, field: str) -> Iterator[Row]:
    content = file.read(LARGEST_RECORD + 1)
    if len(content) > LARGEST_RECORD:
        raise CodecError(
            f"the file is larger than {LARGEST_RECORD // 2**20} MiB, the maximum of the codec `file`, which makes one "
            "record of it: use another codec"
        )
    value = content if _is_bytes(contract, field) else content.decode("utf-8", errors="surrogateescape")
    yield Row(_with_path({field: value}, path, contract), "the file")


def line_rows(path: str, file: IO[bytes], *, contract: Contract, field: str, encoding: str = "utf-8") -> Iterator[Row]:
    """Yield each line of a file as the value of one field.

    Arguments:
        path: its path.
        file: its content, in UTF-8.
        contract: the contract of the records.
        field: the field.
        encoding: its encoding before it was in UTF-8, for messages.
    """
    binary = _is_bytes(contract, field)
    for number, line in _lines(file):
        place, text = f"line {number}", "" if binary else text_of(line, first=number == 1)
        if is_unicode(text):
            yield Row(_with_path({field: line if binary else text}, path, contract), place)
        else:
            wrong = RecordError(f"`{field}`: is not valid {shown_encoding(encoding)}")
            yield Row({"": wrong}, place, json.dumps({field: text}))


def json_rows(
    path: str, file: IO[bytes], *, contract: Contract | None = None, encoding: str = "utf-8"
) -> Iterator[Row]:
    """Yield each line of a file as the JSON text of a record.

    Arguments:
        path: its path.
        file: its content, in UTF-8.
        contract: the contract of the records.
        encoding: its encoding before it was in UTF-8, for messages.
    """
    for number, line in _lines(file):
        place, text = f"line {number}", text_of(line, first=number == 1).strip()
        if not is_unicode(text):
            yield Row({"": RecordError(f"is not valid {shown_encoding(encoding)}")}, place, text)
        elif text:
            yield Row(text, place, text)


@dataclass(frozen=True, slots=True)
class CsvForm:
    """The form of CSV files.

    Arguments:
        header: whether the first line has the names of the columns; otherwise they are the contract's fields in order.
        delimiter: the character between cells.
        quote: the character around cells.
        null: the cell that is null where the contract allows null.
        encoding: of the file, as Python names it.
    """

    header: bool = True
    delimiter: str = ","
    quote: str = '"'
    null: str = ""
    encoding: str = "utf-8"


def _csv_codec(path: str, file: IO[bytes], *, contract: Contract, **options: Any) -> Iterator[Row]:
    return csv_rows(file, contract, CsvForm(**options))


def csv_rows(
    file: IO[bytes], contract: Contract, form: CsvForm, columns: Callable[[list[str]], None] | None = None
) -> Iterator[Row]:
    """Yield the rows of a CSV file.

    Arguments:
        file: its content.
        contract: the contract of the records, which gives cells their types.
        form: its form.
        columns: checks the names of the columns of the first line.

    Raises:
        CodecError: the file is not CSV.
    """
    fields = {field.name: field.schema for field in contract.record.fields}
    texts = {name for name in fields if not _is_bytes(contract, name)}
    encoding = shown_encoding(form.encoding)
    text = io.TextIOWrapper(file, encoding=form.encoding, errors=UNDECODABLE, newline="")
    csv.field_size_limit(max(csv.field_size_limit(), LARGEST_RECORD))
    reader = csv.reader(without_mark(text), delimiter=form.delimiter, quotechar=form.quote)
    try:
        names = (next(reader, None) if form.header else list(fields)) or []
        if not is_unicode("".join(names)):
            raise CodecError(f"the first line is not valid {encoding}: set the option `encoding`")
        if twice := next((name for n, name in enumerate(names) if name in fields and name in names[:n]), None):
            raise CodecError(f"the file has the column `{twice}` twice")
        if columns is not None:
            columns(names)
        for cells in reader if names else ():
            if not cells:
                continue
            place, original = f"line {reader.line_num}", json.dumps(dict(zip(names, cells, strict=False)))
            if len(cells) != len(names):
                wrong = f"has {counted(len(cells), 'cell')}, expected {len(names)}"
                yield Row({"": RecordError(wrong)}, place, json.dumps(cells))
                continue
            pairs = list(zip(names, cells, strict=True))
            broken = next((n for n, c in pairs if not c.isascii() and n in texts and not is_unicode(c)), None)
            if broken is not None:
                yield Row({"": RecordError(f"`{broken}`: is not valid {encoding}")}, place, original)
                continue
            yield Row(
                {n: cell_value(c, fields[n], contract, form.null) if n in fields else c for n, c in pairs},
                place,
                original,
            )
    except csv.Error as error:
        raise CodecError(f"invalid CSV at line {reader.line_num}: {error}") from None
    finally:
        text.detach()


def avro_rows(
    path: str, file: IO[bytes], *, contract: Contract, columns: Callable[[list[str]], None] | None = None
) -> Iterator[Row]:
    """Yield the records of an Avro container file.

    Arguments:
        path: its path.
        file: its content.
        contract: the contract of the records; other fields are omitted.
        columns: checks the names of the fields of the file's schema.

    Raises:
        CodecError: the file is not one.
    """
    import fastavro

    names = {field.name for field in contract.record.fields}
    try:
        reader: Any = fastavro.reader(file)
        schema = reader.writer_schema
        if columns is not None and isinstance(schema, Mapping):
            columns([field["name"] for field in schema.get("fields", ())])
        for number, record in enumerate(reader, 1):
            if not isinstance(record, Mapping):
                raise CodecError(f"an Avro file must have records, found `{type(record).__name__}`")
            yield Row({name: value for name, value in record.items() if name in names}, f"record {number}")
    except (CodecError, GeneratorExit):
        raise
    except Exception as error:  # noqa: BLE001 - fastavro raises many types for damaged files
        raise CodecError(f"invalid Avro container file: {type(error).__name__}: {error}") from None


def _own_rows(codec: Codec, path: str, file: IO[bytes]) -> Iterator[Row]:
    for number, record in enumerate(codec.decode(path, file), 1):
        if not isinstance(record, Mapping):
            raise CodecError(f"`decode` must yield dicts by field name, found `{type(record).__name__}`")
        yield Row(record, f"record {number}")


def _lines(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file, without their ends, and their numbers from 1."""
    number = 0
    while line := file.readline(LARGEST_RECORD + 1):
        number += 1
        if len(line) > LARGEST_RECORD:
            raise CodecError(f"line {number} is longer than {LARGEST_RECORD // 2**20} MiB")
        yield number, line.rstrip(b"\r\n")


def _is_bytes(contract: Contract, name: str) -> bool:
    schema = next(field.schema for field in contract.record.fields if field.name == name)
    held, _ = optional(schema, contract)
    return isinstance(held, Primitive) and held.type == "bytes"


def record_of(row: Row, contract: Contract, *, extra: bool) -> dict[str, object]:
    """Return a row as a record of a contract.

    Arguments:
        extra: drop fields that the contract does not have.

    Raises:
        RecordError: the row breaks the contract.
    """
    record: Record = contract.record
    if isinstance(row.values, str):
        try:
            parsed = json.loads(row.values, parse_float=Decimal, object_pairs_hook=unique_keys)
        except (ValueError, RecursionError) as error:
            raise RecordError(f"invalid JSON: {error}") from None
        if not isinstance(parsed, dict):
            raise RecordError(f"is not a JSON object, but {row.values[:40]!r}")
        return JsonValues(contract, extra).record(parsed, record)
    values = row.values
    if isinstance(broken := values.get(""), RecordError):
        raise broken
    if extra:
        names = {field.name for field in record.fields}
        values = {name: value for name, value in values.items() if name in names}
    return Values(contract).record(values, record)


def original(row: Row) -> str:
    """Return a row as JSON text, for the dead letters."""
    if row.text:
        return row.text
    if isinstance(row.values, str):
        return row.values
    return json.dumps(dict(row.values), default=_plain, ensure_ascii=True)


def _plain(value: object) -> object:
    if isinstance(value, bytes):
        import base64

        return base64.b64encode(value).decode()
    return str(value)


_CODECS: Mapping[str, _Named] = {
    "file": _Named({"field": None}, _file_rows),
    "lines": _Named({"field": None}, line_rows),
    "json-lines": _Named({}, json_rows),
    "csv": _Named({"header": True, "delimiter": ",", "quote": '"'}, _csv_codec),
    "avro": _Named({}, avro_rows),
}
