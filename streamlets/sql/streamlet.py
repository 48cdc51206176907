"""`streamlets.Sql`: a streamlet whose queries are SQL statements."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from blueprint.catalog import Connector, ExternalResources, ParameterType, ReadPath, UsedSink, WrittenDirectory
from blueprint.diagnostics import Diagnostic, finding
from blueprint.hocon import path_text
from blueprint.hocon.paths import PathFault, read_path
from blueprint.hocon.source import Source
from blueprint.hocon.values import ObjectValue, Scalar, Value
from blueprint.spelling import did_you_mean
from streamlets.api.building import SOURCE_EVOLUTION, check_streaming
from streamlets.api.context import StreamingWrite, all_rows
from streamlets.api.errors import StreamletError
from streamlets.api.logic import SparkStreamletLogic
from streamlets.api.parameters import ObjectParameter, StringParameter
from streamlets.api.ports import AvroInlet, AvroOutlet
from streamlets.api.retry_options import take_retry_options
from streamlets.api.shape import StreamletShape
from streamlets.api.source_location import SourceLocation, located, parameter_file
from streamlets.api.streamlet import Configuration, SparkStreamlet
from streamlets.egress.registry import SINKS
from streamlets.plugins import PluginError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from blueprint.sql.job import Job, Query
    from blueprint.sql.statements import CreateStream, SparkSql
    from blueprint.sql.tokens import Variable, Variables
    from streamlets.egress.base import SinkWriter

CHECKPOINT_BASE = "spark.sql.streaming.checkpointLocation"
"""Spark's setting: the parent directory of checkpoints, below which PSTL has `<job>/<query>`."""

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")


class Sql(SparkStreamlet):
    """Runs SQL statements: `CREATE STREAM`, temporary views in Spark SQL, and `SAVE STREAM`.

    A job file is an application of one such streamlet: `flow run job.sql`. In a blueprint, its inlets and outlets are
    those that the topics name. An inlet is a table of its name, and `SAVE STREAM ... TO` an outlet writes its topic.

    Example:
        In the blueprint:

            totals {
              class = streamlets.Sql
              parameters.statements = '''
                CREATE TEMPORARY VIEW large AS SELECT * FROM orders WHERE amount > 100;
                SAVE STREAM large TO totals
              '''
            }
    """

    statements = StringParameter("The statements, each of which ends with `;`")
    file = StringParameter("The file that has the statements, for the places of errors", default="")
    variables = ObjectParameter("The values of `${...}` in the statements", default={})

    def declare_ports(self, inlets: Iterable[str], outlets: Iterable[str]) -> None:
        """Declare the ports that the blueprint names; a subclass may have others of its own."""
        own = {port.name for port in self.shape.ports}
        for name in inlets:
            if name not in own:
                self._declare(AvroInlet(name), "inlet")
        for name in outlets:
            if name not in own:
                self._declare(AvroOutlet(name), "outlet")

    def _declare(self, port: AvroInlet | AvroOutlet, noun: str) -> None:
        port.from_blueprint = True
        setattr(self, f"{noun} {port.name}", port)

    def external_resources(self, configuration: Configuration) -> ExternalResources:
        """Return the mistakes in the statements or, if there are none, what their streams and queries need.

        A stream with `pathGlobFilter` is omitted: Spark compares it with each file, so that it may skip the output.
        """
        from blueprint.sql.embedded import EmbeddedSource

        statements, variables = (configuration.written.get(own.key) for own in (self.statements, self.variables))
        assert isinstance(statements, Scalar)  # it is a valid string
        values = dict(_configured(variables, ())) if variables is not None else {}
        job, findings = read_job(EmbeddedSource(statements), values, self.shape)
        if findings:
            return ExternalResources(findings=findings)
        return ExternalResources(
            directories=tuple(_directories(job, self.statements.key)),
            reads=tuple(_paths_read(job, self.statements.key)),
            sinks=tuple(_sinks(job)),
            connectors=tuple(_connectors(job)),
        )

    class Logic(SparkStreamletLogic["Sql"]):
        """The queries of the `SAVE STREAM` statements."""

        def build_streaming_queries(self) -> list[StreamingWrite]:
            """Define streams and views in the order of the statements, then return a query for each `SAVE STREAM`.

            Raises:
                StreamletError: a statement is not valid, or saves a table that is not a stream.
            """
            from blueprint.sql.job import table_name
            from streamlets.sql.session_state import restore
            from streamlets.sql.statement_places import StatementPlaces

            source = Source(self.value(self.streamlet.file) or "statements", self.value(self.streamlet.statements))
            shape = self.streamlet.shape
            job, findings = read_job(source, text_values(self.value(self.streamlet.variables)), shape)
            key = self.streamlet.statements.key
            file, text = parameter_file(key), self.context.texts.get(key)
            if self.value(self.streamlet.file):
                file, text = str(self.context.path(source.file)), None
            inlets = tuple(map(table_name, _names(shape.inlets)))
            self._places = StatementPlaces(source, file, inlets, job.definitions, text)
            for mistake in findings:
                place = self._places.location(mistake.primary.span) if mistake.primary is not None else None
                raise StreamletError(mistake.headline, place, code=mistake.code)
            restore(self.session, job.views)
            for inlet in shape.inlets:
                self.read_stream(inlet).createOrReplaceTempView(table_name(inlet.name))
            for definition in job.definitions:
                with self._places.errors(definition):
                    self._define(definition)
            return [self._query(query) for query in job.queries]

        def _define(self, definition: CreateStream | SparkSql) -> None:
            from blueprint.sql.literals import name_text
            from blueprint.sql.statements import CreateStream
            from streamlets.sql.statement_places import executed

            if isinstance(definition, CreateStream):
                self._stream(definition).createOrReplaceTempView(name_text(definition.name.text))
                return
            with located(self._places.location(definition.span)):
                self.session.sql(executed(definition))

        def _stream(self, stream: CreateStream) -> DataFrame:
            from blueprint.sql.literals import name_text

            options = {option.key.text: option.value.text for option in stream.options}
            for key, value in options.items():
                if key.lower() == "path" and not _URI.match(value):
                    options[key] = str(self.context.path(value))
            columns = ", ".join(f"{name_text(column.name.text)} {column.type}" for column in stream.columns)
            return self.source(
                _source_name(stream.name.text),
                format=stream.provider.plain,
                schema=columns or None,
                options=dict(options),
            )

        def _query(self, query: Query) -> StreamingWrite:
            place = self._places.location(query.statement.span)
            with self._places.errors(query.statement):
                rows = self._rows(query)
                if not rows.isStreaming:
                    raise StreamletError(
                        f"`SAVE STREAM` expects a stream, but `{query.statement.table.plain}` is not one: "
                        "select from a stream of `CREATE STREAM`",
                        code="not-a-stream",
                    )
                check_streaming(rows, "SAVE STREAM")
                outlets = () if query.outlet is None else (query.outlet,)
                opened = self._to_sink(query, rows) if query.outlet is None else self._to_outlet(query, rows, place)
                for option in query.retry:
                    opened.writer.option(option.key.text, option.value.text)
                retry = take_retry_options(opened.writer, query.name)
                write = StreamingWrite(
                    query.name, opened.writer, outlets, query.trigger, place, retry, opened.record,
                    self._checkpoint(query),
                )  # fmt: skip
                return self._build.add(write)

        def _checkpoint(self, query: Query) -> Path | None:
            """Return the directory of `checkpointLocation`, or else of Spark's setting; None for the state
            directory."""
            if query.checkpoint is not None:
                return self.context.path(query.checkpoint.value.text.removeprefix("file:"))
            base = self.session.conf.get(CHECKPOINT_BASE, "") or ""
            if not base:
                return None
            owner = () if self.value(self.streamlet.file) else (self.context.streamlet_ref,)  # a job is its streamlet
            return self.context.path(base.removeprefix("file:")).joinpath(self.context.state.name, *owner, query.name)

        def _to_outlet(self, query: Query, rows: DataFrame, place: SourceLocation | None) -> SinkWriter:
            from streamlets.egress.base import SinkWriter

            assert query.outlet is not None  # the caller's condition
            with located(place):
                branches = {query.outlet: all_rows}
                writer = self.context.ports.write(
                    rows, branches, query=query.name, output_mode=query.output_mode, trigger=query.trigger
                )
            return SinkWriter(writer)

        def _to_sink(self, query: Query, rows: DataFrame) -> SinkWriter:
            from blueprint.settings.options import typed_options
            from streamlets.egress.base import SinkQuery
            from streamlets.egress.sink import open_sink

            sink, context = SINKS[query.sink], self.context
            written = {name: option.value.text for name, option in query.options.items()}
            names = {name.lower(): name for name in rows.columns}  # names in SQL have any case
            partition_by = [column.text for column in query.statement.partitioned_on]
            sink_query = SinkQuery(
                name=f"{context.streamlet_ref}.{query.name}",
                streamlet=context.streamlet_ref,
                query=query.name,
                options=typed_options(sink.traits, written, context.directory),
                partition_by=tuple(names.get(name.lower(), name) for name in partition_by),
                output_mode=query.output_mode,
                directory=context.directory,
                application=str(context.state),
                on_batch=context.on_batch,
                report=context.print_line,
            )
            return open_sink(sink, rows, sink_query)

        def _rows(self, query: Query) -> DataFrame:
            """Return the rows of the table that a statement saves, with the columns that it lists."""
            from blueprint.sql.literals import name_text

            table = query.statement.table
            rows = self.session.table(table.text) if len(table.parts) == 1 else self._catalog_table(query)
            listed = [name_text(column.name.text) for column in query.statement.columns]
            return rows.select(*listed) if listed else rows

        def _catalog_table(self, query: Query) -> DataFrame:
            """Return a table of the catalog as a stream, whose source has a name like the sources of streams."""
            table, reader = query.statement.table, self.session.readStream
            if self.session.conf.get(SOURCE_EVOLUTION, "false") == "true":
                reader = reader.name(_source_name(table.plain))
            return reader.table(table.text)


def _directories(job: Job, parameter: str) -> Iterator[WrittenDirectory]:
    """Yield the directories of the files and of the explicit checkpoints of the queries."""
    from blueprint.sql.job import normal_path

    for query in job.queries:
        traits = SINKS[query.sink].traits if query.outlet is None else None
        names = [option.name for option in traits.options if option.type is ParameterType.PATH] if traits else []
        options = [(query.options[name], False) for name in names if name in query.options]
        options += [(query.checkpoint, True)] if query.checkpoint is not None else []
        for option, checkpoint in options:
            if option.value.known:
                path, place = normal_path(option.value.text), option.value.span
                yield WrittenDirectory((parameter,), path, query.name, place, checkpoint)


def _paths_read(job: Job, parameter: str) -> Iterator[ReadPath]:
    from blueprint.sql.job import normal_path

    for stream in job.streams:
        options = {option.key.text.lower(): option.value for option in stream.options}
        path = options.get("path")
        if path is None or not path.known or "pathglobfilter" in options or "." in stream.provider.plain:
            continue
        directory = normal_path(path.text)
        if not _URI.match(directory):
            recursive = "recursivefilelookup" in options and options["recursivefilelookup"].text.lower() == "true"
            yield ReadPath((parameter,), directory, stream.name.text, path.span, recursive)


def _sinks(job: Job) -> Iterator[UsedSink]:
    """Yield the sinks of the statements."""
    from blueprint.settings.options import typed_options

    for query in job.queries:
        if query.outlet is None:
            written = {name: option.value.text for name, option in query.options.items()}
            yield UsedSink(query.sink, typed_options(SINKS[query.sink].traits, written))


def _connectors(job: Job) -> Iterator[Connector]:
    """Yield the connectors of the sinks and the sources of the statements."""
    from streamlets.channels.kafka.connector import CONNECTOR

    sinks = (SINKS[query.sink].traits for query in job.queries if query.outlet is None)
    yield from (sink.connector for sink in sinks if sink.connector is not None)
    if any(stream.provider.plain.lower() == "kafka" for stream in job.streams):
        yield CONNECTOR


def read_job(source: Source, variables: Variables, shape: StreamletShape) -> tuple[Job, tuple[Diagnostic, ...]]:
    """Read statements, and return the job and its mistakes.

    Arguments:
        source: the statements.
        variables: the values of their variables.
        shape: the ports of the streamlet that has the statements.
    """
    from blueprint.settings.job_options import option_findings
    from blueprint.sql.checking import check_job
    from blueprint.sql.job import Job
    from blueprint.sql.parser import parse
    from streamlets.sql.providers import missing_packages, providers, sink_findings

    script = parse(source, variables)
    if findings := (*script.findings, *_unset_variables(source, script.variables, variables)):
        return Job((), ()), findings  # the checks would report their consequences
    available, text = providers(), source.span(0, len(source.text))
    try:
        job, findings = check_job(script.statements, available, text, _names(shape.inlets), _names(shape.outlets))
    except PluginError as error:
        return Job((), ()), (finding("sql-provider", str(error), text),)
    findings = (*findings, *missing_packages(job), *_refused_options(job), *option_findings(job, available.sinks))
    return job, findings or tuple(sink_findings(job))


def _unset_variables(source: Source, used: Iterable[Variable], known: Variables) -> Iterator[Diagnostic]:
    """Yield a finding for each variable without a value that is not optional."""
    for variable in used:
        if variable.optional or variable.path in known:
            continue
        name, names = path_text(variable.path), [path_text(path) for path in known]
        yield finding(
            "unresolved-substitution",
            f"`{source.text[variable.start : variable.end]}` refers to a variable that is not set",
            source.span(variable.start, variable.end),
            help=(
                *(did_you_mean(name, names) or (f"set `{name}` in the parameter `variables`",)),
                "write `${?...}` when it may be missing",
            ),
        )


def _names(ports: Iterable[AvroInlet | AvroOutlet]) -> tuple[str, ...]:
    return tuple(port.name for port in ports)


def _refused_options(job: Job) -> Iterator[Diagnostic]:
    """Yield a finding for each option of PSTL that a run could not honour.

    Ignoring it would lose the position of the query, or starve other queries.
    """
    for query in job.queries:
        location = query.checkpoint.value.text if query.checkpoint is not None else ""
        if query.checkpoint is not None and _URI.match(location) and not location.startswith("file:/"):
            yield finding(
                "sql-option",
                f"a checkpoint must be in a directory of this machine, found `{location}`",
                query.checkpoint.value.span,
                help=("name a directory, which may be a mounted one",),
            )
        if query.pool is not None:
            help = ("remove the option; streamlets in processes of their own do not share a scheduler",)
            yield finding("sql-option", "scheduler pools are not supported", query.pool.key.span, help=help)


def _configured(value: Value, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the values below a configured value as texts, each with the path of its variable."""
    if isinstance(value, Scalar):
        yield path, value.text
    elif isinstance(value, ObjectValue):
        for key, inner in value.fields.items():
            yield from _configured(inner, (*path, *_keys(key)))


def text_values(values: Mapping[str, object]) -> Variables:
    """Return the values of the config parameter `variables` as texts, by the paths of the variables."""
    return dict(_texts(values, ()))


def _texts(value: object, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _texts(inner, (*path, *_keys(str(key))))
    else:
        yield path, str(value).lower() if isinstance(value, bool) else str(value)


def _keys(text: str) -> tuple[str, ...]:
    """Return the keys of a path, such as `a.b`; a text that is not a path is a key."""
    path = read_path(text, 0)
    return (text,) if isinstance(path, PathFault) else tuple(segment.key for segment in path[0])


def _source_name(name: str) -> str:
    """Return the name of a source in checkpoints, which has letters, digits and `_` only."""
    return re.sub(r"[^A-Za-z0-9_]", lambda character: f"_{ord(character[0]):x}_", name)
