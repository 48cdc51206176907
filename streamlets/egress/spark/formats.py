"""The sinks `noop` and `spark-files`, which are formats of Spark."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar

from blueprint.catalog import ParameterProblem, ParameterType, SinkOption, SinkTraits
from blueprint.settings.sinks import column_problems
from streamlets.egress.base import NothingStored, SinkQuery, SinkType, SinkWriter, spark_types
from streamlets.egress.files.type import FORMATS, SPARK, TEXT_OPTIONS, spark_option_problems, spark_options

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")


class NoopSink(SinkType):
    """Nothing: the batches are computed, and not stored."""

    traits: ClassVar[SinkTraits] = SinkTraits(
        name="noop",
        description="Nothing: batches are computed, for measurements.",
        guarantee="none",
        output_modes=("append", "update", "complete"),
    )

    def open(self, rows: DataFrame, query: SinkQuery) -> SinkWriter:
        """Return a writer that stores nothing."""
        return SinkWriter(rows.writeStream.format("noop"), NothingStored())


class SparkFilesSink(SinkType):
    """Spark's own sink of files, whose log of files is in the directory itself."""

    traits: ClassVar[SinkTraits] = SinkTraits(
        name="spark-files",
        description="A directory of files on any file system of Spark, such as `s3a://` or `hdfs://`.",
        guarantee="at-least-once",
        options=(
            SinkOption(
                name="path",
                description="the directory or its URL; a relative path starts in the directory of the blueprint",
                required=True,
            ),
            SinkOption(
                name="format",
                description="the format of the files",
                default="parquet",
                choices=("parquet", "orc", "json", "csv", "text"),
            ),
            SinkOption(name="compression", description="the compression codec, as Spark names it"),
            SinkOption(
                name="max-records-per-file",
                description="the maximum number of records in a file",
                type=ParameterType.INTEGER,
            ),
            *TEXT_OPTIONS,
        ),
        partitioning=True,
        passes_on=(SPARK,),
    )

    def option_problems(self, options: Mapping[str, object]) -> Iterator[ParameterProblem]:
        """Yield which options of Spark cannot be set."""
        yield from spark_option_problems(options)

    def open(self, rows: DataFrame, query: SinkQuery) -> SinkWriter:
        """Return Spark's writer of files."""
        path, format = str(query.options["path"]), str(query.options["format"])
        writer = rows.writeStream.format(format).options(**spark_options(format, query.options))
        writer = writer.option("path", path if _URL.match(path) else f"file:{(query.directory / path).absolute()}")
        return SinkWriter(writer.partitionBy(*query.partition_by) if query.partition_by else writer)

    def column_problems(self, columns: StructType, query: SinkQuery) -> Iterator[str]:
        """Yield why the format cannot have these columns."""
        traits = FORMATS[str(query.options["format"])]
        for problem in column_problems(traits, spark_types(columns), {}, partition_by=query.partition_by):
            if problem.path == ("to",):  # the others belong to this sink
                yield problem.message.replace("the sink", "the format")
