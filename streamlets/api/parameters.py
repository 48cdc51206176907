"""Config parameters: typed values of a streamlet, set by the blueprint, settings files or the command line."""

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
from streamlets.api.declaration import Declaration, require_string

T = TypeVar("T")


class Parameter(Declaration, Generic[T]):
    """A typed value that a streamlet takes from its configuration; `T` is the type that `value(parameter)` returns.

    Arguments:
        description: its purpose, in one sentence.
        default: the value if none is configured, as a Python value or as a string in the blueprint's notation; without
            a default, a value is required.
        key: the key in the blueprint; default: the name of the attribute with `-` for `_`.
        choices: the allowed values; () allows all values of the type.
        optional: whether it may have no value although it has no default.

    Raises:
        TypeError: description or key is not a string, or JSON cannot represent the default or a choice.

    Example:
        >>> from streamlets import StringParameter
        >>> unit = StringParameter("Unit of the temperatures", default="celsius", choices=["celsius", "kelvin"])
    """

    _NAME = "the key of a parameter"

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
        super().__init__(key)
        self.description = require_string(
            description, "the description of a parameter", "pass a default as `default=...`"
        )
        self.default = None if default is None else as_text(default)
        self.choices = tuple(as_text(choice) for choice in choices)
        self.optional = optional
        self.pattern: str | None = None
        self.path: PathTraits | None = None

    @property
    def key(self) -> str:
        """The key in the blueprint."""
        return self._configured_name()


class IntegerParameter(Parameter[int]):
    """A 32-bit integer.

    Example:
        >>> size = IntegerParameter("Orders in a batch", default=100)  # parameters.size = 500
    """

    kind = ParameterType.INTEGER


class StringParameter(Parameter[str]):
    """A string.

    Example:
        >>> greeting = StringParameter("Greeting of a message", key="salutation")  # parameters.salutation = Hello
    """

    kind = ParameterType.STRING


class DoubleParameter(Parameter[float]):
    """A 64-bit floating-point number.

    Example:
        >>> limit = DoubleParameter("Temperature of an alarm", default=90.0)  # parameters.limit = 75
    """

    kind = ParameterType.DOUBLE


class BooleanParameter(Parameter[bool]):
    """True or false (also HOCON's `yes`, `no`, `on` and `off`).

    Example:
        >>> keep = BooleanParameter("Whether cancelled orders are kept", default=False)  # parameters.keep = yes
    """

    kind = ParameterType.BOOLEAN


class RegExpParameter(Parameter[str]):
    """A string that matches a regular expression as a whole.

    Arguments:
        pattern: the expression, in Python's syntax; groups are allowed.

    Raises:
        TypeError: as for `Parameter`, or the pattern is not a string.

    Example:
        >>> airport = RegExpParameter("Code of an airport", pattern="[A-Z]{3}")  # parameters.airport = JFK
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
        self.pattern = require_string(pattern, "the pattern of a parameter")


class DurationParameter(Parameter[Duration]):
    """A length of time, such as `5 minutes`. Spark's windows and watermarks take the value's `sql`.

    Example:
        >>> window = DurationParameter("Length of a window", default="5 minutes")  # parameters.window = 10 minutes
    """

    kind = ParameterType.DURATION


class MemorySizeParameter(Parameter[MemorySize]):
    """An amount of memory, such as `64 MiB`.

    Example:
        >>> page = MemorySizeParameter("Size of a page", default="64 MiB")  # parameters.page = 1 GiB
    """

    kind = ParameterType.MEMORY_SIZE


class PathParameter(Parameter[Path]):
    """The path of a file or directory.

    The value is absolute. A relative path is resolved against the directory of the file that sets it: the blueprint, a
    `--conf` file or, for the default, the module. In an argument of the command line it is resolved against the
    directory of the blueprint.

    Arguments:
        kind: whether it is the path of a `"file"`, of a `"directory"`, or of `"any"` of them.
        must_exist: whether it must exist before the application starts.
        readable: whether the streamlet reads it.
        writable: whether the streamlet writes or creates it. The testkit moves such a path into its own directory.

    Raises:
        ValueError: `kind` has another value.

    Example:
        >>> folder = PathParameter("Where the files are", kind="directory", must_exist=True)  # parameters.folder = in
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
            raise ValueError(f"kind must be `any`, `file` or `directory`, found {kind!r}")
        super().__init__(description, default=default, key=key, optional=optional)
        self.path = PathTraits(kind, must_exist, readable, writable)


class ListParameter(Parameter[list[str]]):
    """A list of strings. Numbers and booleans in it become strings as they are written.

    Example:
        >>> columns = ListParameter("Columns to keep", default=["id", "at"])  # parameters.columns = [id, at, total]
    """

    kind = ParameterType.LIST


class ObjectParameter(Parameter[Mapping[str, object]]):
    """An object; the author chooses its keys.

    Example:
        >>> options = ObjectParameter("Options of the reader", default={"header": True})  # parameters.options.sep = ";"
    """

    kind = ParameterType.OBJECT


def as_text(value: object) -> str:
    """Return a Python value in the notation of the blueprint.

    Raises:
        TypeError: JSON cannot represent it.
    """
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
