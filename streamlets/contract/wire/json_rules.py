"""The form of values in messages of JSON, for every decoder: with Spark's columns and without Spark.

Python and Java read the patterns alike. A decoder must match the whole text with them.
"""

from __future__ import annotations

from typing import Literal, get_args

Unit = Literal["seconds", "milliseconds", "microseconds", "invalid"]
"""The unit of a time that is a number, since 1970-01-01 UTC; `invalid` if times must be strings."""

UNITS: tuple[str, ...] = get_args(Unit)

MICROSECONDS = {"seconds": 1_000_000, "milliseconds": 1_000, "microseconds": 1}
"""The microseconds of a unit."""

EARLIEST, LATEST = -2_208_988_800_000_000, 7_258_118_400_000_000
"""The times that a number may be, in microseconds since the epoch: from 1900 to 2200, the end excluded."""

NEAR_EPOCH = 90 * 86_400_000_000
"""The microseconds around the epoch in which a number, except 0, is not a time: a time of this century in a smaller
number of another unit would be there."""

NUMBERS = ("NaN", "Infinity", "-Infinity")
"""The strings that are a floating-point number."""

DATE = "(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}"
ZONE = "(?:Z|[+-](?:0[0-9]|1[0-7]):?[0-5][0-9])"
_PLACES = {"millis": 3, "micros": 6}


def time_of_day(logical: str) -> str:
    """Return the pattern of a time of day with no more digits than a logical type keeps."""
    places = _PLACES[logical.rpartition("-")[2]]
    return f"[0-9]{{2}}:[0-9]{{2}}(?::[0-9]{{2}}(?:\\.[0-9]{{1,{places}}}0*)?)?"


def timestamp(logical: str) -> str:
    """Return the pattern of a timestamp in ISO 8601; only an instant may have a zone, and is in UTC without one."""
    zone = "" if logical.startswith("local-") else f"{ZONE}?"
    return f"{DATE}[T ]{time_of_day(logical)}{zone}"


def decimal(precision: int, scale: int) -> str:
    """Return the pattern of a decimal that fits a precision and a scale, zeros at its ends aside."""
    return f"-?(?=[0-9])0*[0-9]{{0,{precision - scale}}}(?:\\.(?=[0-9])[0-9]{{0,{scale}}}0*)?"


def time_reason(micros: int) -> str | None:
    """Return why a number is not a time, or None.

    Arguments:
        micros: the number in microseconds since the epoch.
    """
    if EARLIEST <= micros < LATEST and (micros == 0 or abs(micros) >= NEAR_EPOCH):
        return None
    return "is a number of another unit: its time is within 90 days of 1970-01-01, or not between 1900 and 2200"
