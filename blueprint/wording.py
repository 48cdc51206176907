"""Counts and durations in words, as every message and table has them."""

from __future__ import annotations

_UNITS = (("d", 86_400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1))


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: `1 record`, `1,000 records`.

    Arguments:
        number: how many.
        noun: the singular.
        plural: the plural; default: the singular with an s.
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def in_seconds(number: float) -> str:
    """Return seconds as people have set them: `1 second`, `0.5 seconds`."""
    return f"{number:g} {'second' if number == 1 else 'seconds'}"


def span(seconds: float) -> str:
    """Return a duration in its two largest units, such as `2 min 5 s`."""
    whole = max(0, round(seconds))
    for name, size, lesser, part in _UNITS:
        if whole >= size:
            rest = whole % size // part
            return f"{whole // size} {name}" + (f" {rest} {lesser}" if rest else "")
    return f"{whole} s"


def time_limit(seconds: float) -> str:
    """Return a limit that was set, such as `0.1 s`, `1.5 s` or `2 min 5 s`: fractions of a second are not omitted."""
    exact = round(seconds, 3)
    return span(exact) if exact == int(exact) else f"{exact:g} s"
