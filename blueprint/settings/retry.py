"""Retry settings under both their names, ours and PSTL's: `min-backoff`, and `pstl.retry.min.backoff` or
`pstl.retry.min-backoff`. What is wrong with one is told here, for blueprints and for code alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields

from blueprint.plan import Retry
from blueprint.quantities import LARGEST_COUNT, Duration, backoff, duration
from blueprint.spelling import did_you_mean, listing

PREFIX = "pstl.retry."
"""What PSTL's options of a query begin with; as settings of a job they stand below `spark.`."""

KEYS: Mapping[str, object] = {field.name.replace("_", "-"): field.default for field in fields(Retry)}
"""Retry settings as a blueprint writes them, each with its default, whose type is the setting's."""

_TRUTHS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


class RetryOptionError(ValueError):
    """An option is none, or its value cannot be one; `help` says what would be right."""

    def __init__(self, message: str, help: tuple[str, ...] = (), *, unknown: bool = False) -> None:
        super().__init__(message)
        self.help = help
        self.unknown = unknown


def is_option(name: str) -> bool:
    """Whether an option of a query is one of PSTL's about retry."""
    return name.lower().startswith(PREFIX)


def option(name: str, text: str) -> tuple[str, object]:
    """The field of `Retry` that an option of PSTL's sets, and its value.

    Arguments:
        name: begins with `PREFIX`, in any case; dots and dashes mean the same.
        text: durations as PSTL and HOCON write them, but never without a unit: HOCON would take milliseconds.

    Raises:
        RetryOptionError: there is no such option, or its value is wrong.
    """
    key = name[len(PREFIX) :].lower().replace(".", "-")
    if key not in KEYS:
        known = did_you_mean(key, KEYS) or (f"known are {listing(KEYS)}",)
        raise RetryOptionError(f"there is no option `{name}`", known, unknown=True)
    value, wanted = _read(KEYS[key], text.strip(), duration if key == "stable-period" else backoff)
    if value is None:
        raise RetryOptionError(f"`{name}` must be {wanted}, not `{text}`")
    return key.replace("-", "_"), value


def _read(default: object, text: str, read_duration: Callable[[str], Duration]) -> tuple[object, str]:
    """The value in the default's type, None when it cannot be; and what it must be."""
    match default:
        case bool():
            return _TRUTHS.get(text.lower()), "`true` or `false`"
        case Duration():
            shortest = " of 10 ms or more" if read_duration is backoff else ""
            return _duration(text, read_duration), f"a duration{shortest} with its unit, such as `250ms`"
        case int():
            fits = text.isdecimal() and len(text) < 19 and int(text) <= LARGEST_COUNT
            return int(text) if fits else None, f"a whole number from 0 to {LARGEST_COUNT}"
        case _:
            return _factor(text), "a number from 0"


def _duration(text: str, read: Callable[[str], Duration]) -> Duration | None:
    try:
        return None if text[-1:].isdecimal() else read(text)
    except ValueError:
        return None


def _factor(text: str) -> float | None:
    try:
        factor = float(text)
    except ValueError:
        return None
    return factor if 0 <= factor < float("inf") else None
