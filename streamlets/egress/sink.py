"""`streamlets.Sink`: an egress by configuration, without a class of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from blueprint.catalog import ParameterProblem
from blueprint.quantities import Duration
from streamlets.api.context import SparkStreamletContext, StreamingWrite
from streamlets.api.errors import StreamletError
from streamlets.api.logic import SparkStreamletLogic
from streamlets.api.parameters import ObjectParameter, StringParameter
from streamlets.api.ports import AvroInlet
from streamlets.api.streamlet import SparkStreamlet
from streamlets.egress.capabilities import SINKS, SinkTraits, SinkValue

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from streamlets.egress.files import FilesWriter
    from streamlets.egress.terminal import TerminalWriter

    Settings = Mapping[str, SinkValue]


class Sink(SparkStreamlet):
    """Writes the records of a topic to files or to the terminal.

    In the blueprint:

        archive {
          class = streamlets.Sink
          inlets.in = schemas/Average.avsc
          parameters { to = parquet, partition-by = src, options { path = out/averages } }
        }

    `capabilities.SINKS` has the values of `to`, and the options of each sink.
    """

    rows = AvroInlet("in")
    to = StringParameter("Where the records are written", choices=tuple(SINKS))
    partition_by = StringParameter("The partition columns, separated by commas", default="")
    options = ObjectParameter("The options of the sink", default={})

    def check_parameters(self, values: Mapping[str, Any]) -> Iterator[ParameterProblem]:
        """Check the options against those of the sink, and whether the sink supports `partition-by`."""
        traits = SINKS[values[self.to.key]]
        for problem in traits.problems(values[self.options.key]):
            yield replace(problem, path=(self.options.key, *problem.path))
        if values[self.partition_by.key].strip() and not traits.partitioning:
            yield ParameterProblem(
                (self.partition_by.key,),
                f"the sink `{traits.name}` does not support `partition-by`",
                ("remove `partition-by`",),
                "key",
            )

    def written_folders(self, values: Mapping[str, Any]) -> Mapping[tuple[str, ...], str]:
        """Return the directory of a sink that writes files."""
        path = values[self.options.key].get("path")
        return {(self.options.key, "path"): str(path)} if path is not None else {}

    class Logic(SparkStreamletLogic["Sink"]):
        """One query from the inlet to the sink."""

        def build_streaming_queries(self) -> StreamingWrite:
            """Return the query `sink`.

            Raises:
                StreamletError: the sink does not support the columns of the inlet, or their partitioning.
            """
            me, sink = self.streamlet, self.context.streamlet_ref
            traits, options = SINKS[self.value(me.to)], self.value(me.options)
            columns = tuple(name.strip() for name in self.value(me.partition_by).split(",") if name.strip())
            rows = self.read_stream(me.rows)
            problems = _column_problems(traits, columns, rows)
            if problems:
                raise StreamletError(f"`{sink}`: " + "; ".join(problems), me.rows.declared)
            writer = _writer(sink, traits, traits.settings(options), columns, self.context)
            return self.query("sink", rows.writeStream.foreachBatch(writer), record=writer.record)


def _writer(
    sink: str, traits: SinkTraits, settings: Settings, columns: tuple[str, ...], context: SparkStreamletContext
) -> FilesWriter | TerminalWriter:
    if traits.name == "terminal":
        from streamlets.egress.terminal import TerminalWriter

        return TerminalWriter(sink, context.print_line, int(str(settings["rows"])), str(settings["title"] or ""))
    from streamlets.egress.compaction import Compaction
    from streamlets.egress.files import FilesWriter
    from streamlets.egress.record import FilesRecord

    record = FilesRecord(context.path(str(settings["path"])), sink, str(context.state))
    options, age = spark_options(traits, settings), settings["compact"]
    return FilesWriter(
        record=record,
        format=traits.name,
        options=options,
        compaction=Compaction(record, traits.name, options, age.seconds) if isinstance(age, Duration) else None,
        partition_by=columns,
        existing=str(settings["existing"]),
        on_batch=context.on_batch,
        report=context.print_line,
    )


def spark_options(traits: SinkTraits, settings: Settings) -> dict[str, str]:
    """Return the options for Spark's writer and reader of the sink's format."""
    values = {option.spark: settings[option.name] for option in traits.options if option.spark}
    return {name: _spark_text(value) for name, value in values.items() if value is not None}


def _column_problems(traits: SinkTraits, columns: tuple[str, ...], rows: DataFrame) -> list[str]:
    names = rows.columns
    problems = [
        f"`partition-by` has `{name}`, which is not a column of the schema" for name in columns if name not in names
    ]
    if columns and set(columns) >= set(names):
        problems.append("`partition-by` has all columns: at least one must remain for the files")
    if not traits.nested:
        nested = [f.name for f in rows.schema.fields if f.dataType.typeName() in ("struct", "array", "map", "binary")]
        problems += [
            f"the sink `{traits.name}` cannot write the nested or binary column `{name}`: use `json`" for name in nested
        ]
    return problems


def _spark_text(value: str | int | bool | Duration) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
