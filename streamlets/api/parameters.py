"""Config parameters: typed values a streamlet asks for, set by the blueprint, settings or the command line."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Generic, Literal, TypeVar

from blueprint.catalog import ParameterType, PathTraits
from blueprint.quantities import Duration, MemorySize
from streamlets.api.declared import declaration_of
from streamlets.api.texts import text

T = TypeVar("T")


class Parameter(Generic[T]):
    """A value a streamlet asks for; `T` is what its logic gets from `value(parameter)`.

    Arguments:
        description: what it is for, one sentence.
        default: the value when nobody gives one, as Python has it or as the blueprint would write it; left out, a
            value is required.
        key: as the blueprint writes it; left out, the attribute's name with `-` for `_`.
        choices: the values it may have; () when any will do.
        optional: whether it may stay without a value although it has no default.

    Raises:
        TypeError: description or key is no text, or the default or a choice is no value that can be written as one.
    """

    kind: ParameterType

    def __init__(
        self,
        description: str,
        *,
        default: object = None,
        key: str | None = None,
        choices: Iterable[object] = (),
        optional: bool = False,
    ) -> None:
        self.description = text(description, "the description of a parameter", "a default is `default=...`")
        self.default = None if default is None else as_text(default)
        self.choices = tuple(as_text(choice) for choice in choices)
        self.optional = optional
        self.pattern: str | None = None
        self.path: PathTraits | None = None
        self.attribute: str | None = None
        self.declared = declaration_of(self)
        self._key = None if key is None else text(key, "the key of a parameter")

    def __set_name__(self, owner: type, attribute: str) -> None:
        if self.attribute is None:
            self.attribute = attribute

    @property
    def key(self) -> str:
        """As the blueprint writes it."""
        if self._key is not None:
            return self._key
        if self.attribute is None:
            raise ValueError("a parameter without a key must be an attribute of its streamlet's class")
        return self.attribute.strip("_").replace("_", "-")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._key or self.attribute or '?'!r})"


class IntegerParameter(Parameter[int]):
    """A whole number of 32 bits."""

    kind = ParameterType.INTEGER


class StringParameter(Parameter[str]):
    """A text."""

    kind = ParameterType.STRING


class DoubleParameter(Parameter[float]):
    """A number."""

    kind = ParameterType.DOUBLE


class BooleanParameter(Parameter[bool]):
    """True or false (HOCON's `yes`, `no`, `on`, `off`, too)."""

    kind = ParameterType.BOOLEAN


class RegExpParameter(Parameter[str]):
    """A text that matches a regular expression from end to end.

    Arguments:
        pattern: the expression, in Python's syntax; groups are allowed.
    """

    kind = ParameterType.REGEXP

    def __init__(
        self,
        description: str,
        pattern: str,
        *,
        default: object = None,
        key: str | None = None,
        optional: bool = False,
    ) -> None:
        super().__init__(description, default=default, key=key, optional=optional)
        self.pattern = text(pattern, "the pattern of a parameter")


class DurationParameter(Parameter[Duration]):
    """A length of time, such as `5 minutes`. Its value's `sql` is what Spark's windows and watermarks take."""

    kind = ParameterType.DURATION


class MemorySizeParameter(Parameter[MemorySize]):
    """An amount of memory, such as `64 MiB`."""

    kind = ParameterType.MEMORY_SIZE


class PathParameter(Parameter[Path]):
    """The path of a file or directory. Its value is absolute: a relative one starts in the directory of the file that
    sets it, be that the blueprint, a `--conf` file or, for the default, the module; in an argument, in the blueprint's.

    Arguments:
        kind: whether it names a `"file"`, a `"directory"`, or `"any"` of them.
        must_exist: whether it must be there before the application starts.
        readable: whether the streamlet reads it.
        writable: whether the streamlet writes it, or makes it. The testkit moves such a path into its own directory.
    """

    kind = ParameterType.PATH

    def __init__(
        self,
        description: str,
        *,
        kind: Literal["any", "file", "directory"] = "any",
        must_exist: bool = False,
        readable: bool = False,
        writable: bool = False,
        default: str | os.PathLike[str] | None = None,
        key: str | None = None,
        optional: bool = False,
    ) -> None:
        if kind not in ("any", "file", "directory"):
            raise ValueError(f"kind is `any`, `file` or `directory`, not {kind!r}")
        super().__init__(description, default=default, key=key, optional=optional)
        self.path = PathTraits(kind, must_exist, readable, writable)


class ObjectParameter(Parameter[Mapping[str, object]]):
    """An object of the author's own keys."""

    kind = ParameterType.OBJECT


def as_text(value: object) -> str:
    """A Python value as the blueprint would write it."""
    match value:
        case str():
            return value
        case os.PathLike():
            return str(os.fspath(value))
        case bool():
            return "true" if value else "false"
        case Duration() | MemorySize():
            return str(value)
        case datetime.timedelta():
            return str(Duration(round(value / datetime.timedelta(microseconds=1)) * 1000))
        case int() | float() | Decimal():
            return str(value)
        case _:
            return json.dumps(value)
