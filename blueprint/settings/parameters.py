"""Values of config parameters: the one reader that verification, runs and tests share."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from blueprint.catalog import ParameterDescriptor, ParameterType
from blueprint.diagnostics import Span
from blueprint.hocon.values import ListValue, ObjectValue, Scalar, Value, plain, span_of
from blueprint.quantities import QuantityError, duration, memory_size
from blueprint.spelling import alternatives, near

_TRUE, _FALSE = ("true", "yes", "on"), ("false", "no", "off")
_INT32 = 2**31
_MOST_SHOWN = 80

WANTED = {
    ParameterType.INTEGER: "a whole number",
    ParameterType.STRING: "a text",
    ParameterType.DOUBLE: "a number",
    ParameterType.BOOLEAN: "`true` or `false`",
    ParameterType.REGEXP: "a text that matches the pattern",
    ParameterType.DURATION: "a duration such as `5 minutes`",
    ParameterType.MEMORY_SIZE: "a memory size such as `64 MiB`",
    ParameterType.OBJECT: "an object",
    ParameterType.PATH: "a path",
}


class ParameterError(ValueError):
    """The value does not fit the parameter; the message says why, `help` what would do where that is known."""

    def __init__(self, message: str, *help: str) -> None:
        super().__init__(message)
        self.help = help


def path_start(value: Value, folder: Path) -> Path:
    """Where a relative path starts that a value is or holds: in the directory of the file that sets it.

    Arguments:
        folder: the blueprint's, where those start that no file sets: arguments mean the same from anywhere.
    """
    return _beside(span_of(value), folder)


def _beside(place: Span, folder: Path) -> Path:
    return (folder if place.file.startswith("<") else Path(place.file).parent).absolute()


def parameter_value(parameter: ParameterDescriptor, value: Value, folder: Path = Path()) -> object:
    """The value as logic gets it: int, str, float, bool, `Duration`, `MemorySize`, dict, or an absolute `Path`.

    Arguments:
        folder: the blueprint's.

    Raises:
        ParameterError: the value does not fit the parameter's type, pattern or choices.
    """
    match value:
        case ObjectValue() if parameter.type is ParameterType.OBJECT:
            return plain(value)
        case Scalar(value=None):
            raise ParameterError(f"`null` is not {WANTED[parameter.type]}")
        case Scalar(text=text):
            return parameter_text(parameter, text, path_start(value, folder))
        case ListValue():
            raise ParameterError(f"a list is not {WANTED[parameter.type]}")
        case _:
            raise ParameterError(f"an object is not {WANTED[parameter.type]}")


def parameter_text(parameter: ParameterDescriptor, text: str, start: Path = Path()) -> object:
    """The same for a value given as text: a default, or a value of the testkit. A relative path begins at `start`."""
    value = _path(text, start) if parameter.type is ParameterType.PATH else _typed(parameter, text)
    if parameter.choices and not any(_is_choice(parameter, choice, text, value) for choice in parameter.choices):
        close = near(text, parameter.choices)
        raise ParameterError(
            f"{_shown(text)} is none of the choices",
            *((f"did you mean {alternatives(close)}?",) if close else ()),
            f"write {alternatives(parameter.choices)}",
        )
    return value


def _is_choice(parameter: ParameterDescriptor, choice: str, text: str, value: object) -> bool:
    """Whether a value is a choice, however it is written: `1` is `1.0`, and `60 seconds` are `1 minute`."""
    if text == choice:
        return True
    try:
        return _typed(parameter, choice) == value
    except ParameterError:
        return False


def parameter_default(parameter: ParameterDescriptor) -> object:
    """The default's value; None when there is none. Raises as `parameter_text`."""
    start = _beside(parameter.declared, Path())
    return None if parameter.default is None else parameter_text(parameter, parameter.default, start)


def parameter_values(
    parameters: Iterable[ParameterDescriptor], given: Mapping[str, Value], folder: Path = Path()
) -> dict[str, object]:
    """The values of all parameters by key: what is given, else the default; those without either are omitted.

    Arguments:
        folder: the blueprint's.

    Raises:
        ParameterError: a value or default does not fit its parameter.
    """
    values: dict[str, object] = {}
    for parameter in parameters:
        value = given.get(parameter.key)
        if value is not None and not (isinstance(value, Scalar) and value.value is None):
            values[parameter.key] = parameter_value(parameter, value, folder)
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


def _path(text: str, start: Path) -> Path:
    if not text or "\0" in text:
        raise ParameterError(f"{_shown(text)} is not a path")
    try:
        return start / Path(text).expanduser()
    except RuntimeError as error:  # `~name` of nobody
        raise ParameterError(f"{_shown(text)} is not a path: {error}") from None


def _integer(text: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]{1,20}", text.strip()):
        raise ParameterError(f"{_shown(text)} is not a whole number")
    number = int(text)
    if not -_INT32 <= number < _INT32:
        raise ParameterError(f"{_shown(text)} is not a whole number of 32 bits ({-_INT32} to {_INT32 - 1})")
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
    if text.strip() not in _TRUE + _FALSE:
        raise ParameterError(f"{_shown(text)} is neither true nor false", f"write {alternatives(_TRUE + _FALSE)}")
    return text.strip() in _TRUE


def _matching(pattern: str, text: str) -> str:
    try:
        matches = re.fullmatch(pattern, text) is not None
    except re.error as error:
        raise ParameterError(f"the pattern `{pattern}` is no regular expression: {error}") from None
    if not matches:
        raise ParameterError(f"{_shown(text)} does not match the pattern `{pattern}` from end to end")
    return text


def _object(text: str) -> object:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ParameterError(f"{_shown(text)} is not an object", "write `{ key = value }`, without quotes")
    return value


def _shown(text: str) -> str:
    return f"`{text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + '…'}`"
