"""Durations and memory sizes as HOCON spells them: one reader for settings, parameters and triggers.

Source of the units: the HOCON specification, "Duration format" and "Size in bytes format"; `min` is PSTL's.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from decimal import Decimal

_NANOS = {
    **dict.fromkeys(("ns", "nano", "nanos", "nanosecond", "nanoseconds"), 1),
    **dict.fromkeys(("us", "micro", "micros", "microsecond", "microseconds"), 10**3),
    **dict.fromkeys(("", "ms", "milli", "millis", "millisecond", "milliseconds"), 10**6),
    **dict.fromkeys(("s", "second", "seconds"), 10**9),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60 * 10**9),
    **dict.fromkeys(("h", "hour", "hours"), 3600 * 10**9),
    **dict.fromkeys(("d", "day", "days"), 86400 * 10**9),
}

_DECIMAL_SIZES = ("kilo", "mega", "giga", "tera", "peta", "exa", "zetta", "yotta")
_BINARY_SIZES = ("kibi", "mebi", "gibi", "tebi", "pebi", "exbi", "zebi", "yobi")


def _size_units() -> dict[str, int]:
    units = dict.fromkeys(("", "B", "b", "byte", "bytes"), 1)
    for power, (decimal, binary) in enumerate(zip(_DECIMAL_SIZES, _BINARY_SIZES, strict=True), start=1):
        letter = decimal[0].upper()
        units |= dict.fromkeys(
            (decimal + "byte", decimal + "bytes", ("k" if power == 1 else letter) + "B"), 1000**power
        )
        units |= dict.fromkeys(
            (binary + "byte", binary + "bytes", letter, letter.lower(), letter + "i", letter + "iB"), 1024**power
        )
    return units


_BYTES = _size_units()
_NUMBER = re.compile(r"\s*([+-]?[0-9]{1,30}(?:\.[0-9]{1,30})?)\s*([A-Za-z]*)\s*")
_LONGEST = 2**63 - 1  # nanoseconds, some 292 years, or bytes: what the other side of Spark can hold

LARGEST_COUNT = 2**31 - 1
"""The largest number of records, partitions or attempts that Spark's side can count to."""


class QuantityError(ValueError):
    """The text is no duration or size; the message says what would be."""


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A length of time in whole nanoseconds, never negative."""

    nanoseconds: int

    @property
    def seconds(self) -> float:
        """In seconds."""
        return self.nanoseconds / 1e9

    @property
    def timedelta(self) -> datetime.timedelta:
        """As Python's own type, cut to microseconds."""
        return datetime.timedelta(microseconds=self.nanoseconds // 1000)

    @property
    def sql(self) -> str:
        """As Spark reads intervals (`F.window`, `withWatermark`, triggers): the largest unit that is exact."""
        micros = self.nanoseconds // 1000
        if micros == 0:
            return "0 seconds"
        for unit, size in (("days", 86_400_000_000), ("hours", 3_600_000_000), ("minutes", 60_000_000),
                           ("seconds", 1_000_000), ("milliseconds", 1000)):  # fmt: skip
            if micros % size == 0:
                return f"{micros // size} {unit}"
        return f"{micros} microseconds"

    def __str__(self) -> str:
        return self.sql


@dataclass(frozen=True, slots=True, order=True)
class MemorySize:
    """An amount of memory in bytes."""

    bytes: int

    def __str__(self) -> str:
        return f"{self.bytes} bytes"


_SHORTEST_BACKOFF = Duration(10 * 10**6)


def _read(text: str, units: dict[str, int], what: str, example: str) -> int:
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise QuantityError(f"`{text}` is not {what}: write a number and a unit, such as `{example}`")
    number, unit = match.groups()
    if unit not in units:
        known = ", ".join(sorted({u for u in units if 0 < len(u) <= 3}))
        raise QuantityError(f"`{unit}` is not a unit of {what}: known are {known} and their long names")
    amount = Decimal(number) * units[unit]
    if amount < 0:
        raise QuantityError(f"`{text}` is negative")
    return int(amount)


def duration(text: str) -> Duration:
    """Read a duration such as `5 minutes`, `250ms` or `10` (milliseconds).

    Raises:
        QuantityError: the text is no duration.
    """
    nanoseconds = _read(text, _NANOS, "a duration", "5 minutes")
    if nanoseconds > _LONGEST:
        raise QuantityError(f"`{text}` is longer than 292 years")
    return Duration(nanoseconds)


def backoff(text: str) -> Duration:
    """Read a duration to wait before a restart.

    Raises:
        QuantityError: the text is not a duration, or a shorter one than 10 ms.
    """
    pause = duration(text)
    if pause < _SHORTEST_BACKOFF:
        raise QuantityError(f"`{text}` is shorter than 10 ms: what fails would be restarted without a pause")
    return pause


def memory_size(text: str) -> MemorySize:
    """Read a size such as `64 MiB`, `1GB` or `512` (bytes).

    Raises:
        QuantityError: the text is no size.
    """
    size = _read(text, _BYTES, "a memory size", "64 MiB")
    if size > _LONGEST:
        raise QuantityError(f"`{text}` is larger than {_LONGEST} bytes")
    return MemorySize(size)
