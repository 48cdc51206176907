"""Durations, memory sizes and booleans in HOCON notation: one parser for settings, parameters and triggers.

Source: the HOCON specification, "Duration format", "Size in bytes format" and "Automatic type conversions"; `min` is
PSTL's.
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
_LONGEST = 2**63 - 1  # nanoseconds (some 292 years) or bytes: the maximum of a Java long

LARGEST_COUNT = 2**31 - 1
"""The largest number of records, partitions or attempts: the maximum of a Java int."""


class QuantityError(ValueError):
    """The text is not a valid duration or size. The message names the valid form."""


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A non-negative length of time in whole nanoseconds.

    Example:
        >>> from streamlets import Duration
        >>> five = Duration(300_000_000_000)
        >>> str(five), five.seconds
        ('5 minutes', 300.0)
    """

    nanoseconds: int

    @property
    def seconds(self) -> float:
        """Return the duration in seconds."""
        return self.nanoseconds / 1e9

    @property
    def timedelta(self) -> datetime.timedelta:
        """Return the duration as a `timedelta`, truncated to microseconds."""
        return datetime.timedelta(microseconds=self.nanoseconds // 1000)

    @property
    def sql(self) -> str:
        """Return a Spark interval (for `F.window`, `withWatermark`, triggers) in the largest unit that is exact."""
        micros = self.nanoseconds // 1000
        if micros == 0:
            return "0 seconds"
        for unit, size in (("days", 86_400_000_000), ("hours", 3_600_000_000), ("minutes", 60_000_000),
                           ("seconds", 1_000_000), ("milliseconds", 1000)):  # fmt: skip
            if micros % size == 0:
                return f"{micros // size} {unit}"
        return f"{micros} microseconds"

    def __str__(self) -> str:
        return with_singulars(self.sql)


_ONE_OF_SEVERAL = re.compile(r"(?<![\w.])1 (day|hour|minute|second|millisecond|microsecond)s\b")


def with_singulars(text: str) -> str:
    """Return a text for people with `1 hour` in place of `1 hours`, which Spark's intervals and descriptors have."""
    return _ONE_OF_SEVERAL.sub(r"1 \1", text)


@dataclass(frozen=True, slots=True, order=True)
class MemorySize:
    """An amount of memory in bytes.

    Example:
        >>> from streamlets import MemorySize
        >>> page = MemorySize(64 * 1024**2)
    """

    bytes: int

    def __str__(self) -> str:
        return f"{self.bytes} {'byte' if self.bytes == 1 else 'bytes'}"


_SHORTEST_BACKOFF = Duration(10 * 10**6)


def _read(text: str, units: dict[str, int], quantity: str, example: str) -> int:
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise QuantityError(f"`{text}` is not {quantity}: write a number and a unit, such as `{example}`")
    number, unit = match.groups()
    if unit not in units:
        known = ", ".join(sorted({name for name in units if 0 < len(name) <= 3}))
        raise QuantityError(f"`{unit}` is not a unit of {quantity}: use {known} or a long form")
    amount = Decimal(number) * units[unit]
    if amount < 0:
        raise QuantityError(f"`{text}` is negative")
    return int(amount)


BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
"""The values of all texts that are booleans."""


def boolean(text: str) -> bool | None:
    """Return the value of a boolean such as `true` or `off`; None when the text is not one."""
    return BOOLEANS.get(text)


def duration(text: str) -> Duration:
    """Read a duration such as `5 minutes`, `250ms` or `10` (milliseconds).

    Raises:
        QuantityError: the text is not a duration.
    """
    nanoseconds = _read(text, _NANOS, "a duration", "5 minutes")
    if nanoseconds > _LONGEST:
        raise QuantityError(f"`{text}` is longer than 292 years")
    return Duration(nanoseconds)


def backoff(text: str) -> Duration:
    """Read the delay before a restart.

    Raises:
        QuantityError: the text is not a duration, or is shorter than 10 ms.
    """
    delay = duration(text)
    if delay < _SHORTEST_BACKOFF:
        raise QuantityError(f"`{text}` is shorter than 10 ms, the minimum delay between restarts")
    return delay


def memory_size(text: str) -> MemorySize:
    """Read a size such as `64 MiB`, `1GB` or `512` (bytes).

    Raises:
        QuantityError: the text is not a size.
    """
    size = _read(text, _BYTES, "a memory size", "64 MiB")
    if size > _LONGEST:
        raise QuantityError(f"`{text}` is larger than {_LONGEST} bytes")
    return MemorySize(size)
