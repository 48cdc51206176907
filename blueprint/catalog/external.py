"""`ExternalResources`: what a streamlet reads, writes and requires outside of its topics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from blueprint.catalog.connectors import Connector
from blueprint.catalog.parameters import ParameterProblem
from blueprint.catalog.sinks import SinkTraits
from blueprint.catalog.sources import SourceTraits
from blueprint.diagnostics import Diagnostic, Span


@dataclass(frozen=True, slots=True)
class WrittenDirectory:
    """A directory outside of topics that a streamlet writes; `flow verify` reports two writers of one directory.

    Arguments:
        parameter: the key of the parameter that sets it, and keys inside its value.
        directory: its path. A relative path starts in the directory of the file that sets the parameter, or with a
            `place` in the directory of the blueprint. The logic gets an absolute path.
        query: the query that writes it, if the text of a parameter has several.
        place: its place in the text of a parameter; None for the place of the parameter.
        checkpoint: whether it is the checkpoint of the query, not its output.

    Example:
        >>> from streamlets import WrittenDirectory
        >>> WrittenDirectory(("options", "path"), "out/averages").directory
        'out/averages'
    """

    parameter: tuple[str, ...]
    directory: str
    query: str = ""
    place: Span | None = None
    checkpoint: bool = False


@dataclass(frozen=True, slots=True)
class ReadPath:
    """A path outside of topics whose files are a stream of records; `flow verify` reports streamlets that write it.

    Arguments:
        parameter: the key of the parameter that sets it, and keys inside its value.
        path: a path, or a pattern of paths in the notation of Hadoop; it starts in the directory of the blueprint.
        stream: the stream that reads it, if the text of a parameter has several.
        place: its place in the text of a parameter; None for the place of the parameter.
        recursive: whether files in all directories below are read, too.

    Example:
        >>> from streamlets import ReadPath
        >>> ReadPath(("orders",), "incoming/*.json").recursive
        False
    """

    parameter: tuple[str, ...]
    path: str
    stream: str = ""
    place: Span | None = None
    recursive: bool = False


@dataclass(frozen=True, slots=True)
class ListeningPort:
    """A TCP port of this machine that a streamlet listens on; `flow verify` reports two streamlets with one port.

    Arguments:
        parameter: the key of the parameter that sets it, and keys inside its value.
        port: its number.

    Example:
        >>> from streamlets import ListeningPort
        >>> ListeningPort(("service", "port"), 9000).port
        9000
    """

    parameter: tuple[str, ...]
    port: int


@dataclass(frozen=True, slots=True)
class SavedInlet:
    """An inlet whose records a sink writes with all their columns, which `flow verify` checks.

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


@dataclass(frozen=True, slots=True)
class FilledOutlet:
    """An outlet whose records a source provides with all their columns, which `flow verify` checks.

    Arguments:
        outlet: the name of the outlet.
        source: the capabilities of the source.
        options: the plain values of its options; the problems are at the paths of `source_problems`.
    """

    outlet: str
    source: SourceTraits
    options: Mapping[str, object] = field(repr=False)


@dataclass(frozen=True, slots=True)
class UsedSink:
    """A sink that a streamlet writes to.

    Arguments:
        sink: the name of the sink.
        options: the typed values of its options by name, with defaults.
    """

    sink: str
    options: Mapping[str, object] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalResources:
    """What a streamlet reads, writes and requires outside of its topics, as its parameters are set.

    Arguments:
        problems: resources that are not available, such as a program that is not installed.
        findings: mistakes in parameters that are texts in a language of their own, each at its place in the text.
        directories: the directories that it writes.
        reads: the paths whose files it reads as streams.
        saves: the inlets that it writes to sinks.
        fills: the outlets that sources provide.
        sinks: the sinks that it writes to.
        listening: the TCP ports that it listens on.
        connectors: requirements of Spark's class path.
        finite: whether all tasks of a batch source are known after one discovery, so that it can end.

    Example:
        >>> from streamlets import ExternalResources, WrittenDirectory
        >>> resources = ExternalResources(directories=(WrittenDirectory(("export",), "out"),))
        >>> [written.directory for written in resources.directories]
        ['out']
    """

    problems: tuple[ParameterProblem, ...] = ()
    findings: tuple[Diagnostic, ...] = ()
    directories: tuple[WrittenDirectory, ...] = ()
    reads: tuple[ReadPath, ...] = ()
    saves: tuple[SavedInlet, ...] = ()
    fills: tuple[FilledOutlet, ...] = ()
    sinks: tuple[UsedSink, ...] = ()
    listening: tuple[ListeningPort, ...] = ()
    connectors: tuple[Connector, ...] = ()
    finite: bool = False
