"""Samples of files: the first records of a few files, spread over all of them."""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import IO, Any

from blueprint.wording import counted
from streamlets.contract.text import escaped, is_unicode
from streamlets.ingress.sources.files.tasks import partition_values
from streamlets.ingress.sources.sample import Sample, SampledRow, SampleError
from streamlets.ingress.spouts.codecs import LARGEST_RECORD
from streamlets.ingress.spouts.decoding import text_of
from streamlets.ingress.triggerers.files import directory_of, file_stats

MOST_FILES = 8
"""The number of files of a sample."""


@dataclass(slots=True)
class FileRows:
    """The first records of a file.

    Arguments:
        rows: the values of each record, and its place in the file.
        columns: the columns of the file in order; empty if only the records have them.
        texts: whether the values are texts without a type.
        types: the types of the columns as Avro in JSON, if the file has them.
        doubts: what may be wrong with the file, by column; "" for what is not about a column.
        options: options that are needed to read the file.
    """

    rows: Iterator[tuple[Mapping[str, Any], str]]
    columns: Sequence[str] = ()
    texts: bool = False
    types: Mapping[str, object] = field(default_factory=dict)
    doubts: list[tuple[str, str]] = field(default_factory=list)
    options: Mapping[str, str] = field(default_factory=dict)


def spread(items: Sequence[Any], count: int) -> list[Any]:
    """Return a number of items, the first and the last among them, spread evenly."""
    if len(items) <= count:
        return list(items)
    return [items[round(number * (len(items) - 1) / max(1, count - 1))] for number in range(count)]


def sampled_files(path: Path, shown: str = "") -> tuple[list[str], int]:
    """Return a few of the files that are not empty, and the number of all of them.

    Arguments:
        path: a directory, or a pattern.
        shown: the path for messages; "" for the path itself.

    Raises:
        SampleError: there are none.
    """
    try:
        found = sorted(name for name, attributes in file_stats(path) if attributes.st_size)
    except OSError as error:
        raise SampleError(f"`{error.filename or path}` cannot be listed: {error.strerror}") from None
    if not found:
        raise SampleError(f"there is no file with content at `{shown or path}`")
    return spread(found, MOST_FILES), len(found)


def sample_of_files(
    path: Path,
    opened: Callable[[str], IO[bytes]],
    read: Callable[[IO[bytes]], FileRows],
    count: int,
    shown: Callable[[str], str],
) -> Sample:
    """Return the first records of a few files.

    Arguments:
        path: a directory, or a pattern.
        opened: opens a file.
        read: reads an opened file.
        count: the number of records.
        shown: returns a path for messages.

    Raises:
        SampleError: there is no file, or one cannot be read.
    """
    files, number = sampled_files(path, shown(str(path)))
    collected = _Collected()
    for name in files:
        try:
            with opened(name) as file:
                collected.add(name, read(file), max(1, count // len(files)), directory_of(path), shown(name))
        except SampleError as error:
            raise SampleError(f"`{shown(name)}` {error}") from None
        except (OSError, EOFError, csv.Error, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise SampleError(f"`{shown(name)}` cannot be read: {reason}") from None
    of = counted(number, "file") if len(files) == number else f"{len(files)} of {number} files"
    return collected.sample(of)


class _Collected:
    """The records of several files."""

    def __init__(self) -> None:
        self._rows: list[SampledRow] = []
        self._texts: set[str] = set()
        self._types: dict[str, object] = {}
        self._doubts: list[tuple[str, str]] = []
        self._options: dict[str, str] = {}
        self._columns: dict[str, list[str]] = {}  # the columns of each file that has a list of them

    def add(self, name: str, file: FileRows, count: int, root: Path, shown: str) -> None:
        """Add the first records of a file."""
        partitions = partition_values(Path(name), root)
        self._texts |= {*(file.columns if file.texts else ()), *partitions}
        for column, column_type in file.types.items():
            if self._types.setdefault(column, column_type) != column_type:
                self._doubts.append((column, f"it has another type in `{shown}`"))
        for values, place in itertools.islice(file.rows, count):
            self._rows.append(SampledRow({**values, **partitions}, f"{shown}, {place}"))
        self._doubts += file.doubts
        self._options |= file.options
        if file.columns:
            self._columns[shown] = list(file.columns)

    def sample(self, of: str) -> Sample:
        """Return the sample, with the columns that only some of the files have as doubts."""
        for column in dict.fromkeys(name for columns in self._columns.values() for name in columns):
            without = [file for file, columns in self._columns.items() if column not in columns]
            if without:
                self._doubts.append((column, f"`{without[0]}` does not have it: set `missing-columns = null`"))
                self._options["missing-columns"] = "null"
                self._types.update({column: nullable(self._types[column])} if column in self._types else {})
        names = [name for columns in self._columns.values() for name in columns]
        doubts = list(dict.fromkeys(self._doubts))
        return Sample(self._rows, of, self._texts, self._types, doubts, self._options, names)


def nullable(type: Any) -> Any:
    """Return a type of Avro in JSON with null."""
    branches = type if isinstance(type, list) else [type]
    return branches if "null" in branches else ["null", *branches]


def csv_sample(file: IO[bytes], *, header: bool, separator: str, quote: str, encoding: str, chosen: bool) -> FileRows:
    """Return the first records of a CSV file.

    Arguments:
        file: its content.
        header: whether the first line has the names of the columns.
        separator: the character between values.
        quote: the character around values.
        encoding: the encoding of the file.
        chosen: whether the separator is the user's choice.

    Raises:
        SampleError: it is not CSV in this form.
    """
    text = io.TextIOWrapper(file, encoding=encoding, newline="")
    csv.field_size_limit(max(csv.field_size_limit(), LARGEST_RECORD))
    options: dict[str, str] = {}
    with _decoding(encoding):
        first = text.readline()
    if not chosen and separator not in first and (other := max(";\t|", key=first.count)) in first:
        separator, options = other, {"separator": other}
    reader = csv.reader(itertools.chain([first], text), delimiter=separator, quotechar=quote, strict=True)
    with _decoding(encoding):
        cells = next(reader, [])
    names = cells if header else [f"column{number}" for number in range(1, len(cells) + 1)]
    twice = [name for number, name in enumerate(names) if name in names[:number]]
    if twice:
        raise SampleError(f"has the column `{twice[0]}` twice")
    doubts = []
    if header and (data := next((name for name in names if not name.strip() or _is_number(name)), None)) is not None:
        doubts.append(("", f"`{data}` in the first line may not be a name: set `header = false` if the file has none"))
    result = FileRows(iter(()), names, texts=True, doubts=doubts, options=options)
    result.rows = _csv_rows(reader, names, [] if header else [cells], result, encoding)
    return result


def _csv_rows(
    reader: Any, names: Sequence[str], first: Sequence[list[str]], result: FileRows, encoding: str
) -> Iterator[tuple[Mapping[str, Any], str]]:
    with _decoding(encoding):
        for cells in itertools.chain(first, reader):
            if cells and len(cells) != len(names):
                wrong = f"line {reader.line_num} has {counted(len(cells), 'cell')}, expected {len(names)}"
                result.doubts.append(("", f"{wrong}: such a line is a dead letter"))
            elif cells:
                yield dict(zip(names, cells, strict=True)), f"line {reader.line_num}"


def json_sample(file: IO[bytes]) -> FileRows:
    """Return the first records of a file with a JSON object on each line."""
    return FileRows(_json_rows(file))


def _json_rows(file: IO[bytes]) -> Iterator[tuple[Mapping[str, Any], str]]:
    for number, line in enumerate(file, 1):
        text = text_of(line, first=number == 1)
        if not text.strip():
            continue
        if not is_unicode(text):
            raise SampleError(f"is not in the encoding in line {number}: set the option `encoding`")
        try:
            value = json.loads(text, parse_float=Decimal)
        except (ValueError, RecursionError) as error:
            help = "one object on each line is expected; `jq -c '.[]'` makes lines of an array"
            raise SampleError(f"is not JSON in line {number}: {error}; {help}") from None
        if not isinstance(value, Mapping):
            help = "`jq -c '.[]'` makes lines of an array" if isinstance(value, list) else 'such as `{"id": 1}`'
            raise SampleError(f"has no JSON object in line {number}; {help}")
        yield value, f"line {number}"


def line_sample(file: IO[bytes], column: str) -> FileRows:
    """Return the first lines of a file as values of a column."""
    lines = ((escaped(text_of(line.rstrip(b"\r\n"), first=n == 1)), n) for n, line in enumerate(file, 1))
    rows = (({column: line}, f"line {number}") for line, number in lines)
    return FileRows(rows, [column], types={column: "string"})


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@contextmanager
def _decoding(encoding: str) -> Iterator[None]:
    """Make a clear error of bytes that are not in an encoding, and of text that is not CSV."""
    try:
        yield
    except UnicodeDecodeError:
        name = "utf-8" if encoding == "utf-8-sig" else encoding
        raise SampleError(f"is not in the encoding `{name}`: set the option `encoding`") from None
    except csv.Error as error:
        raise SampleError(f"is not CSV: {error}") from None
