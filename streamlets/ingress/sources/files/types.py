"""The sources of files by their formats."""

from __future__ import annotations

import abc
import bz2
import gzip
import io
import lzma
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import IO, Any, ClassVar, cast

from blueprint.avro.model import Contract
from blueprint.avro.spark_types import optional
from blueprint.catalog import ParameterProblem, ReadPath, SourceOption, SourceTraits
from streamlets.contract.text import escaped
from streamlets.ingress.batch_sources.context import Eat, SourceContext
from streamlets.ingress.sources.base import OpenSource, SourceItem, SourceType, contract_of
from streamlets.ingress.sources.files.options import (
    COLUMNS,
    COMPRESSION,
    ENCODING,
    HEADER,
    LINE,
    MISSING,
    NULL_VALUE,
    PATH,
    QUOTE,
    SEPARATOR,
    SETTLE,
)
from streamlets.ingress.sources.files.sample import (
    FileRows,
    csv_sample,
    json_sample,
    line_sample,
    sample_of_files,
    sampled_files,
)
from streamlets.ingress.sources.files.tasks import FileTasks, given_values, is_superseded
from streamlets.ingress.sources.files.typed_sample import avro_sample, parquet_sample
from streamlets.ingress.sources.records import Records
from streamlets.ingress.sources.sample import Sample
from streamlets.ingress.spouts.codecs import CodecError, CsvForm, avro_rows, csv_rows, json_rows, line_rows
from streamlets.ingress.spouts.decoding import in_utf_8, is_utf_8
from streamlets.ingress.triggerers.files import FileVersion, directory_of

_SUFFIXES = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz"}
_READERS: Mapping[str, Any] = {"gzip": gzip.GzipFile, "bzip2": bz2.BZ2File, "xz": lzma.LZMAFile}


class FilesSource(SourceType):
    """Files of one format below a path."""

    @abc.abstractmethod
    def items(self, file: IO[bytes], records: Records, options: Mapping[str, Any]) -> Iterator[SourceItem]:
        """Yield the records of a file, which is not empty.

        Arguments:
            file: its content.
            records: makes records of rows.
            options: the options of the source.

        Raises:
            Exception: the file is not of the format.
        """

    @abc.abstractmethod
    def first_rows(self, file: IO[bytes], options: Mapping[str, Any]) -> FileRows:
        """Return the first records of a file as it has them.

        Arguments:
            file: its content.
            options: the options of the source.

        Raises:
            SampleError: the file is not of the format.
        """

    def sample(self, options: Mapping[str, Any], context: SourceContext, count: int) -> Sample:
        """Return the first records of a few files."""
        compression = options.get(COMPRESSION.name, "none")
        return sample_of_files(
            context.path(options[PATH.name]),
            lambda path: _opened(path, compression),
            lambda file: self.first_rows(file, options),
            count,
            lambda path: shown_path(path, context.directory),
        )

    def open(self, options: Mapping[str, Any], context: SourceContext) -> OpenFiles:
        """Return the open source."""
        return OpenFiles(self, options, context)

    def discovery(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the triggerer `files` of the path."""
        return {"triggerer": "files", "config": {"path": str(options.get(PATH.name, ""))}}

    def reads(self, options: Mapping[str, Any]) -> Iterable[ReadPath]:
        """Return the path; its `**` stands for all directories below."""
        directory, *below = str(options[PATH.name]).split("/**", 1)
        yield ReadPath(("options", PATH.name), directory, recursive=bool(below))

    def option_problems(self, options: Mapping[str, Any]) -> Iterator[ParameterProblem]:
        """Yield the problems of an encoding, and of characters."""
        if ENCODING in self.traits.options:
            try:
                io.TextIOWrapper(io.BytesIO(), options[ENCODING.name])  # which refuses codecs such as `base64`
            except (LookupError, ValueError):
                message = f"there is no encoding `{options[ENCODING.name]}`"
                yield ParameterProblem(("options", ENCODING.name), message, ("such as `utf-8` or `latin-1`",))
        for option in (SEPARATOR, QUOTE):
            if option in self.traits.options and len(value := options[option.name]) != 1:
                message = f"`{option.name}` must be one character, found `{value}`"
                yield ParameterProblem(("options", option.name), message)


class OpenFiles(OpenSource):
    """An open source of files.

    Arguments:
        source: the source.
        options: its options.
        context: the environment.
    """

    def __init__(self, source: FilesSource, options: Mapping[str, Any], context: SourceContext) -> None:
        self._source, self._options, self._contract = source, options, contract_of(context)
        self._directory = context.directory
        path = context.path(options[PATH.name])
        self._root, self._path = directory_of(path), path
        self._tasks = FileTasks(path, options[SETTLE.name].seconds)

    def discover(self, eat: Eat, event: str) -> None:
        """Pass the files that are new or have changed."""
        self._tasks.discover(eat)

    def sampled_tasks(self, count: int) -> Iterator[Any]:
        """Yield a few of the files that are not empty."""
        for path in sampled_files(self._path)[0][:count]:
            yield FileVersion.of(Path(path)).to_task()

    def read(self, task: Any) -> Iterator[SourceItem]:
        """Yield the records of a file; none of a file that has changed, whose new version is another task."""
        version = FileVersion.from_task(task)
        if is_superseded(version):
            return
        given = given_values(version, self._options, self._contract, self._root)
        shown = shown_path(version.path, self._directory)
        records = Records(self._contract, shown, given, self._options.get("line-column", ""))
        if version.size:
            with closing(_opened(version.path, self._options.get(COMPRESSION.name, "none"))) as file:
                yield from self._source.items(file, records, self._options)
        version.require_unchanged()


def shown_path(path: str, directory: Path) -> str:
    """Return a path for messages, relative to the directory of the blueprint if it is below."""
    return escaped(os.path.relpath(path, directory) if Path(path).is_relative_to(directory) else path)


def _opened(path: str, compression: str) -> IO[bytes]:
    if compression == "auto":
        compression = _SUFFIXES.get(Path(path).suffix, "none")
    return Path(path).open("rb") if compression == "none" else cast("IO[bytes]", _READERS[compression](path))


def _traits(name: str, description: str, options: tuple[SourceOption, ...] = (), **more: Any) -> SourceTraits:
    return SourceTraits(
        name=name,
        description=description,
        task="a file",
        identity="path, size and time of modification",
        guarantee="exactly-once",
        order="by path; within a file as in the file",
        options=(PATH, *options, *COLUMNS, SETTLE),
        discovery={"triggerer": "files"},
        **more,
    )


class CsvSource(FilesSource):
    """CSV files, as RFC 4180 describes them."""

    traits: ClassVar[SourceTraits] = _traits(
        "csv",
        "CSV files, as RFC 4180 describes them.",
        (HEADER, SEPARATOR, QUOTE, NULL_VALUE, ENCODING, COMPRESSION, MISSING),
        nested=False,
    )

    def items(self, file: IO[bytes], records: Records, options: Mapping[str, Any]) -> Iterator[SourceItem]:
        """Yield the records of the rows."""
        encoding = options[ENCODING.name]
        form = CsvForm(
            header=options[HEADER.name],
            delimiter=options[SEPARATOR.name],
            quote=options[QUOTE.name],
            null=options.get(NULL_VALUE.name, ""),
            encoding=encoding,
        )
        check = _requiring(records.read_contract, options) if form.header else None
        rows = csv_rows(file, records.read_contract, form, check)
        yield from records.of_rows(rows)

    def first_rows(self, file: IO[bytes], options: Mapping[str, Any]) -> FileRows:
        """Return the first rows, with the cells as texts."""
        encoding, separator = options[ENCODING.name], options[SEPARATOR.name]
        rows = csv_sample(
            file,
            header=options[HEADER.name],
            separator=separator,
            quote=options[QUOTE.name],
            encoding="utf-8-sig" if is_utf_8(encoding) else encoding,
            chosen=separator != SEPARATOR.default,
        )
        null = options.get(NULL_VALUE.name, "")
        if null:
            found = rows.rows
            rows.rows = (({k: None if v == null else v for k, v in row.items()}, place) for row, place in found)
        return rows


class JsonSource(FilesSource):
    """Files with a JSON object on each line."""

    traits: ClassVar[SourceTraits] = _traits("json", "Files with a JSON object on each line.", (ENCODING, COMPRESSION))

    def items(self, file: IO[bytes], records: Records, options: Mapping[str, Any]) -> Iterator[SourceItem]:
        """Yield the records of the lines."""
        yield from records.of_rows(json_rows("", _in_utf_8(file, options), encoding=options[ENCODING.name]))

    def first_rows(self, file: IO[bytes], options: Mapping[str, Any]) -> FileRows:
        """Return the objects of the first lines."""
        return json_sample(_in_utf_8(file, options))


class TextSource(FilesSource):
    """Files whose lines are the values of one column."""

    traits: ClassVar[SourceTraits] = _traits(
        "text", "Files whose lines are the values of one column.", (LINE, ENCODING, COMPRESSION), one_string=True
    )

    def items(self, file: IO[bytes], records: Records, options: Mapping[str, Any]) -> Iterator[SourceItem]:
        """Yield the lines."""
        read = records.read_contract
        column = options.get(LINE.name) or read.record.fields[0].name
        lines = _in_utf_8(file, options)
        rows = line_rows("", lines, contract=read, field=column, encoding=options[ENCODING.name])
        yield from records.of_rows(rows)

    def first_rows(self, file: IO[bytes], options: Mapping[str, Any]) -> FileRows:
        """Return the first lines."""
        return line_sample(_in_utf_8(file, options), options.get(LINE.name, "line"))


class AvroSource(FilesSource):
    """Avro container files."""

    traits: ClassVar[SourceTraits] = _traits("avro", "Avro container files.", (MISSING,))

    def items(self, file: IO[bytes], records: Records, options: Mapping[str, Any]) -> Iterator[SourceItem]:
        """Yield the records."""
        columns = _requiring(records.read_contract, options)
        yield from records.of_rows(avro_rows("", file, contract=records.read_contract, columns=columns))

    def first_rows(self, file: IO[bytes], options: Mapping[str, Any]) -> FileRows:
        """Return the first records, and the types of the schema of the file."""
        return avro_sample(file)


class ParquetSource(FilesSource):
    """Parquet files."""

    traits: ClassVar[SourceTraits] = _traits("parquet", "Parquet files.", (MISSING,))

    def items(self, file: IO[bytes], records: Records, options: Mapping[str, Any]) -> Iterator[SourceItem]:
        """Yield the records, of which only the columns of the schema are read."""
        import pyarrow.parquet as pq

        read = records.read_contract
        parquet = pq.ParquetFile(file)
        names = parquet.schema_arrow.names
        _requiring(read, options)(names)
        columns = [field.name for field in read.record.fields if field.name in names]
        yield from records.of_batches(parquet.iter_batches(2000, columns=columns))

    def first_rows(self, file: IO[bytes], options: Mapping[str, Any]) -> FileRows:
        """Return the first rows, and the types of the schema of the file."""
        return parquet_sample(file)


def _requiring(contract: Contract, options: Mapping[str, Any]) -> Callable[[Iterable[str]], None]:
    """Return a function that checks the names of the columns of a file.

    It raises `CodecError` if a column of the schema is missing that has no default, and `missing-columns` is
    `fail` or the column cannot be null.
    """
    fields = [field for field in contract.record.fields if not (field.has_default and field.default is not None)]
    if options[MISSING.name] == "null":
        fields = [field for field in fields if not optional(field.schema, contract)[1]]

    def check(names: Iterable[str]) -> None:
        known = list(names)
        for field in fields:
            if field.name not in known:
                listed = ", ".join(f"`{name}`" for name in known) or "none"
                raise CodecError(f"the file has no column `{field.name}`; its columns: {listed}")

    return check


def _in_utf_8(file: IO[bytes], options: Mapping[str, Any]) -> IO[bytes]:
    """Return the content of a file in UTF-8."""
    encoding = options[ENCODING.name]
    return file if is_utf_8(encoding) else in_utf_8(file, encoding)
