"""The sinks `parquet`, `orc`, `json`, `csv` and `text`, which write a directory of files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from blueprint.catalog import ParameterProblem, ParameterType, SinkOption, SinkTraits
from blueprint.quantities import Duration
from streamlets.egress.base import SinkFiles, SinkQuery, SinkType, SinkWriter
from streamlets.egress.text import with_defaults

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FILES = (
    SinkOption(
        name="path",
        description="the directory of the files, relative to the file that sets the option",
        type=ParameterType.PATH,
        required=True,
    ),
    SinkOption(
        name="existing",
        description="what happens to files that this sink wrote with an earlier checkpoint",
        default="fail",
        choices=("fail", "replace", "append"),
    ),
    SinkOption(
        name="compact",
        description="merge small files when the oldest of them reaches this age",
        type=ParameterType.DURATION,
        in_tests=False,
    ),
    SinkOption(
        name="max-records-per-file",
        description="the maximum number of records in a file",
        type=ParameterType.INTEGER,
    ),
)
_TIMES = (
    SinkOption(name="date-format", description="the pattern of dates; default: ISO 8601"),
    SinkOption(
        name="timestamp-format",
        description="the pattern of timestamps, in the time zone of the session; default: ISO 8601 with microseconds, "
        "in UTC",
    ),
    SinkOption(
        name="timestamp-ntz-format",
        description="the pattern of timestamps without time zone; default: ISO 8601 with microseconds",
    ),
)
_CSV = (
    SinkOption(
        name="header",
        description="begin each file with the names of the columns",
        type=ParameterType.BOOLEAN,
        default="true",
    ),
    SinkOption(name="separator", description="the character between values", default=","),
    SinkOption(name="null-value", description="the string for null, which no record may have; default: no characters"),
)
_IGNORE_NULLS = SinkOption(
    name="ignore-null-fields", description="omit fields without a value", type=ParameterType.BOOLEAN
)
TEXT_OPTIONS = (*_CSV, _IGNORE_NULLS, *_TIMES)
"""The options of `csv` and `json`."""

_TEXT = ("none", "gzip", "bzip2", "deflate")

SPARK_OPTIONS = {
    "max-records-per-file": "maxRecordsPerFile",
    "compression": "compression",
    "ignore-null-fields": "ignoreNullFields",
    "header": "header",
    "separator": "sep",
    "null-value": "nullValue",
    "date-format": "dateFormat",
    "timestamp-format": "timestampFormat",
    "timestamp-ntz-format": "timestampNTZFormat",
}
"""The option of Spark's writer that an option of a sink sets."""


SPARK = "spark."
"""The prefix of the options that are passed to Spark's writer."""

_FIXED = ("path", "basepath")
_NOT_COMPACTED = ("encoding", "charset", "linesep")
"""Options of Spark, in lower case, with which files of text cannot be joined."""

REFUSED_TYPES: dict[str, tuple[str, ...]] = {
    "parquet": ("interval",),
    "orc": ("interval", "variant", "void"),
    "json": ("interval",),
    "csv": ("interval", "variant", "void"),
    "text": (),
}
"""The types that each format of Spark refuses, besides those that other traits exclude; `interval` has no unit."""


def _compression(*choices: str) -> SinkOption:
    return SinkOption(name="compression", description="the compression codec", choices=choices)


def _traits(name: str, description: str, *options: SinkOption, nested: bool = True) -> SinkTraits:
    return SinkTraits(
        name=name,
        description=description,
        guarantee="exactly-once",
        options=(*_FILES, *options),
        output_modes=("append", "update", "complete"),
        partitioning=True,
        nested=nested,
        refused_types=REFUSED_TYPES[name],
        one_string=name == "text",
        exclusive=(("compact", "max-records-per-file"),),
        passes_on=(SPARK,),
    )


class _FilesSink(SinkType):
    """A sink that writes files in a format of Spark, which has the sink's name."""

    def option_problems(self, options: Mapping[str, object]) -> Iterator[ParameterProblem]:
        """Yield which options of Spark cannot be set."""
        yield from spark_option_problems(options)
        for name in passed_on(options):
            if "compact" in options and name.lower() in _NOT_COMPACTED:
                message = f"`compact` and `{SPARK}{name}` cannot be combined"
                yield ParameterProblem(
                    ("options", "compact"), message, (f"remove `compact` or `{SPARK}{name}`",), "key"
                )

    def open(self, rows: DataFrame, query: SinkQuery) -> SinkWriter:
        """Return a writer whose files replace themselves if a batch runs again."""
        from streamlets.egress.files.compaction import Compaction
        from streamlets.egress.files.record import FilesRecord
        from streamlets.egress.files.writer import FilesWriter

        name, age = self.traits.name, query.options.get("compact")
        options = spark_options(name, query.options)
        record = FilesRecord(Path(str(query.options["path"])), query.name, query.application)
        writer = FilesWriter(
            record=record,
            format=name,
            options=options,
            compaction=Compaction(record, name, options, age.seconds) if isinstance(age, Duration) else None,
            partition_by=query.partition_by,
            existing=str(query.options["existing"]),
            written=query.written,
            report=query.report,
        )
        return SinkWriter(rows.writeStream.foreachBatch(writer), record)

    def files(self, options: Mapping[str, object]) -> SinkFiles:
        """Return its files."""
        name = self.traits.name
        lines = {"multiLine": "true"} if name == "csv" else {}  # a field may have line breaks
        return SinkFiles(Path(str(options["path"])), name, spark_options(name, options) | lines)


class ParquetSink(_FilesSink):
    """Parquet files."""

    traits: ClassVar[SinkTraits] = _traits(
        "parquet", "A directory of Parquet files.", _compression("none", "snappy", "gzip", "lz4_raw", "zstd")
    )


class OrcSink(_FilesSink):
    """ORC files."""

    traits: ClassVar[SinkTraits] = _traits(
        "orc", "A directory of ORC files.", _compression("none", "snappy", "zlib", "lz4", "zstd")
    )


class JsonSink(_FilesSink):
    """Files with a JSON object per line."""

    traits: ClassVar[SinkTraits] = _traits(
        "json",
        "A directory of files with one JSON object per line.",
        _compression(*_TEXT),
        _IGNORE_NULLS,
        *_TIMES,
    )


class CsvSink(_FilesSink):
    """CSV files."""

    traits: ClassVar[SinkTraits] = _traits(
        "csv",
        "A directory of CSV files.",
        _compression(*_TEXT),
        *_CSV,
        *_TIMES,
        nested=False,
    )


class TextSink(_FilesSink):
    """Text files."""

    traits: ClassVar[SinkTraits] = _traits(
        "text", "A directory of text files with one record per line.", _compression(*_TEXT)
    )


def passed_on(options: Mapping[str, object]) -> dict[str, str]:
    """Return the options for Spark's writer, by its names."""
    return {name.removeprefix(SPARK): str(value) for name, value in options.items() if name.startswith(SPARK)}


def spark_options(format: str, options: Mapping[str, object]) -> dict[str, str]:
    """Return the options of Spark's writer and reader.

    Arguments:
        format: the name of the format in Spark.
        options: the typed values of the options of the sink by name.
    """
    own = {
        SPARK_OPTIONS[name]: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in options.items()
        if name in SPARK_OPTIONS
    }
    return with_defaults(format, own | passed_on(options))


def spark_option_problems(options: Mapping[str, object]) -> Iterator[ParameterProblem]:
    """Yield the problems of options that belong to the sink, or that determine which files are written."""
    own = {theirs.lower(): name for name, theirs in SPARK_OPTIONS.items()}
    for name in passed_on(options):
        path = ("options", *f"{SPARK}{name}".split(".", 1))
        if name.lower() in own:
            option = own[name.lower()]
            message = f"`{SPARK}{name}` is the option `{option}` of the sink"
            yield ParameterProblem(path, message, (f"set `{option}`",), "key")
        elif name.lower() in _FIXED or name.startswith("mapreduce."):
            yield ParameterProblem(path, f"the sink sets the option `{name}` of Spark", ("remove it",), "key")


FORMATS: Mapping[str, SinkTraits] = {
    sink.traits.name: sink.traits for sink in (ParquetSink, OrcSink, JsonSink, CsvSink, TextSink)
}
"""The traits of the sinks by format."""
