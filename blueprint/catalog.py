"""What the language may ask about streamlets and channels. `streamlets` answers; only plain data crosses."""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from blueprint.avro.model import Contract
from blueprint.diagnostics import Diagnostic, Frame, Span
from blueprint.hocon.values import Value


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


@dataclass(frozen=True, slots=True)
class PortDescriptor:
    """An inlet or outlet of a streamlet as configured.

    Arguments:
        name: as the blueprint writes it.
        attribute: the Python attribute that holds it, or None when declared by configuration.
        contract: its records' schema; None when the schema cannot be had (then `problems` says why).
        declared: where.
        partition_by: column names, or SQL expressions over the columns, that the outlet's records are laid out by.
        on_invalid: what happens to rows that break the contract (outlets).
        extra: what happens to columns that the contract does not have (outlets).
        problems: findings about its schema.
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
    """What a path must be.

    Arguments:
        kind: whether it names a file, a directory, or any of them.
        must_exist: whether it must be there before the application starts.
        readable, writable: what the streamlet does with it.
    """

    kind: Literal["any", "file", "directory"] = "any"
    must_exist: bool = False
    readable: bool = False
    writable: bool = False


@dataclass(frozen=True, slots=True)
class ParameterDescriptor:
    """A config parameter: `default` is text as the blueprint would write it, None when a value is required; `path` is
    set for parameters that are paths."""

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
    """What a streamlet itself finds wrong with its parameters' values, each of which fits its parameter.

    Arguments:
        path: the parameter's key, then keys inside its value; what is missing may be named, too.
        message: one sentence without a full stop.
        help: what to do, one sentence each.
        about: whether the value at the path is wrong, or its key should not be there.
    """

    path: tuple[str, ...]
    message: str
    help: tuple[str, ...] = ()
    about: Literal["value", "key"] = "value"


@dataclass(frozen=True, slots=True)
class WrittenFolder:
    """A folder outside of topics that a streamlet writes, absolute, and the keys that lead to the parameter's value."""

    parameter: tuple[str, ...]
    folder: str


@dataclass(frozen=True, slots=True)
class VolumeMountDescriptor:
    """A folder the streamlet wants mounted."""

    name: str
    path: str
    access_mode: Literal["ReadWriteMany", "ReadOnlyMany"]
    declared: Span


@dataclass(frozen=True, slots=True)
class StreamletDescriptor:
    """A streamlet as configured: everything known of it without running it. Ports and parameters sorted by name.

    `parameter_problems` is what the streamlet says of the values it was asked with; `folders` is what it writes with
    them, when nothing is wrong with them.
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
    folders: tuple[WrittenFolder, ...] = ()


class LoadFailureKind(enum.StrEnum):
    """Why a class gives no descriptor."""

    MODULE_NOT_FOUND = "module-not-found"
    MODULE_SHADOWED = "module-shadowed"  # a user's own module called like one of ours
    MODULE_RAISES = "module-raises"
    CLASS_NOT_FOUND = "class-not-found"
    NOT_A_STREAMLET = "not-a-streamlet"
    ABSTRACT = "abstract"
    CONSTRUCTOR_RAISES = "constructor-raises"
    SHAPE_RAISES = "shape-raises"
    CHECK_RAISES = "check-raises"  # looking at the values of its parameters
    SHAPE_DIFFERS = "shape-differs"  # the shape given is not made of the ports declared


@dataclass(frozen=True, slots=True)
class LoadFailure:
    """A class that cannot be described.

    Arguments:
        kind: which way.
        message: one sentence; for exceptions `Type: text`.
        frames: the user's own frames, outermost first.
        near: names close to the one asked for (modules or `module.Class` paths), best first.
        declared: where the class or module stands, when that is known.
    """

    kind: LoadFailureKind
    message: str
    frames: tuple[Frame, ...] = ()
    near: tuple[str, ...] = ()
    declared: Span | None = None


@dataclass(frozen=True, slots=True)
class PortSetting:
    """What the configuration says of a port: a schema (a path, or Avro or DDL text) for classes that take theirs
    from it. `span` is where it says so."""

    schema: str
    span: Span


@dataclass(frozen=True, slots=True)
class StreamletRequest:
    """A streamlet to describe: its class and what is set of its ports and parameters."""

    ref: str
    class_name: str
    folder: str
    parameters: Mapping[str, Value] = field(default_factory=dict)
    inlets: Mapping[str, PortSetting] = field(default_factory=dict)
    outlets: Mapping[str, PortSetting] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChannelTraits:
    """What a channel can do, as far as verification must know.

    Arguments:
        name: as the blueprint writes it.
        topic_keys: setting keys it understands in a topic's `topic { ... }`, with their type names.
        real_time: whether real-time triggers work on it.
        reserved: prefixes of the names that the channel uses for itself, so that no topic may have them.
    """

    name: str
    topic_keys: Mapping[str, str]
    real_time: bool
    reserved: tuple[str, ...] = ()


class Catalog(Protocol):
    """The questions of the language."""

    def describe(self, request: StreamletRequest) -> StreamletDescriptor | LoadFailure:
        """Describe the streamlet as configured; never raises for what a user did."""

    def classes(self, folder: str) -> tuple[str, ...]:
        """The class paths of all streamlets found in a project's folder, sorted."""

    def unused(self, folder: str, used: Collection[str]) -> tuple[tuple[str, Span], ...]:
        """The class paths of streamlets of a project that are not used, and where their names stand; those that
        another blueprint of the folder names are left out, and all where a search would take long."""

    def channels(self) -> Mapping[str, ChannelTraits]:
        """The channels there are, by name."""
