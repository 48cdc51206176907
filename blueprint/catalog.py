"""The interface to streamlets, channels and sinks for the language, in plain data. `streamlets` implements it."""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from blueprint.avro.model import Contract
from blueprint.diagnostics import Diagnostic, Frame, Span
from blueprint.hocon.values import Value
from blueprint.setting import Setting


class ParameterType(enum.StrEnum):
    """The types of config parameters (Cloudflow's validation types)."""

    INTEGER = "integer"
    STRING = "string"
    DOUBLE = "double"
    BOOLEAN = "boolean"
    REGEXP = "regexp"
    DURATION = "duration"
    MEMORY_SIZE = "memory-size"
    OBJECT = "object"
    PATH = "path"
    LIST = "list"  # not one of Cloudflow's


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
class PathTraits:
    """The requirements of a path.

    Arguments:
        kind: whether it names a file, a directory, or either.
        must_exist: whether it must exist before the application starts.
        readable: whether the streamlet reads it.
        writable: whether the streamlet writes it.
    """

    kind: Literal["any", "file", "directory"] = "any"
    must_exist: bool = False
    readable: bool = False
    writable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterDescriptor:
    """A config parameter.

    Arguments:
        key: its name.
        description: its purpose.
        type: the type of its value.
        default: the default in the notation of a blueprint, None when a value is required.
        declared: the place of the declaration.
        pattern: a regular expression that a string must match.
        choices: the accepted strings, empty for any.
        optional: whether it may have neither a value nor a default.
        path: for a path, its requirements.
    """

    key: str
    description: str
    type: ParameterType
    default: str | None
    declared: Span
    pattern: str | None = None
    choices: tuple[str, ...] = ()
    optional: bool = False
    path: PathTraits | None = None


@dataclass(frozen=True, slots=True)
class ParameterProblem:
    """A problem that a streamlet itself reports about the values of its parameters, each of which has the right type.

    Arguments:
        path: the key of the parameter, then keys inside its value. The last key may be a missing one.
        message: one sentence without a full stop.
        help: what to do, one sentence each.
        about: whether the value at the path is wrong, or its key must not be set.

    Example:
        >>> from streamlets import ParameterProblem
        >>> ParameterProblem(("limit",), "`limit` is below `floor`", ("set `limit` to 10 or more",)).path
        ('limit',)
    """

    path: tuple[str, ...]
    message: str
    help: tuple[str, ...] = ()
    about: Literal["value", "key"] = "value"


@dataclass(frozen=True, slots=True)
class Connector:
    """What Spark needs on its class path to use a channel or a sink.

    Arguments:
        packages: sets of Maven coordinates of which any one will do, the best one first; `{spark}` stands for the
            version of PySpark.
        jars: the artifacts, by name, that must be among the jars of a user who provides them without Maven.
    """

    packages: tuple[tuple[str, ...], ...]
    jars: tuple[str, ...]


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


class LoadFailureKind(enum.StrEnum):
    """The reason why a class cannot be described."""

    MODULE_NOT_FOUND = "module-not-found"
    MODULE_SHADOWED = "module-shadowed"  # a module of the user has the name of a module of the framework
    MODULE_RAISES = "module-raises"
    CLASS_NOT_FOUND = "class-not-found"
    NOT_A_STREAMLET = "not-a-streamlet"
    ABSTRACT = "abstract"
    RESERVED_NAME = "reserved-name"  # a port or parameter has the name of an attribute of the framework
    METHOD_SIGNATURE = "method-signature"  # a method does not take the arguments with which it is called
    CONSTRUCTOR_RAISES = "constructor-raises"
    SHAPE_RAISES = "shape-raises"
    CHECK_RAISES = "check-raises"  # while it checks the values of its parameters
    SHAPE_DIFFERS = "shape-differs"  # the shape is not made of the declared ports


@dataclass(frozen=True, slots=True)
class LoadFailure:
    """A class that cannot be described.

    Arguments:
        kind: the reason.
        message: one sentence; for exceptions `Type: message`.
        frames: the user's own frames, outermost first.
        near: names similar to the requested one (modules or `module.Class` paths), best first.
        declared: the place of the class or module, when it is known.
    """

    kind: LoadFailureKind
    message: str
    frames: tuple[Frame, ...] = ()
    near: tuple[str, ...] = ()
    declared: Span | None = None


@dataclass(frozen=True, slots=True)
class PortSetting:
    """The configuration of a port: a schema (a path, Avro or DDL) for classes that take theirs from the configuration,
    and the place that sets it."""

    schema: str
    span: Span


@dataclass(frozen=True, slots=True)
class StreamletRequest:
    """A streamlet to describe: its class, and the settings of its ports and parameters.

    `named_inlets` and `named_outlets` are the ports that the blueprint names, in topics or in the settings of the
    streamlet, with the first place of each. A class may take its ports from them.
    """

    ref: str
    class_name: str
    directory: str
    parameters: Mapping[str, Value] = field(default_factory=dict)
    inlets: Mapping[str, PortSetting] = field(default_factory=dict)
    outlets: Mapping[str, PortSetting] = field(default_factory=dict)
    named_inlets: Mapping[str, Span] = field(default_factory=dict)
    named_outlets: Mapping[str, Span] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """The settings of a topic, with their types. An invalid value, which is reported elsewhere, counts as not set.

    Arguments:
        id: the id of the topic.
        name: its name on the channel.
        channel: the name of the channel that stores it.
        managed: whether the application creates and deletes it.
        options: the settings of the topic; see `TopicPlan.options`.
        channel_options: the settings of the application for the channel; see `TopicPlan.channel_options`.
        location: see `ChannelTraits.location`, which returns it; "" before that.
        contracts: the contracts of its ports, as far as they are known, for `ChannelTraits.problems`.
        is_read: whether an inlet reads it, for `ChannelTraits.problems`.
    """

    id: str
    name: str
    channel: str
    managed: bool
    options: Mapping[str, object]
    channel_options: Mapping[str, object]
    location: str = ""
    contracts: tuple[Contract, ...] = ()
    is_read: bool = False


@dataclass(frozen=True, slots=True)
class TopicProblem:
    """A problem that a channel reports about the settings of a topic, each of which has the right type.

    Arguments:
        code: of the finding.
        path: the key of the setting in the topic's block, or below `flow` where that begins with the channel's name.
            The finding is at the topic if the setting is not set.
        message: one sentence without a full stop.
        causes: why, one sentence each.
        help: what to do, one sentence each.
        about: whether the value at the path is wrong, or its key must not be set.
    """

    code: str
    path: tuple[str, ...]
    message: str
    causes: tuple[str, ...] = ()
    help: tuple[str, ...] = ()
    about: Literal["value", "key"] = "value"


@dataclass(frozen=True, slots=True)
class InletSettings:
    """The settings of an inlet for the channel of its topic.

    Arguments:
        streamlet: the name of the streamlet.
        name: the name of the inlet.
        options: the settings; see `InletPlan.options`.
        contract: the contract of the inlet; None if it is not known.
        producers: the settings of the outlets that write the topic, by `streamlet.outlet`.
        real_time: whether the settings give the streamlet a real-time trigger.
    """

    streamlet: str
    name: str
    options: Mapping[str, object]
    contract: Contract | None
    producers: Mapping[str, Mapping[str, object]]
    real_time: bool = False


@dataclass(frozen=True, slots=True)
class SparkArtifacts:
    """The artifacts that the settings of an application name.

    Arguments:
        packages: Maven coordinates; one of an artifact that a connector has replaces that.
        jars: absolute paths of jars, and of directories of jars.
        ivy_settings: the settings file of Apache Ivy, for repositories other than Maven Central; "" for none.
    """

    packages: tuple[str, ...] = ()
    jars: tuple[str, ...] = ()
    ivy_settings: str = ""


@dataclass(frozen=True, slots=True)
class UnmetRequirement:
    """Something that a channel needs and this machine does not have.

    Arguments:
        path: the key, below `flow`, of the setting that is wrong; empty if none is.
        message: one sentence without a full stop.
        help: what to do, one sentence.
    """

    path: tuple[str, ...]
    message: str
    help: str


def _no_problems(topic: TopicSettings) -> Iterable[TopicProblem]:
    return ()


def _no_inlet_problems(inlet: InletSettings) -> Iterable[TopicProblem]:
    return ()


def _nothing_unmet(artifacts: SparkArtifacts) -> Iterable[UnmetRequirement]:
    return ()


def _one_location(topic: TopicSettings) -> str:
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelTraits:
    """What verification needs to know of a channel.

    Arguments:
        name: the name in the blueprint.
        real_time: whether it supports real-time triggers.
        reserved: the name prefixes that it uses internally, which topics must not have.
        settings: the settings that it adds to topics, ports and the application. Those of the application are below
            `flow.<name>`. Keys of a group of free-form settings (`Structure.OPTIONS`) may be settings themselves.
        location: returns what distinguishes topics of the same name, such as the servers of a cluster; default: the
            channel has one location.
        problems: yields what is wrong with the settings of a topic, apart from unknown settings and wrong types.
        inlet_problems: yields what is wrong with the settings of an inlet; the paths are those in its block.
        exactly_once: whether a batch of a query that is written again after a failure appears in a topic once.
        connector: what Spark needs to use the channel; None for nothing.
        unmet: yields what the channel needs and this machine does not have, without a network.
        log_options: the settings of a topic that keeps all records in one order, as in `TopicPlan.options`.
        partitions: returns the number of partitions of a topic, None if that is not known; default: the channel has no
            partitions, and its readers always get a commit whole.
    """

    name: str
    real_time: bool
    reserved: tuple[str, ...] = ()
    settings: tuple[Setting, ...] = ()
    location: Callable[[TopicSettings], str] = _one_location
    problems: Callable[[TopicSettings], Iterable[TopicProblem]] = _no_problems
    inlet_problems: Callable[[InletSettings], Iterable[TopicProblem]] = _no_inlet_problems
    exactly_once: bool = True
    connector: Connector | None = None
    unmet: Callable[[SparkArtifacts], Iterable[UnmetRequirement]] = _nothing_unmet
    log_options: Mapping[str, object] = field(default_factory=dict, hash=False)
    partitions: Callable[[TopicSettings], int | None] | None = None


OutputMode = Literal["append", "update", "complete"]
"""The output modes of a streaming query, as in Spark."""

OUTPUT_MODES: tuple[OutputMode, ...] = ("append", "update", "complete")


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkOption:
    """An option of a sink.

    Arguments:
        name: its key below `options` in the blueprint.
        description: its purpose, in one clause.
        type: the type of its value. A path is a directory that only this sink writes: a relative one starts in the
            directory of the file that sets it, verification reports two writers of it, and tests move it.
        default: its value if it is omitted, in the notation of a blueprint; None if it has no value then.
        required: whether it must be set.
        choices: the accepted values, () for all values of the type.
        minimum: the smallest accepted integer.
        in_tests: whether it applies in tests, which set no options that change what was written before.
        needs: another option that must be set if this one is; "" for none.
        required_for: the output modes in which it must be set.
        output_modes: the output modes in which it can be set.
        columns: whether its value is names of columns, separated by commas.
    """

    name: str
    description: str
    type: ParameterType = ParameterType.STRING
    default: str | None = None
    required: bool = False
    choices: tuple[str, ...] = ()
    minimum: int = 0
    in_tests: bool = True
    needs: str = ""
    required_for: tuple[OutputMode, ...] = ()
    output_modes: tuple[OutputMode, ...] = OUTPUT_MODES
    columns: bool = False


SINK_NOT_INSTALLED = (
    "for another one, install the package that registers it; for one of your own, run `pip install -e .`"
)
"""The help for the name of a sink that is not registered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkTraits:
    """The capabilities of a sink.

    Arguments:
        name: the name by which a blueprint selects it.
        description: what it writes, in one sentence.
        guarantee: whether the output has the records of a batch once, or maybe several times, if the batch runs again
            after a failure; `none` if it does not store records.
        options: its options, in the order of the documentation.
        output_modes: the output modes of queries that it accepts.
        partitioning: whether it can partition its output by columns.
        nested: whether it accepts columns of records, arrays and maps, and binary ones.
        refused_types: the types of Spark's DDL that it cannot store, as columns or inside them.
        one_string: whether a record must be one column of type string, besides the partition columns.
        exclusive: pairs of options of which only one can be set.
        passes_on: the beginnings of the names of further options, which are passed on unchecked, such as `kafka.`; an
            empty one stands for all names.
        write_ahead_log: whether the output has all records after a restart, because the query continues from the log in
            its checkpoint.
        connector: what Spark needs on its class path; None for nothing.
        package: the Python package that it imports; "" if it needs none besides those of Streamlets.
        install: the argument of `pip install` that installs the package.
    """

    name: str
    description: str
    guarantee: Literal["exactly-once", "at-least-once", "none"]
    options: tuple[SinkOption, ...] = ()
    output_modes: tuple[OutputMode, ...] = ("append",)
    partitioning: bool = False
    nested: bool = True
    refused_types: tuple[str, ...] = ()
    one_string: bool = False
    exclusive: tuple[tuple[str, str], ...] = ()
    passes_on: tuple[str, ...] = ()
    write_ahead_log: bool = True
    connector: Connector | None = None
    package: str = ""
    install: str = ""


class Catalog(Protocol):
    """Describes streamlets and channels."""

    def describe(self, request: StreamletRequest) -> StreamletDescriptor | LoadFailure:
        """Describe a streamlet as configured. Mistakes of the user never raise."""

    def classes(self, directory: str) -> tuple[str, ...]:
        """Return the class paths of all streamlets in the directory of a project, sorted."""

    def unused(self, directory: str, used: Collection[str]) -> tuple[tuple[str, Span], ...]:
        """Return the class paths of unused streamlets of a project, with the places of their names.

        Streamlets in `used` or in another blueprint of the directory are used. A directory that would take long to
        search has no unused streamlets.
        """

    def channels(self) -> Mapping[str, ChannelTraits]:
        """Return the traits of all channels by name."""
