"""Batches of a sink, written by the function that Spark calls for them, without the queries around it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from blueprint.catalog import OutputMode
from blueprint.settings.options import typed_options
from streamlets.egress import SINKS, SinkQuery
from streamlets.egress.sink import open_sink
from streamlets.spark.session import active


@dataclass
class Stream:
    """Rows of a batch that a sink takes for a stream, so that it shows the function with which it writes batches.

    Arguments:
        rows: the rows, which the sink may change before it writes them.
        function: the function for batches, once the sink has been opened.
    """

    rows: DataFrame
    function: Callable[[DataFrame, int], None] | None = None

    @property
    def schema(self) -> Any:
        """The columns."""
        return self.rows.schema

    def withColumn(self, name: str, column: Any) -> Stream:
        """Change the rows, as a sink does before it writes them."""
        self.rows = self.rows.withColumn(name, column)
        return self

    @property
    def writeStream(self) -> Stream:
        """The writer, which is this object, too."""
        return self

    def foreachBatch(self, function: Callable[[DataFrame, int], None]) -> Stream:
        """Keep the function."""
        self.function = function
        return self

    def outputMode(self, mode: str) -> Stream:
        """Ignore the mode, which only Spark's query needs."""
        return self


@dataclass
class Written:
    """A sink of an application, to which batches are written.

    Arguments:
        name: the name of the sink.
        root: the directory of the application.
        options: the options as in a blueprint.
        partition_by: the partition columns.
        mode: the output mode.
        id: the id of the query.
        batches: the number of records of each batch, as the sink reports it.
    """

    name: str
    root: Path
    options: Mapping[str, Any]
    partition_by: tuple[str, ...] = ()
    mode: OutputMode = "append"
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    batches: list[int] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    @property
    def query(self) -> SinkQuery:
        """The query, as the streamlet `Sink` has it."""
        return SinkQuery(
            name="archive",
            streamlet="archive",
            query="sink",
            options=typed_options(SINKS[self.name].traits, self.options, self.root),
            partition_by=self.partition_by,
            output_mode=self.mode,
            directory=self.root,
            application=str(self.root / "state"),
            on_batch=lambda written: self.batches.append(written.rows["sink"]),
            report=self.lines.append,
        )

    def write(self, rows: DataFrame, batch: int = 0) -> None:
        """Write a batch, as a new process of the application would."""
        self.write_all([rows], batch)

    def write_all(self, batches: Sequence[DataFrame], first: int = 0) -> None:
        """Write batches, as one process of the application would."""
        opened: Any = Stream(batches[0])
        open_sink(SINKS[self.name], opened, self.query)
        context = batches[0].sparkSession.sparkContext
        context.setLocalProperty("sql.streaming.queryId", self.id)
        try:
            for number, rows in enumerate([opened.rows, *batches[1:]], first):
                opened.function(rows, number)
        finally:
            context.setLocalProperty("sql.streaming.queryId", "")

    def stream(self, session: SparkSession, input: Path, columns: tuple[str, ...] = ("*",)) -> None:
        """Run a query from a directory of Parquet files to the end, for sinks that Spark itself writes."""
        schema = session.read.parquet(str(input)).schema
        rows = session.readStream.name("records").schema(schema).parquet(str(input)).selectExpr(*columns)
        with active(session):
            writer = open_sink(SINKS[self.name], rows, self.query).writer
            writer = writer.option("checkpointLocation", str(self.root / f"checkpoint-{self.id}"))
            writer.queryName(f"q{uuid.uuid4().hex}").trigger(availableNow=True).start().awaitTermination(300)
