"""Config parameters of streamlets, and what is wrong with their values."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Literal

from blueprint.diagnostics import Span


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
    """A problem that a streamlet itself reports about the values of its parameters, which all have the right types.

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
