"""Values of config parameters: verification, runs and tests read them with the same functions."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from blueprint.catalog import ParameterDescriptor, ParameterType
from blueprint.diagnostics import Span
from blueprint.hocon.values import ListValue, ObjectValue, Scalar, Value, plain, span_of
from blueprint.quantities import BOOLEANS, QuantityError, boolean, duration, memory_size
from blueprint.spelling import alternatives, near

_INT32 = 2**31
_MOST_SHOWN = 80

_LOCAL_URL = re.compile(r"file:(///|/(?!/))")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
EXPECTED = {
    ParameterType.INTEGER: "a whole number",
    ParameterType.STRING: "a string",
    ParameterType.DOUBLE: "a number",
    ParameterType.BOOLEAN: "`true` or `false`",
    ParameterType.REGEXP: "a string that matches the pattern",
    ParameterType.DURATION: "a duration such as `5 minutes`",
    ParameterType.MEMORY_SIZE: "a memory size such as `64 MiB`",
    ParameterType.OBJECT: "an object",
    ParameterType.PATH: "a path",
    ParameterType.LIST: "a list of strings",
}


class ParameterError(ValueError):
    """A value is not valid for a parameter; the message says why, `help` says what would be valid, if it is known."""

    def __init__(self, message: str, *help: str) -> None:
        super().__init__(message)
        self.help = help


def path_start(value: Value, directory: Path) -> Path:
    """Return the directory in which relative paths in a value start: the directory of the file that sets the value.

    Arguments:
        value: a path, or an object with paths.
        directory: the blueprint's directory. Paths in arguments are relative to it, wherever the command is run.
    """
    return _directory_of(span_of(value), directory)


def _directory_of(span: Span, directory: Path) -> Path:
    return (directory if span.file.startswith("<") else Path(span.file).parent).absolute()


def parameter_value(parameter: ParameterDescriptor, value: Value, directory: Path = Path()) -> object:
    """Return a value as read by logic: int, str, float, bool, `Duration`, `MemorySize`, dict, list, absolute `Path`.

    Arguments:
        parameter: its descriptor.
        value: as configured.
        directory: the blueprint's directory.

    Raises:
        ParameterError: the value does not match the parameter's type, pattern or choices.
    """
    match value:
        case ObjectValue() if parameter.type is ParameterType.OBJECT:
            return plain(value)
        case Scalar(value=None):
            raise ParameterError(f"`null` is not {EXPECTED[parameter.type]}")
        case Scalar(text=text):
            return parameter_text(parameter, text, path_start(value, directory))
        case ListValue(items) if parameter.type is ParameterType.LIST:
            if not all(isinstance(item, Scalar) and item.value is not None for item in items):
                raise ParameterError("each item of the list must be a string")
            return [item.text for item in items if isinstance(item, Scalar)]
        case ListValue():
            raise ParameterError(f"a list is not {EXPECTED[parameter.type]}")
        case _:
            raise ParameterError(f"an object is not {EXPECTED[parameter.type]}")


def parameter_text(parameter: ParameterDescriptor, text: str, start: Path = Path()) -> object:
    """Return the value of a text, such as a default or a value of the testkit, as logic reads it.

    Arguments:
        parameter: its descriptor.
        text: the value.
        start: the directory that a relative path is relative to.

    Raises:
        ParameterError: the value does not match the parameter's type, pattern or choices.
    """
    value = _path(text, start) if parameter.type is ParameterType.PATH else _typed(parameter, text)
    if parameter.choices and not any(_is_choice(parameter, choice, text, value) for choice in parameter.choices):
        close = near(text, parameter.choices)
        raise ParameterError(
            f"{_shown(text)} is not one of the choices",
            *((f"did you mean {alternatives(close)}?",) if close else ()),
            f"write {alternatives(parameter.choices)}",
        )
    return value


def _is_choice(parameter: ParameterDescriptor, choice: str, text: str, value: object) -> bool:
    """Return whether a value is a choice, however it is written: `1` is `1.0`, and `60 seconds` is `1 minute`."""
    if text == choice:
        return True
    try:
        return _typed(parameter, choice) == value
    except ParameterError:
        return False


def parameter_default(parameter: ParameterDescriptor) -> object:
    """Return the value of the default, None when there is no default; raise as `parameter_text` does."""
    start = _directory_of(parameter.declared, Path())
    return None if parameter.default is None else parameter_text(parameter, parameter.default, start)


def parameter_values(
    parameters: Iterable[ParameterDescriptor], given: Mapping[str, Value], directory: Path = Path()
) -> dict[str, object]:
    """Return the values of all parameters by key: the configured ones, else defaults; others are omitted.

    Arguments:
        parameters: their descriptors.
        given: the configured values by key; null counts as not set.
        directory: the blueprint's directory.

    Raises:
        ParameterError: a value or default is not valid for its parameter.
    """
    values: dict[str, object] = {}
    for parameter in parameters:
        value = given.get(parameter.key)
        if value is not None and not (isinstance(value, Scalar) and value.value is None):
            values[parameter.key] = parameter_value(parameter, value, directory)
        elif parameter.default is not None:
            values[parameter.key] = parameter_default(parameter)
    return values


def _typed(parameter: ParameterDescriptor, text: str) -> object:
    match parameter.type:
        case ParameterType.STRING | ParameterType.PATH:
            return text
        case ParameterType.INTEGER:
            return _integer(text)
        case ParameterType.DOUBLE:
            return _double(text)
        case ParameterType.BOOLEAN:
            return _boolean(text)
        case ParameterType.REGEXP:
            return _matching(parameter.pattern or "", text)
        case ParameterType.DURATION | ParameterType.MEMORY_SIZE:
            try:
                return duration(text) if parameter.type is ParameterType.DURATION else memory_size(text)
            except QuantityError as error:
                raise ParameterError(str(error)) from None
        case ParameterType.OBJECT:
            return _object(text)
        case ParameterType.LIST:
            return _list(text)


def _path(text: str, start: Path) -> Path:
    if not text or "\0" in text:
        raise ParameterError(f"{_shown(text)} is not a path")
    if local := _LOCAL_URL.match(text):
        text = text[local.end() - 1 :]
    elif _URL.match(text):  # as a path it would be a directory below the current one
        raise ParameterError(
            f"{_shown(text)} is a URL, not a path of this machine", "use a directory, or a mounted one"
        )
    try:
        return start / Path(text).expanduser()
    except RuntimeError as error:  # `~name` without a user `name`
        raise ParameterError(f"{_shown(text)} is not a path: {error}") from None


def _integer(text: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]{1,20}", text.strip()):
        raise ParameterError(f"{_shown(text)} is not a whole number")
    number = int(text)
    if not -_INT32 <= number < _INT32:
        raise ParameterError(f"{_shown(text)} does not fit into 32 bits ({-_INT32} to {_INT32 - 1})")
    return number


def _double(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or "_" in text:
        raise ParameterError(f"{_shown(text)} is not a number")
    return number


def _boolean(text: str) -> bool:
    value = boolean(text.strip())
    if value is None:
        raise ParameterError(f"{_shown(text)} is not a boolean", f"write {alternatives(BOOLEANS)}")
    return value


def _matching(pattern: str, text: str) -> str:
    try:
        matches = re.fullmatch(pattern, text) is not None
    except re.error as error:
        raise ParameterError(f"invalid regular expression `{pattern}`: {error}") from None
    if not matches:
        raise ParameterError(f"{_shown(text)} does not match the pattern `{pattern}`; the whole value must match")
    return text


def _object(text: str) -> object:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ParameterError(f"{_shown(text)} is not an object", "write `{ key = value }`, without quotes")
    return value


def _list(text: str) -> list[str]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, list) or not all(isinstance(item, str | int | float) for item in value):
        raise ParameterError(f"{_shown(text)} is not a list of strings", 'write `["a", "b"]`')
    return [item if isinstance(item, str) else json.dumps(item) for item in value]


def _shown(text: str) -> str:
    return f"`{text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + '…'}`"
