"""Types of settings: what a value must be, and how its text is read. Checks and typed settings share each codec, and
channels use them for settings of their own."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from blueprint.hocon.values import Scalar, Value
from blueprint.quantities import LARGEST_COUNT, backoff, boolean, duration, memory_size
from blueprint.spelling import alternatives

T = TypeVar("T")
_T_co = TypeVar("_T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Codec(Generic[_T_co]):
    """The type of a setting with a single value.

    Arguments:
        expected: what the value must be; completes "must be ...".
        read: returns the value of a text. It raises `ValueError` for any other text; the message is the cause that a
            finding shows, empty where `expected` explains it.
        choices: all texts that it accepts, if these are few; editors propose them.
    """

    expected: str
    read: Callable[[str], _T_co]
    choices: tuple[str, ...] = ()

    def value(self, value: Value | None) -> _T_co | None:
        """Return the value of a setting; None when it is not set, or is invalid, which is reported by the checks."""
        if not isinstance(value, Scalar) or value.value is None:
            return None
        try:
            return self.read(value.text)
        except ValueError:
            return None


class Structure(enum.Enum):
    """The type of a setting whose value has parts; the value completes "must be ..."."""

    TRIGGER = "`available-now`, or an object with `processing-time` or `real-time`"
    OPTIONS = "an object of single values"
    OBJECT = "an object"
    STRINGS = "a list of strings"
    SCHEMA = "a schema: the path of an `.avsc` file, or Avro or DDL text"

    @property
    def expected(self) -> str:
        """What the value must be."""
        return self.value

    @property
    def choices(self) -> tuple[str, ...]:
        """The texts that it accepts besides objects."""
        return ("available-now",) if self is Structure.TRIGGER else ()


SettingType = Codec[object] | Structure

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_WHOLE = re.compile(r"[0-9]{1,18}")
_NUMBER = re.compile(r"([0-9]{1,18}(\.[0-9]{0,18})?|\.[0-9]{1,18})([eE][+-]?[0-9]{1,2})?")


def _read_string(text: str) -> str:
    if not text.strip():
        raise ValueError("it is empty")
    return text


def _read_label(text: str) -> str:
    return _matching(_LABEL, text)


def _read_whole(text: str) -> int:
    number = int(_matching(_WHOLE, text))
    if number > LARGEST_COUNT:
        raise ValueError(f"`{text}` is larger than {LARGEST_COUNT}")
    return number


def _read_positive(text: str) -> int:
    if (number := _read_whole(text)) == 0:
        raise ValueError
    return number


def _read_number(text: str) -> float:
    return float(_matching(_NUMBER, text))


def _matching(pattern: re.Pattern[str], text: str) -> str:
    if not pattern.fullmatch(text):
        raise ValueError
    return text


def _read_boolean(text: str) -> bool:
    if (truth := boolean(text)) is None:
        raise ValueError
    return truth


def choice(*choices: T) -> Codec[T]:
    """Return the codec of a setting that has one of a few values."""
    by_text = {str(choice): choice for choice in choices}

    def read(text: str) -> T:
        if text not in by_text:
            raise ValueError
        return by_text[text]

    return Codec(alternatives(by_text), read, tuple(by_text))


STRING = Codec("a string", _read_string)
LABEL = Codec("a name of up to 63 lower-case letters, digits and `-` inside", _read_label)
WHOLE = Codec("a whole number from 0", _read_whole)
POSITIVE = Codec("a whole number from 1", _read_positive)
NUMBER = Codec("a number from 0", _read_number)
BOOLEAN = Codec("`true` or `false`", _read_boolean, ("true", "false"))
DURATION = Codec("a duration such as `5 seconds`", duration)
BACKOFF = Codec("a duration of 10 ms or more, such as `1 second`", backoff)
SIZE = Codec("a size such as `10 GiB`", memory_size)
