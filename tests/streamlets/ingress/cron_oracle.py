"""An independent oracle of cron schedules: random expressions with their meaning, and a search through real time.

The expressions are generated together with the values that they stand for, so the oracle needs no parser. It tries the
minutes of each matching day, and shares no code with the schedule or its library.
"""

from __future__ import annotations

import calendar
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
DAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]
ZONES = ["UTC", "Europe/Paris", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "Asia/Kolkata",
         "America/Santiago", "Pacific/Chatham", "Africa/Casablanca", "Asia/Beirut"]  # fmt: skip

DayMatches = Callable[[date], bool]


@dataclass(frozen=True)
class Expression:
    """A cron expression and its meaning."""

    text: str
    seconds: frozenset[int]
    minutes: frozenset[int]
    hours: frozenset[int]
    matches: DayMatches
    fixed: bool
    plain: bool  # without L, LW and #, and with five fields


def random_expression(random: random.Random) -> Expression:
    """Return a random expression that fires several times in a few years."""
    with_seconds = random.random() < 0.3
    second, seconds = _field(random, 0, 59, []) if with_seconds else ("0", frozenset({0}))
    minute, minutes = _field(random, 0, 59, [])
    hour, hours = _field(random, 0, 23, [])
    month, months = _field(random, 1, 12, MONTHS) if random.random() < 0.4 else ("*", frozenset(range(1, 13)))
    day, day_matches, day_plain = _day_of_month(random)
    weekday, weekday_matches, weekday_plain = _day_of_week(random)
    both = day.startswith("*") or weekday.startswith("*")

    def matches(of: date) -> bool:
        if of.month not in months:
            return False
        parts = day_matches(of), weekday_matches(of)
        return all(parts) if both else any(parts)

    fields = [*([second] if with_seconds else []), minute, hour, day, month, weekday]
    text = " ".join(fields)
    return Expression(
        text if random.random() < 0.8 else text.lower(), seconds, minutes, hours, matches,
        fixed=not minute.startswith("*") and not hour.startswith("*"),
        plain=not with_seconds and day_plain and weekday_plain,
    )  # fmt: skip


def _field(random: random.Random, low: int, high: int, names: list[str]) -> tuple[str, frozenset[int]]:
    items = [_item(random, low, high, names) for _ in range(random.choice([1, 1, 1, 2, 3]))]
    if random.random() < 0.25:
        items = [("*", frozenset(range(low, high + 1)))]
    return ",".join(text for text, _ in items), frozenset().union(*(values for _, values in items))


def _item(random: random.Random, low: int, high: int, names: list[str]) -> tuple[str, frozenset[int]]:
    def shown(value: int) -> str:
        return names[value - low] if names and value - low < len(names) and random.random() < 0.5 else str(value)

    first = random.randint(low, high)
    last = random.randint(first, high)
    step = random.randint(1, max(2, (high - low) // 2))
    match random.choice(["value", "value", "range", "range-step", "every", "from"]):
        case "range" if first < last:  # croniter reads 5-5 as the whole range
            return f"{shown(first)}-{shown(last)}", frozenset(range(first, last + 1))
        case "range-step" if first < last:
            return f"{shown(first)}-{shown(last)}/{step}", frozenset(range(first, last + 1, step))
        case "every":
            return f"*/{step}", frozenset(range(low, high + 1, step))
        case "from":
            return f"{first}/{step}", frozenset(range(first, high + 1, step))
        case _:
            return shown(first), frozenset({first})


def _last_day(of: date) -> int:
    return calendar.monthrange(of.year, of.month)[1]


def _last_weekday(of: date) -> int:
    days = [n for n in range(1, _last_day(of) + 1) if date(of.year, of.month, n).weekday() < 5]
    return days[-1]


def _day_of_month(random: random.Random) -> tuple[str, DayMatches, bool]:
    match random.choice(["any", "any", "field", "L", "LW", "list"]):
        case "field":
            text, values = _field(random, 1, 31, [])
            days = text.replace("*/", "1-31/").replace("*", "1-31")  # `*` at the beginning has a meaning of its own
            return (f"1,{days}", lambda of: of.day in values or of.day == 1, True)  # so that it fires in each month
        case "L":
            return "L", lambda of: of.day == _last_day(of), False
        case "LW":
            return "LW", lambda of: of.day == _last_weekday(of), False
        case "list":
            return "10,L", lambda of: of.day in (10, _last_day(of)), False
        case _:
            return "*", lambda of: True, True


def _day_of_week(random: random.Random) -> tuple[str, DayMatches, bool]:
    number = random.randint(0, 7)
    nth = random.randint(1, 4)
    weekday = (number - 1) % 7  # as date.weekday
    match random.choice(["any", "any", "any", "value", "range", "last", "nth"]):
        case "value":
            name = DAYS[number % 7] if random.random() < 0.5 else str(number)
            return name, lambda of: of.weekday() == weekday, True
        case "range":
            return "MON-FRI", lambda of: of.weekday() < 5, True
        case "last":
            return f"{number}L", lambda of: of.weekday() == weekday and of.day + 7 > _last_day(of), False
        case "nth":
            return f"{number}#{nth}", lambda of: of.weekday() == weekday and (of.day - 1) // 7 + 1 == nth, False
        case _:
            return "*", lambda of: True, True


def firings(expression: Expression, zone: ZoneInfo, after: datetime) -> Iterator[datetime]:
    """Yield the firing times after an instant, by trying the times of each matching day."""
    last = after
    day = after.astimezone(zone).date() - timedelta(days=1)
    while day < after.date() + timedelta(days=366 * 12):
        if expression.matches(day):
            instants = _fixed(expression, zone, day) if expression.fixed else _shown(expression, zone, day)
            for instant in sorted(instants):
                if instant > last:
                    last = instant
                    yield instant
        day += timedelta(days=1)


def _minutes_around(day: date) -> Iterator[datetime]:
    start = datetime(day.year, day.month, day.day, tzinfo=UTC) - timedelta(hours=16)
    return (start + timedelta(minutes=number) for number in range(60 * 46))


def _shown(expression: Expression, zone: ZoneInfo, day: date) -> Iterator[datetime]:
    for instant in _minutes_around(day):
        wall = instant.astimezone(zone)
        if wall.date() == day and wall.hour in expression.hours and wall.minute in expression.minutes:
            yield from (instant + timedelta(seconds=second) for second in expression.seconds)


def _fixed(expression: Expression, zone: ZoneInfo, day: date) -> Iterator[datetime]:
    first: dict[datetime, datetime] = {}  # the first instant that shows a time
    walls = []
    for instant in _minutes_around(day):
        wall = instant.astimezone(zone).replace(tzinfo=None, fold=0)
        walls.append((wall, instant))
        first.setdefault(wall, instant)
    for hour in expression.hours:
        for minute in expression.minutes:
            wall = datetime(day.year, day.month, day.day, hour, minute)
            if wall in first:
                yield from (first[wall] + timedelta(seconds=second) for second in expression.seconds)
            else:  # skipped by the clock
                yield next(instant for shown, instant in walls if shown > wall)
