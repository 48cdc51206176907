"""`streamlets.Sink`: an egress by configuration, without a class of its own."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from blueprint.catalog import (
    ExternalResources,
    ParameterProblem,
    ParameterType,
    SavedInlet,
    UsedSink,
    WrittenDirectory,
)
from blueprint.known_keys import KnownKey, KnownValue, column_values
from blueprint.settings.options import option_keys, typed_options
from blueprint.settings.sinks import (
    column_names,
    column_problems,
    sink_problems,
    unknown_sink,
)
from streamlets.api.context import StreamingWrite
from streamlets.api.errors import StreamletError
from streamlets.api.logic import SparkStreamletLogic
from streamlets.api.parameters import ObjectParameter, StringParameter
from streamlets.api.ports import AvroInlet
from streamlets.api.source_location import SourceLocation
from streamlets.api.streamlet import Configuration, SparkStreamlet
from streamlets.egress.base import SinkQuery, SinkType, SinkWriter, spark_types
from streamlets.egress.registry import SINKS, available_sinks
from streamlets.plugins import PluginError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Sink(SparkStreamlet):
    """Writes the records of a topic to files, to the terminal, or to a sink of another package.

    In the blueprint:

        archive {
          class = streamlets.Sink
          inlets.in = schemas/Average.avsc
          parameters { to = parquet, partition-by = src, options { path = out/averages } }
        }

    `streamlets.egress.SINKS` has the values of `to`, and the options of each sink.
    """

    rows = AvroInlet("in")
    to = StringParameter("The name of the sink that the records are written to")
    partition_by = StringParameter("The partition columns, separated by commas", default="")
    options = ObjectParameter("The options of the sink", default={})

    def check_parameters(self, values: Mapping[str, Any]) -> Iterator[ParameterProblem]:
        """Check the settings against the capabilities of the sink, and whether its package is installed.

        Arguments:
            values: the typed values of all parameters by key.
        """
        try:
            sink = SINKS[values[self.to.key]]
        except KeyError:
            yield unknown_sink(values[self.to.key], SINKS)
            return
        except PluginError as error:
            yield ParameterProblem((self.to.key,), str(error))
            return
        traits = sink.traits
        if traits.package and importlib.util.find_spec(traits.package) is None:
            message = f"the sink `{traits.name}` requires the package `{traits.package}`, which is not installed"
            yield ParameterProblem((self.to.key,), message, (f"run `pip install '{traits.install}'`",))
        columns = column_names(values[self.partition_by.key])
        options = values[self.options.key]
        problems = list(sink_problems(traits, options, partition_by=columns))
        yield from problems or sink.option_problems(typed_options(traits, options))

    def known_keys(
        self, parameters: Mapping[str, object], columns: Mapping[str, Mapping[str, str]]
    ) -> Iterator[KnownKey]:
        """Yield the sinks, and the options of the sink that is set.

        Arguments:
            parameters: as for `Streamlet.known_keys`.
            columns: as for `Streamlet.known_keys`.
        """
        sinks = {name: sink.traits for name, sink in available_sinks().items()}
        values = (KnownValue(name, traits.guarantee, traits.description) for name, traits in sinks.items())
        yield KnownKey(path=(self.to.key,), values=tuple(values))
        traits, inlet = sinks.get(str(parameters.get(self.to.key))), columns.get(self.rows.name, {})
        if traits is not None:
            yield from option_keys(traits, inlet)
        if traits is None or traits.partitioning:
            yield KnownKey(path=(self.partition_by.key,), values=column_values(inlet))

    def external_resources(self, configuration: Configuration) -> ExternalResources:
        """Return the directories that the sink writes, its columns, and its requirements of Spark."""
        values = configuration.values
        traits, options = SINKS[values[self.to.key]].traits, values[self.options.key]
        paths = [option.name for option in traits.options if option.type is ParameterType.PATH]
        return ExternalResources(
            directories=tuple(
                WrittenDirectory((self.options.key, name), str(options[name])) for name in paths if name in options
            ),
            saves=(SavedInlet(self.rows.name, traits, options, column_names(values[self.partition_by.key])),),
            sinks=(UsedSink(traits.name, typed_options(traits, options)),),
            connectors=(traits.connector,) if traits.connector is not None else (),
        )

    class Logic(SparkStreamletLogic["Sink"]):
        """One query from the inlet to the sink."""

        def build_streaming_queries(self) -> StreamingWrite:
            """Return the query `sink`.

            Raises:
                StreamletError: the sink does not support the columns of the inlet, or their partitioning.
            """
            me, context = self.streamlet, self.context
            sink = SINKS[self.value(me.to)]
            query = SinkQuery(
                name=context.streamlet_ref,
                streamlet=context.streamlet_ref,
                query="sink",
                options=typed_options(sink.traits, self.value(me.options), context.directory),
                partition_by=column_names(self.value(me.partition_by)),
                directory=context.directory,
                application=str(context.state),
                on_batch=context.on_batch,
                report=context.print_line,
            )
            opened = open_sink(sink, self.read_stream(me.rows), query, me.rows.declared)
            return self.query(query.query, opened.writer, record=opened.record)


def open_sink(sink: SinkType, rows: DataFrame, query: SinkQuery, place: SourceLocation | None = None) -> SinkWriter:
    """Return a writer of rows to a sink, in the output mode of the query.

    Arguments:
        sink: the sink.
        rows: the streaming DataFrame.
        query: the query and its options.
        place: the place of errors; default: the author's call.

    Raises:
        StreamletError: the sink does not support the query, its options or its columns.
    """
    settings = sink_problems(sink.traits, query.options, partition_by=query.partition_by, output_mode=query.output_mode)
    problems = [problem.message for problem in (*settings, *sink.option_problems(query.options))]
    if not problems:
        columns = column_problems(
            sink.traits, spark_types(rows.schema), query.options, partition_by=query.partition_by
        )  # fmt: skip
        problems = [*(problem.message for problem in columns), *sink.column_problems(rows.schema, query)]
    if problems:
        raise StreamletError("; ".join(problems), place)
    opened = sink.open(rows, query)
    return SinkWriter(opened.writer.outputMode(query.output_mode), opened.record)
