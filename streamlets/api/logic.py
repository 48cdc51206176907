"""`SparkStreamletLogic`: what runs. It says how records get from inlets to outlets, and starts nothing."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar, Union, overload

from streamlets.api.attributes import attributes
from streamlets.api.building import SOURCE_EVOLUTION, Build, check_source_name, check_streaming
from streamlets.api.context import SparkStreamletContext, StreamingWrite, all_rows
from streamlets.api.declared import authors_call
from streamlets.api.errors import StreamletError
from streamlets.api.mounts import VolumeMount
from streamlets.api.parameters import Parameter
from streamlets.api.ports import AvroInlet, AvroOutlet
from streamlets.api.retry_options import take_retry_options
from streamlets.api.shape import HasShape

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter
    from pyspark.sql.types import StructType

    from blueprint.plan import Trigger
    from streamlets.channels.base import BatchRecord

StreamletT = TypeVar("StreamletT", bound=HasShape)
T = TypeVar("T")
Default = TypeVar("Default")
Port = TypeVar("Port", bound=AvroInlet | AvroOutlet)

_NONE_GIVEN = object()

Queries = Union["StreamingWrite", "StreamingQuery", Sequence["StreamingWrite | StreamingQuery"]]
"""What `build_streaming_queries` may give: one, or several, of what `write_stream`, `write_streams` and `query` gave.
A `StreamingQuery` that the author started is taken too; then the whole streamlet is restarted when one fails."""


class SparkStreamletLogic(abc.ABC, Generic[StreamletT]):
    """The logic of a streamlet, made anew for each start; the type argument is the streamlet's class.

    Attributes:
        streamlet: the streamlet: its ports, parameters and mounts.
        context: what it runs in.
    """

    def __init__(self, streamlet: StreamletT, context: SparkStreamletContext) -> None:
        self.streamlet = streamlet
        self.context = context
        self._build = Build()

    @abc.abstractmethod
    def build_streaming_queries(self) -> Queries:
        """The streamlet's queries, not started.

        It is called for each start and restart, gives the same names each time and has no effects.
        """

    def build(self) -> tuple[StreamingWrite | StreamingQuery, ...]:
        """Call `build_streaming_queries` and check what it gave.

        Raises:
            StreamletError: it gave something else, or two of a name, or left one out that it made.
        """
        self._build = Build()
        return self._build.finish(self.build_streaming_queries(), type(self).__qualname__)

    @property
    def session(self) -> SparkSession:
        """The streamlet's own Spark session."""
        return self.context.session

    @property
    def config(self) -> Mapping[str, object]:
        """The values of all parameters by key, typed."""
        return self.context.config

    def read_stream(self, inlet: AvroInlet, name: str | None = None, metadata: bool = False) -> DataFrame:
        """The records of an inlet as a streaming DataFrame of the inlet's schema.

        Arguments:
            inlet: one of the streamlet's.
            name: of the source in the checkpoint: letters, digits and `_`; left out, the inlet's name. An inlet that
                one query reads twice needs a second name, the same at every restart.
            metadata: add the column `_meta`, a struct of position, sequence, timestamp, key and headers.

        Raises:
            StreamletError: it is no inlet of this streamlet, or the name cannot be one.
        """
        known = self._port(inlet, AvroInlet, "read_stream")
        source = check_source_name(name if name is not None else known.name.replace("-", "_"))
        return self.context.ports.read(known.name, name=source, metadata=metadata)

    def source(
        self,
        name: str,
        *,
        format: str,
        schema: StructType | str | None = None,
        options: Mapping[str, str | int | float | bool | None] | None = None,
    ) -> DataFrame:
        """A streaming DataFrame from outside the application, its source kept under a name in the checkpoint.

        Arguments:
            name: of the source: letters, digits and `_`, the same at every restart.
            format, schema, options: as `session.readStream` takes them.

        Raises:
            StreamletError: the name cannot be one.
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
        """Write a streaming DataFrame to an outlet; its columns are brought to the outlet's schema by name.

        Arguments:
            df: what to write.
            outlet: one of the streamlet's.
            output_mode: Spark's `append`, `update` or `complete`.
            trigger: a wish (see `streamlets.triggers`); blueprint and settings come before it.
            name: of the query and its checkpoint; left out, the outlet's name.

        Raises:
            StreamletError: not an outlet of this streamlet, written already, or not a stream.
        """
        known = self._port(outlet, AvroOutlet, "write_stream")
        return self._write(df, {known: all_rows}, output_mode, trigger, name or known.name, "write_stream")

    def write_streams(
        self,
        df: DataFrame,
        outlets: Mapping[AvroOutlet, Callable[[DataFrame], DataFrame]],
        output_mode: str = "append",
        trigger: Trigger | None = None,
        name: str | None = None,
    ) -> StreamingWrite:
        """Write several outlets from one query: the source is read, and state is kept, once.

        Each outlet gets each batch exactly once; a reader may see one outlet's part before another's.

        Arguments:
            df: what to split.
            outlets: for each outlet a function from a batch of `df` to the outlet's rows.
            name: of the query and its checkpoint; left out, the outlets' names joined by `.`, sorted.
            output_mode, trigger: as in `write_stream`.

        Raises:
            StreamletError: as `write_stream`; and when there is no outlet.
        """
        if not outlets:
            raise StreamletError("write_streams got no outlets: give at least one with its function")
        known: dict[AvroOutlet, Callable[[DataFrame], DataFrame]] = {
            self._port(outlet, AvroOutlet, "write_streams"): rows for outlet, rows in outlets.items()
        }
        query = name or ".".join(sorted(outlet.name for outlet in known))
        return self._write(df, known, output_mode, trigger, query, "write_streams")

    def query(
        self,
        name: str,
        writer: DataStreamWriter,
        trigger: Trigger | None = None,
        *,
        record: BatchRecord | None = None,
    ) -> StreamingWrite:
        """A query into a sink of the author's own: `self.query("console", df.writeStream.format("console"))`.

        Arguments:
            name: of the query and its checkpoint, unique in the streamlet and the same at every restart.
            writer: Spark's writer, not started, without name, checkpoint and trigger. Its options `pstl.retry.*` say
                how the query is restarted, where `flow` does not; the sink does not see them.
            trigger: as in `write_stream`.
            record: answers which batches the sink has written, so that a batch whose plan a power cut damaged can be
                planned again when nothing of it was written; omitted, nobody knows, and that is refused.

        Raises:
            StreamletError: something else than a writer (a query already started, say), the name is taken, or there is
                no such option `pstl.retry.*`.
        """
        from pyspark.sql.streaming.readwriter import DataStreamWriter

        if not isinstance(writer, DataStreamWriter):
            raise StreamletError(
                f"query takes `df.writeStream...` without `.start()`, not a `{type(writer).__name__}`: "
                "the runner starts it",
                code="query-started" if hasattr(writer, "runId") else "logic-misuse",
            )
        check_streaming(writer._df, "query")  # noqa: SLF001 - Spark's writer does not tell what it writes
        retry = take_retry_options(writer, name)
        return self._build.add(StreamingWrite(name, writer, (), trigger, authors_call(), retry, record))

    @overload
    def value(self, parameter: Parameter[T]) -> T: ...
    @overload
    def value(self, parameter: Parameter[T], default: Default) -> T | Default: ...
    def value(self, parameter: Parameter[T], default: object = _NONE_GIVEN) -> object:
        """The value of a parameter: as configured, else its default.

        Arguments:
            parameter: one of the streamlet's.
            default: what an optional parameter is worth that nobody set.

        Raises:
            StreamletError: it is not one of this streamlet's, or has no value and no `default` is given.
        """
        self._declared(parameter, Parameter, "parameter")
        if self.config.get(parameter.key) is not None:
            return self.config[parameter.key]
        if default is not _NONE_GIVEN:
            return default
        raise StreamletError(
            f"the parameter `{parameter.key}` has no value: give `value` a default for it, as it is optional"
            if parameter.optional
            else f"the parameter `{parameter.key}` has no value: set it in the blueprint or the settings"
        )

    def mounted_path(self, mount: VolumeMount) -> Path:
        """The folder where a volume mount is found in this run.

        Raises:
            StreamletError: it is not one of this streamlet's, or was not mounted.
        """
        self._declared(mount, VolumeMount, "volume mount")
        try:
            return self.context.volume_mounts[mount.name]
        except KeyError:
            raise StreamletError(
                f"nothing is mounted as `{mount.name}`: set "
                f"`flow.streamlets.{self.context.streamlet_ref}.volume-mounts.{mount.name}` to a folder"
            ) from None

    def _write(
        self,
        df: DataFrame,
        outlets: Mapping[AvroOutlet, Callable[[DataFrame], DataFrame]],
        output_mode: str,
        trigger: Trigger | None,
        query: str,
        called: str,
    ) -> StreamingWrite:
        check_streaming(df, called)
        branches = {outlet.name: rows for outlet, rows in outlets.items()}
        writer = self.context.ports.write(df, branches, query=query, output_mode=output_mode)
        return self._build.add(StreamingWrite(query, writer, tuple(branches), trigger, authors_call()))

    def _port(self, port: object, kind: type[Port], called: str) -> Port:
        shape = self.streamlet.shape
        if isinstance(port, kind) and port in shape.ports:
            return port
        wanted = "inlet" if kind is AvroInlet else "outlet"
        names = [f"`{known.name}`" for known in (shape.inlets if kind is AvroInlet else shape.outlets)]
        has = f"it has {', '.join(names)}" if names else "it has none"
        owner = type(self.streamlet).__name__
        if port in shape.ports:
            raise StreamletError(f"{called} takes an {wanted} of `{owner}` ({has}), and {port!r} is none")
        raise StreamletError(f"{port!r} is no {wanted} of `{owner}`: {has}")

    def _declared(self, thing: object, kind: type[object], word: str) -> None:
        if not any(thing is known for known in attributes(self.streamlet, kind)):
            raise StreamletError(f"{thing!r} is no {word} of `{type(self.streamlet).__name__}`")
