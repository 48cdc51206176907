"""The trigger of `SAVE STREAM`: `TRIGGER n unit`, `ONCE`, `AVAILABLE NOW` or `REAL TIME n unit`."""

from __future__ import annotations

import re

from blueprint.quantities import Duration
from blueprint.sql.cursor import Cursor
from blueprint.sql.statements import TriggerClause
from blueprint.sql.tokens import Kind, Token
from blueprint.trigger import SHORTEST_REAL_TIME, AvailableNow, ProcessingTime, RealTime

UNITS = {"MILLISECOND": 10**6, "SECOND": 10**9, "MINUTE": 60 * 10**9, "HOUR": 3600 * 10**9}
"""The units of intervals in nanoseconds; each may be in the plural."""

_PLURALS = tuple(f"{unit}S" for unit in UNITS)
_LONGEST = 2**63 - 1  # nanoseconds (some 292 years): the maximum of a Java long
_WHOLE = re.compile(r"[0-9]{1,100}")
_NUMBER_AND_UNIT = re.compile(r"([0-9]+)_?([A-Za-z]+)")
_SHORT = {"MS": "MILLISECONDS", "MILLIS": "MILLISECONDS", "S": "SECONDS", "SEC": "SECONDS", "SECS": "SECONDS",
          "M": "MINUTES", "MIN": "MINUTES", "MINS": "MINUTES", "H": "HOURS", "HR": "HOURS", "HRS": "HOURS"}  # fmt: skip
_FORMS = "an interval such as `5 MINUTES`, `ONCE`, `AVAILABLE NOW` or `REAL TIME`"


def read_trigger(cursor: Cursor, first: Token) -> TriggerClause:
    """Read a trigger.

    Arguments:
        cursor: after the word `TRIGGER`.
        first: the word `TRIGGER`.

    Raises:
        Refused: the trigger is not valid, which is reported.
    """
    match cursor.token.upper:
        case "ONCE":  # Spark's trigger of this name is deprecated; `AVAILABLE NOW` keeps to the limits of sources
            cursor.take()
            return TriggerClause(AvailableNow(), cursor.span_from(first))
        case "AVAILABLE":
            cursor.take()
            cursor.keyword("NOW")
            return TriggerClause(AvailableNow(), cursor.span_from(first))
        case "REAL":
            cursor.take()
            cursor.keyword("TIME")
            number = cursor.token
            interval, known = _interval(cursor, "an interval such as `5 MINUTES`")
            if known and interval < SHORTEST_REAL_TIME:
                raise cursor.refuse(
                    f"the interval of a real-time trigger must be {SHORTEST_REAL_TIME} or longer", number,
                    help=("write the time between two checkpoints, such as `REAL TIME 5 MINUTES`",),
                )  # fmt: skip
            return TriggerClause(RealTime(interval), cursor.span_from(first), known)
        case "CONTINUOUS":
            raise cursor.refuse(
                "continuous triggers are not supported", cursor.token,
                help=("write `REAL TIME 5 MINUTES`, with the time between two checkpoints",),
            )  # fmt: skip
    interval, known = _interval(cursor, _FORMS)
    return TriggerClause(ProcessingTime(interval), cursor.span_from(first), known)


def _interval(cursor: Cursor, what: str) -> tuple[Duration, bool]:
    """Read a number and a unit.

    Arguments:
        cursor: at the number.
        what: what is expected, for a token that is not a number.

    Returns:
        The interval, and whether it is known.
    """
    token = cursor.token
    if token.kind is Kind.STRING:
        raise cursor.expected(what, help=("write the interval without quotes",))
    if cursor.is_sign("-"):
        raise cursor.refuse("an interval must not be negative", help=("write a whole number from 0",))
    glued = _NUMBER_AND_UNIT.fullmatch(token.text)
    if token.kind is Kind.WORD and glued is not None:
        unit = glued[2].upper()
        raise cursor.expected(what, help=(f"write `{glued[1]} {_SHORT.get(unit, unit)}`",))
    if token.kind is not Kind.VARIABLE and token.kind is not Kind.NUMBER:
        raise cursor.expected(what, help=cursor.meant(("ONCE", "AVAILABLE", "REAL")))
    if token.known and not _WHOLE.fullmatch(token.value):
        raise cursor.refuse(
            f"an interval must be a whole number from 0, found `{token.value}`", help=("use a smaller unit",)
            if token.kind is Kind.NUMBER and "." in token.value else (),
        )  # fmt: skip
    cursor.take()
    unit = cursor.token
    name = unit.upper
    if name.removesuffix("S") not in UNITS:
        short = (f"write `{_SHORT[name]}`",) if name in _SHORT else cursor.meant(_PLURALS)
        long = ("write the interval in `HOURS`",) if name.removesuffix("S") in ("DAY", "WEEK") else ()
        raise cursor.expected("`MILLISECONDS`, `SECONDS`, `MINUTES` or `HOURS`", help=long or short)
    cursor.take()
    nanoseconds = int(token.value) * UNITS[name.removesuffix("S")] if token.known else 0
    if nanoseconds > _LONGEST:
        raise cursor.refuse("the interval is longer than 292 years", token)
    return Duration(nanoseconds), token.known
