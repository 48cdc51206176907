"""Requests for descriptions of streamlets, and why a class cannot be described."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from blueprint.diagnostics import Frame, Span
from blueprint.hocon.values import Value


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
    """The schema of a port in the configuration (a path, Avro or DDL), and the place that sets it.

    It is for classes that take their schemas from the configuration.
    """

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
