"""The sinks `parquet`, `orc`, `json`, `csv` and `text`, which write a directory of files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from blueprint.catalog import ParameterType, SinkOption, SinkTraits
from blueprint.quantities import Duration
from streamlets.egress.base import SinkFiles, SinkQuery, SinkType, SinkWriter

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
    SinkOption(name="date-format", description="the pattern of dates"),
    SinkOption(name="timestamp-format", description="the pattern of timestamps"),
)
_CSV = (
    SinkOption(
        name="header",
        description="begin each file with the names of the columns",
        type=ParameterType.BOOLEAN,
        default="true",
    ),
    SinkOption(name="separator", description="the character between values", default=","),
    SinkOption(name="null-value", description="the string for null"),
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
}
"""The option of Spark's writer that an option of a sink sets."""


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
    )


class _FilesSink(SinkType):
    """A sink that writes files in a format of Spark, which has the sink's name."""

    def open(self, rows: DataFrame, query: SinkQuery) -> SinkWriter:
        """Return a writer whose files replace themselves if a batch runs again."""
        from streamlets.egress.files.compaction import Compaction
        from streamlets.egress.files.record import FilesRecord
        from streamlets.egress.files.writer import FilesWriter

        name, options, age = self.traits.name, spark_options(query.options), query.options.get("compact")
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
        return SinkFiles(Path(str(options["path"])), self.traits.name, spark_options(options))


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


def spark_options(options: Mapping[str, object]) -> dict[str, str]:
    """Return the options of Spark's writer and reader."""
    return {
        SPARK_OPTIONS[name]: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in options.items()
        if name in SPARK_OPTIONS
    }


FORMATS: Mapping[str, SinkTraits] = {
    sink.traits.name: sink.traits for sink in (ParquetSink, OrcSink, JsonSink, CsvSink, TextSink)
}
"""The traits of the sinks by format."""
