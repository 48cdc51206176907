"""`SparkStreamletLogic`: the base class of logic, which builds queries from inlets to outlets but starts none."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar, Union, overload

from streamlets.api.building import SOURCE_EVOLUTION, Build, check_source_name, check_streaming
from streamlets.api.context import SparkStreamletContext, StreamingWrite, all_rows
from streamlets.api.declaration import Declaration, declarations
from streamlets.api.errors import StreamletError
from streamlets.api.hooks import StopCause, check_hook
from streamlets.api.mounts import VolumeMount
from streamlets.api.parameters import Parameter
from streamlets.api.ports import AvroInlet, AvroOutlet
from streamlets.api.retry_options import take_retry_options
from streamlets.api.shape import HasShape
from streamlets.api.source_location import author_location

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter
    from pyspark.sql.types import StructType

    from blueprint.trigger import Trigger
    from streamlets.batches import BatchRecord

StreamletT = TypeVar("StreamletT", bound=HasShape)
T = TypeVar("T")
Default = TypeVar("Default")
Port = TypeVar("Port", bound=AvroInlet | AvroOutlet)

_NO_DEFAULT = object()

Queries = Union["StreamingWrite", "StreamingQuery", Sequence["StreamingWrite | StreamingQuery"]]
"""The result of `build_streaming_queries`: one or several results of `write_stream`, `write_streams` and `query`.
A `StreamingQuery` that the author started is accepted, too; if a query fails then, the whole streamlet is restarted."""


class SparkStreamletLogic(abc.ABC, Generic[StreamletT]):
    """The logic of a streamlet, created for each start of it; the type argument is the streamlet's class.

    A query that is restarted alone, while others of the streamlet are running, is built by the same logic again.

    Attributes:
        streamlet: the streamlet, with its ports, parameters and mounts.
        context: the environment of the run.

    Example:
        >>> from pyspark.sql import functions as F
        >>> from streamlets import SparkStreamletLogic
        >>> class Logic(SparkStreamletLogic["Averages"]):
        ...     def build_streaming_queries(self):
        ...         me = self.streamlet
        ...         readings = self.read_stream(me.readings).withWatermark("at", "10 minutes")
        ...         window = F.window("at", self.value(me.window).sql)
        ...         averages = readings.groupBy("station", window).agg(F.avg("celsius").alias("celsius"))
        ...         return self.write_stream(averages, me.averages, output_mode="append")
    """

    def __init__(self, streamlet: StreamletT, context: SparkStreamletContext) -> None:
        self.streamlet = streamlet
        self.context = context
        self._build = Build()
        check_hook("on_start", self.on_start, 0)
        check_hook("on_stop", self.on_stop, 1)

    @abc.abstractmethod
    def build_streaming_queries(self) -> Queries:
        """Return the streamlet's queries, not started.

        It is called for each start and restart. It must return queries with the same names each time, and have no
        effects.
        """

    def on_start(self) -> None:
        """Prepare what the queries use, such as a connection; called once for each start of the streamlet.

        It is called in the process of the streamlet's driver, before `build_streaming_queries`, and neither by
        `flow verify` nor for the restart of one query while others are running. If it raises an exception, or does not
        return within `on-start-timeout`, the start has failed and is repeated by the streamlet's retry settings.
        """

    def on_stop(self, cause: StopCause) -> None:
        """Release what `on_start` has prepared; called once after the last query has ended, if `on_start` returned.

        It is not called when the process is killed. If it raises an exception, or does not return within
        `on-stop-timeout`, the streamlet has failed; its queries have ended, and are not started again for that.

        Arguments:
            cause: why the streamlet stops.
        """

    def build(self) -> tuple[StreamingWrite | StreamingQuery, ...]:
        """Call `build_streaming_queries`, check the result and return it.

        Raises:
            StreamletError: the result is not of type `Queries`, has two queries with the same name, or lacks a query
                that was created.
        """
        self._build = Build()
        return self._build.finish(self.build_streaming_queries(), type(self).__qualname__)

    @property
    def session(self) -> SparkSession:
        """The streamlet's own Spark session."""
        return self.context.session

    @property
    def config(self) -> Mapping[str, object]:
        """The typed values of all parameters by key."""
        return self.context.config

    def read_stream(self, inlet: AvroInlet, name: str | None = None, metadata: bool = False) -> DataFrame:
        """Return the records of an inlet as a streaming DataFrame of the inlet's schema.

        Arguments:
            inlet: an inlet of the streamlet.
            name: the name of the source in the checkpoint: letters, digits and `_`; default: the name of the inlet. An
                inlet that a query reads twice needs a second name, which is the same at each restart.
            metadata: whether to add the column `_meta`, a struct of position, sequence, timestamp, key and headers.

        Raises:
            StreamletError: `inlet` is not an inlet of this streamlet, or the name is invalid.
        """
        port = self._port(inlet, AvroInlet, "read_stream")
        source = check_source_name(name if name is not None else port.name.replace("-", "_"))
        self.context.inlet_sources.add(source)
        return self.context.ports.read(port.name, name=source, metadata=metadata)

    def source(
        self,
        name: str,
        *,
        format: str,
        schema: StructType | str | None = None,
        options: Mapping[str, str | int | float | bool | None] | None = None,
    ) -> DataFrame:
        """Return a streaming DataFrame from a source outside of the application.

        Arguments:
            name: the name of the source in the checkpoint: letters, digits and `_`, the same at each restart.
            format: the format, as for `session.readStream`.
            schema: the schema, as for `session.readStream`.
            options: the options, as for `session.readStream`.

        Raises:
            StreamletError: the name is invalid.
        """
        reader = self.session.readStream.format(format).options(**(options or {}))
        if self.session.conf.get(SOURCE_EVOLUTION, "false") == "true":
            reader = reader.name(check_source_name(name))
        return (reader.schema(schema) if schema is not None else reader).load()

    def write_stream(
        self,
        df: DataFrame,
        outlet: AvroOutlet,
        output_mode: str = "append",
        trigger: Trigger | None = None,
        name: str | None = None,
    ) -> StreamingWrite:
        """Write a streaming DataFrame to an outlet; its columns are converted to the outlet's schema by name.

        Arguments:
            df: the rows to write.
            outlet: an outlet of the streamlet.
            output_mode: Spark's `append`, `update` or `complete`.
            trigger: a default (see `streamlets.triggers`); the blueprint and the settings override it.
            name: the name of the query and its checkpoint; default: the name of the outlet.

        Returns:
            The query, to be returned from `build_streaming_queries`.

        Raises:
            StreamletError: `outlet` is not an outlet of this streamlet, another query writes it, or `df` is not a
                streaming DataFrame.
        """
        port = self._port(outlet, AvroOutlet, "write_stream")
        return self._write(df, {port.name: all_rows}, output_mode, trigger, name or port.name, "write_stream")

    def write_streams(
        self,
        df: DataFrame,
        outlets: Mapping[AvroOutlet, Callable[[DataFrame], DataFrame]],
        output_mode: str = "append",
        trigger: Trigger | None = None,
        name: str | None = None,
    ) -> StreamingWrite:
        """Write several outlets from one query, which reads the source once and has one state.

        Each outlet gets each batch exactly once. A reader may see the rows of one outlet before the rows of another.

        Arguments:
            df: the rows to split.
            outlets: for each outlet, a function from a batch of `df` to the outlet's rows.
            output_mode: as for `write_stream`.
            trigger: as for `write_stream`.
            name: the name of the query and its checkpoint; default: the sorted names of the outlets, joined by `.`.

        Returns:
            The query, to be returned from `build_streaming_queries`.

        Raises:
            StreamletError: as for `write_stream`, or `outlets` is empty.
        """
        if not outlets:
            raise StreamletError("`write_streams` expects at least one outlet: pass an outlet with its function")
        branches = {self._port(outlet, AvroOutlet, "write_streams").name: rows for outlet, rows in outlets.items()}
        query = name or ".".join(sorted(branches))
        return self._write(df, branches, output_mode, trigger, query, "write_streams")

    def write_ports(
        self, df: DataFrame, outlets: Mapping[str, Callable[[DataFrame], DataFrame]], name: str
    ) -> StreamingWrite:
        """Write to outlets by name, also to `dead-letters`, for kinds of streamlets that have an outlet of their own.

        Arguments:
            df: the rows to split.
            outlets: for each outlet of the plan, a function from a batch of `df` to the outlet's rows.
            name: the name of the query.

        Returns:
            The query, to be returned from `build_streaming_queries`.
        """
        return self._write(df, outlets, "append", None, name, "write_ports")

    def query(
        self,
        name: str,
        writer: DataStreamWriter,
        trigger: Trigger | None = None,
        *,
        record: BatchRecord | None = None,
    ) -> StreamingWrite:
        """Write to a sink of the author: `self.query("console", df.writeStream.format("console"))`.

        Arguments:
            name: the name of the query and its checkpoint, unique in the streamlet and the same at each restart.
            writer: Spark's writer, not started, without name, checkpoint and trigger. Its options `pstl.retry.*`
                configure restarts unless `flow` settings do; the sink does not see them.
            trigger: as for `write_stream`.
            record: reports which batches the sink has written. With it, a batch whose plan was damaged by a power
                failure can be planned again if none of its data was written; without it, that is not allowed.

        Returns:
            The query, to be returned from `build_streaming_queries`.

        Raises:
            StreamletError: `writer` is not a writer (but a query already started, for example), the name is in use, or
                an option `pstl.retry.*` is unknown.
        """
        from pyspark.sql.streaming.readwriter import DataStreamWriter

        if not isinstance(writer, DataStreamWriter):
            raise StreamletError(
                f"`query` expects a `DataStreamWriter`, found a `{type(writer).__name__}`: "
                "pass `df.writeStream...` without `.start()`, because the runner starts it",
                code="query-started" if hasattr(writer, "runId") else "logic-misuse",
            )
        check_streaming(writer._df, "query")  # noqa: SLF001 - Spark's writer has no public access to its rows
        retry = take_retry_options(writer, name)
        return self._build.add(StreamingWrite(name, writer, (), trigger, author_location(), retry, record))

    @overload
    def value(self, parameter: Parameter[T]) -> T: ...
    @overload
    def value(self, parameter: Parameter[T], default: Default) -> T | Default: ...
    def value(self, parameter: Parameter[T], default: object = _NO_DEFAULT) -> object:
        """Return the configured value of a parameter, or else its default.

        Arguments:
            parameter: a parameter of the streamlet.
            default: the result for an optional parameter without a value.

        Raises:
            StreamletError: the parameter is not one of this streamlet, or has neither a value nor a `default`.
        """
        self._check_declared(parameter, Parameter, "parameter")
        if self.config.get(parameter.key) is not None:
            return self.config[parameter.key]
        if default is not _NO_DEFAULT:
            return default
        raise StreamletError(
            f"the optional parameter `{parameter.key}` has no value: pass `value` a default for it"
            if parameter.optional
            else f"the parameter `{parameter.key}` has no value: set it in the blueprint or the settings"
        )

    def mounted_path(self, mount: VolumeMount) -> Path:
        """Return the directory of a volume mount in this run.

        Arguments:
            mount: a mount that the streamlet declares.

        Raises:
            StreamletError: the mount is not one of this streamlet, or was not mounted.
        """
        self._check_declared(mount, VolumeMount, "volume mount")
        try:
            return self.context.volume_mounts[mount.name]
        except KeyError:
            raise StreamletError(
                f"the volume mount `{mount.name}` has no directory: set "
                f"`flow.streamlets.{self.context.streamlet_ref}.volume-mounts.{mount.name}` to a directory"
            ) from None

    def _write(
        self,
        df: DataFrame,
        branches: Mapping[str, Callable[[DataFrame], DataFrame]],
        output_mode: str,
        trigger: Trigger | None,
        query: str,
        method: str,
    ) -> StreamingWrite:
        check_streaming(df, method)
        writer = self.context.ports.write(df, branches, query=query, output_mode=output_mode, trigger=trigger)
        rows = df if list(branches.values()) == [all_rows] else None
        return self._build.add(StreamingWrite(query, writer, tuple(branches), trigger, author_location(), rows=rows))

    def _port(self, port: object, kind: type[Port], method: str) -> Port:
        shape = self.streamlet.shape
        if isinstance(port, kind) and port in shape.ports:
            return port
        noun = kind.kind
        names = [f"`{known.name}`" for known in (shape.inlets if kind is AvroInlet else shape.outlets)]
        owner = type(self.streamlet).__name__
        help = f"use one of its {noun}s, {', '.join(names)}" if names else f"it has no {noun}s"
        raise StreamletError(f"`{method}` expects an {noun} of `{owner}`, found {port!r}: {help}")

    def _check_declared(self, value: object, kind: type[Declaration], noun: str) -> None:
        if not any(value is known for known in declarations(self.streamlet, kind)):
            raise StreamletError(f"{value!r} is not a {noun} of `{type(self.streamlet).__name__}`")
