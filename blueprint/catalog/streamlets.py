"""A streamlet as configured: what is known without running it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from blueprint.avro.model import Contract
from blueprint.catalog.connectors import Connector
from blueprint.catalog.parameters import ParameterDescriptor, ParameterProblem
from blueprint.catalog.sinks import SinkTraits
from blueprint.diagnostics import Diagnostic, Span


@dataclass(frozen=True, slots=True)
class PortDescriptor:
    """An inlet or outlet of a streamlet as configured.

    Arguments:
        name: the name in the blueprint.
        attribute: the Python attribute of the port, None for a port declared by configuration.
        contract: the schema of its records; None when it cannot be determined, see `problems`.
        declared: the place of the declaration.
        partition_by: the columns, or SQL expressions over columns, by which the records of an outlet are partitioned.
        on_invalid: the handling of rows that violate the contract of an outlet, and of what an inlet cannot decode.
        extra: for outlets, the handling of columns that are not in the contract.
        problems: findings about the schema.
    """

    name: str
    attribute: str | None
    contract: Contract | None
    declared: Span
    partition_by: tuple[str, ...] = ()
    on_invalid: Literal["fail", "dead-letters"] = "fail"
    extra: Literal["fail", "drop"] = "fail"
    problems: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class WrittenDirectory:
    """A directory outside of topics that a streamlet writes.

    Arguments:
        parameter: the keys of the parameter that sets it.
        directory: its absolute path.
        query: the query that writes it, if the text of a parameter has several.
        place: its place in the text of a parameter; None for the place of the parameter.
        checkpoint: whether it is the checkpoint of the query, not its output.
    """

    parameter: tuple[str, ...]
    directory: str
    query: str = ""
    place: Span | None = None
    checkpoint: bool = False


@dataclass(frozen=True, slots=True)
class ReadPath:
    """A path outside of topics whose files are a stream of records for a streamlet.

    Arguments:
        parameter: the keys of the parameter that sets it.
        path: its absolute path, or a pattern of paths in the notation of Hadoop.
        stream: the stream that reads it, if the text of a parameter has several.
        place: its place in the text of a parameter; None for the place of the parameter.
        recursive: whether files in all directories below are read, too.
    """

    parameter: tuple[str, ...]
    path: str
    stream: str = ""
    place: Span | None = None
    recursive: bool = False


@dataclass(frozen=True, slots=True)
class ListeningPort:
    """A TCP port of this machine that a streamlet listens on, and the keys of the parameter that sets it."""

    parameter: tuple[str, ...]
    port: int


@dataclass(frozen=True, slots=True)
class VolumeMountDescriptor:
    """A directory that the streamlet requires as a mount."""

    name: str
    path: str
    access_mode: Literal["ReadWriteMany", "ReadOnlyMany"]
    declared: Span


@dataclass(frozen=True, slots=True)
class SavedInlet:
    """An inlet whose records a sink writes with all their columns.

    Arguments:
        inlet: the name of the inlet.
        sink: the capabilities of the sink.
        options: the plain values of its options; the problems are at the paths of `sink_problems`.
        partition_by: the partition columns.
    """

    inlet: str
    sink: SinkTraits
    options: Mapping[str, object]
    partition_by: tuple[str, ...] = ()


BATCH_SOURCE = "batch-source"
"""The kind of streamlets with a topic for tasks, whose failed tasks are dead letters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamletDescriptor:
    """A streamlet as configured: everything that is known without running it. Ports and parameters are sorted by name.

    `parameter_problems` are the problems that the streamlet reports about the values of the request. `directories` are
    those that it writes with these values, `reads` the paths of files that it reads as streams, `saves` the inlets that
    it writes to sinks, `connectors` what Spark
    needs for them, and `listening` the TCP ports that it listens on, if there are no problems. `kind` is the name of
    what runs it.
    """

    class_name: str
    description: str
    labels: tuple[str, ...]
    inlets: tuple[PortDescriptor, ...]
    outlets: tuple[PortDescriptor, ...]
    parameters: tuple[ParameterDescriptor, ...]
    volume_mounts: tuple[VolumeMountDescriptor, ...]
    declared: Span
    problems: tuple[Diagnostic, ...] = ()
    parameter_problems: tuple[ParameterProblem, ...] = ()
    directories: tuple[WrittenDirectory, ...] = ()
    reads: tuple[ReadPath, ...] = ()
    saves: tuple[SavedInlet, ...] = ()
    listening: tuple[ListeningPort, ...] = ()
    connectors: tuple[Connector, ...] = ()
    kind: str = "spark"
