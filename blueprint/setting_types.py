"""Types of settings: what a value must be, and how its text is read.

Checks and typed settings share each codec, and channels use them for settings of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from blueprint.hocon.values import ListValue, ObjectValue, Scalar, Value, is_null, plain
from blueprint.masters import MASTERS, master_of
from blueprint.quantities import LARGEST_COUNT, Duration, backoff, boolean, duration, memory_size
from blueprint.spelling import alternatives
from blueprint.trigger import AvailableNow, ProcessingTime, RealTime, Trigger

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


@dataclass(frozen=True, slots=True)
class Structure(Generic[_T_co]):
    """The type of a setting whose value has parts.

    Arguments:
        expected: what the value must be; completes "must be ...".
        read: returns the value of a setting; None when it is invalid, which is reported by the checks.
        choices: the texts that it accepts besides objects and lists; editors propose them.
    """

    expected: str
    read: Callable[[Value], _T_co | None]
    choices: tuple[str, ...] = ()

    def value(self, value: Value | None) -> _T_co | None:
        """Return the value of a setting; None when it is not set, or is invalid, which is reported by the checks."""
        return None if value is None or is_null(value) else self.read(value)


SettingType = Codec[_T_co] | Structure[_T_co]

MOST_REPLICAS = 1000
"""The largest number of replicas: Spark starts so many tasks within some seconds, which each batch would take."""

_LAST_PORT = 65_535

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


def _read_port(text: str) -> int:
    if not 0 < (number := _read_whole(text)) <= _LAST_PORT:
        raise ValueError
    return number


def _read_positive(text: str) -> int:
    if (number := _read_whole(text)) == 0:
        raise ValueError
    return number


def _read_time_limit(text: str) -> Duration:
    if not (limit := duration(text)).seconds:
        raise ValueError("nothing is done in no time; for no limit, set a long one, such as `1000 days`")
    return limit


def _read_replicas(text: str) -> int:
    number = _read_whole(text)
    if number == 0:
        raise ValueError("`flow pause` stops a streamlet that is to do nothing")
    if number > MOST_REPLICAS:
        raise ValueError(
            "each replica is a task of Spark in each batch, which takes Spark some milliseconds, and a file in each "
            "topic that the batch writes"
        )
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
MASTER = Codec(MASTERS, lambda text: master_of(text).url)
LABEL = Codec("a name of up to 63 lower-case letters, digits and `-` inside", _read_label)
WHOLE = Codec("a whole number from 0", _read_whole)
POSITIVE = Codec("a whole number from 1", _read_positive)
PORT = Codec("a port from 1 to 65,535", _read_port)
REPLICAS = Codec(f"a whole number from 1 to {MOST_REPLICAS:,}", _read_replicas)
NUMBER = Codec("a number from 0", _read_number)
BOOLEAN = Codec("`true` or `false`", _read_boolean, ("true", "false"))
DURATION = Codec("a duration such as `5 seconds`", duration)
TIME_LIMIT = Codec("a duration above 0, such as `5 seconds`", _read_time_limit)
BACKOFF = Codec("a duration of 10 ms or more, such as `1 second`", backoff)
SIZE = Codec("a size such as `10 GiB`", memory_size)


def _trigger(value: Value) -> Trigger | None:
    if STRING.value(value) == "available-now":
        return AvailableNow()
    if isinstance(value, ObjectValue):
        for key, trigger in (("processing-time", ProcessingTime), ("real-time", RealTime)):
            interval = DURATION.value(value.get(key))
            if interval is not None:
                return trigger(interval)
        if BOOLEAN.value(value.get("available-now")):
            return AvailableNow()
    return None


def _strings(value: Value) -> tuple[str, ...] | None:
    if not isinstance(value, ListValue):
        return None
    return tuple(text for item in value.items if (text := STRING.value(item)) is not None)


def scalars_by_path(value: Value | None, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Scalar]]:
    """Yield the single values in an object, without null, each with the keys that lead to it, which may have dots."""
    if isinstance(value, Scalar):
        if value.value is not None:
            yield path, value
    elif isinstance(value, ObjectValue):
        for key, inner in value.fields.items():
            yield from scalars_by_path(inner, (*path, key))


def scalars(value: Value | None) -> dict[str, Scalar]:
    """Return the single values in an object by dotted keys, without null.

    Many options have dots in their names, which HOCON reads as nesting.
    """
    return {".".join(keys): scalar for keys, scalar in scalars_by_path(value)}


def spark_name(key: str) -> str:
    """Return the full name of a Spark setting; blueprints may omit the prefix `spark.`."""
    return key if key.startswith("spark.") else f"spark.{key}"


def _options(value: Value) -> dict[str, object]:
    return {key: scalar.value for key, scalar in scalars(value).items()}


def _texts(value: Value) -> dict[str, str]:
    return {key: scalar.text for key, scalar in scalars(value).items()}


def _spark_options(value: Value) -> dict[str, str]:
    return {spark_name(key): scalar.text for key, scalar in scalars(value).items()}


TRIGGER: Structure[Trigger] = Structure(
    "`available-now`, or an object with `processing-time` or `real-time`", _trigger, ("available-now",)
)
OPTIONS: Structure[Mapping[str, object]] = Structure("an object of single values", _options)
SPARK_OPTIONS: Structure[Mapping[str, str]] = Structure("an object of single values", _spark_options)
TEXTS: Structure[Mapping[str, str]] = Structure("an object of single values", _texts)
FREE_FORM = (OPTIONS, SPARK_OPTIONS, TEXTS)
"""The types of objects of single values whose keys the user chooses; the keys may have dots."""

OBJECT: Structure[object] = Structure("an object", plain)
STRINGS: Structure[tuple[str, ...]] = Structure("a list of strings", _strings)
SCHEMA: Structure[object] = Structure("a schema: the path of an `.avsc` file, or Avro or DDL text", plain)
