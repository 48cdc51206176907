"""`CronSchedule`: the firing times of a cron expression in a time zone.

The dialect and the matching of days are cronsim's, which follows Debian's cron. This module adds macros and
daylight saving, by the rules of Debian's cron for expressions of any length:

* A job at fixed times (neither the minute nor the hour begins with `*`) fires once on each day. A time that the clock
  skips fires at the end of the gap, and one that the clock shows twice fires the first time.
* Any other job fires whenever the clock shows a matching time, so in a repeated hour it fires again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from blueprint.wording import counted

MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}

_NAMES = {
    name: str(number)
    for names, first in (("SUN MON TUE WED THU FRI SAT", 0), ("JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC", 1))
    for number, name in enumerate(names.split(), first)
}
_STEPPED_RANGE = re.compile(r"(?<![^\s,])(\w+)-(\w+)/0*[1-9]\d*(?![^\s,])", re.ASCII)
_STEPPED_LAST = re.compile(r"(?<![^\s,])LW?/[^\s,]*", re.ASCII | re.IGNORECASE)

_SAMPLING = timedelta(days=7)
"""No zone changes its offset twice within this time, according to the time zone database of today."""

_SECOND = timedelta(seconds=1)


class ScheduleError(ValueError):
    """An expression or a time zone is not valid; the message says why."""


@dataclass(frozen=True, slots=True)
class CronSchedule:
    """A cron expression in a time zone.

    Arguments:
        expression: five fields, six with the seconds first, or a macro.
        zone: the time zone.
    """

    expression: str
    zone: tzinfo = UTC
    _fields: str = field(default="", compare=False)

    @classmethod
    def parse(cls, expression: str, zone: str = "UTC") -> CronSchedule:
        """Return the schedule of an expression.

        Arguments:
            expression: as in the blueprint.
            zone: the name of a time zone, such as `Europe/Paris`.

        Raises:
            ScheduleError: the expression or the zone is not valid, or the expression never fires.
        """
        try:
            known = UTC if zone == "UTC" else ZoneInfo(zone)
        except (OSError, ValueError, KeyError):  # a directory, a path outside of the database, or not in it
            raise ScheduleError(f"unknown time zone `{zone}`") from None
        fields = MACROS.get(expression.strip().lower(), expression)
        if fields.startswith("@"):
            raise ScheduleError(f"unknown macro `{expression}`; the macros are {', '.join(MACROS)}")
        if stepped := _STEPPED_LAST.search(fields):
            raise ScheduleError(f"`{stepped[0]}` is not valid in the field day-of-month: a single day has no steps")
        schedule = cls(expression, known, _without_idle_steps(fields))
        try:
            first = next(schedule._walls(datetime(2000, 1, 1)), None)
        except CronSimError as error:
            raise ScheduleError(_reason(fields, str(error))) from None
        if first is None:
            raise ScheduleError(f"`{expression}` never fires: no date matches its day and its month")
        return schedule

    def after(self, instant: datetime) -> Iterator[datetime]:
        """Yield the firing times after an instant, in the zone of the schedule, in order and without repetition.

        Arguments:
            instant: with a time zone.
        """
        last = instant.astimezone(UTC)
        firings = self._at_fixed_times(last) if self._fixed else self._whenever_shown(last)
        for firing in firings:
            if firing > last:
                last = firing
                yield firing.astimezone(self.zone)

    def next(self, seconds: float) -> float | None:
        """Return the first firing time after an instant, in seconds since the epoch; None without one in 50 years."""
        first = next(self.after(datetime.fromtimestamp(seconds, UTC)), None)
        return first.timestamp() if first is not None else None

    @property
    def _fixed(self) -> bool:
        minute, hour = self._fields.split()[-5:-3]
        return not minute.startswith("*") and not hour.startswith("*")

    def _walls(self, wall: datetime) -> Iterator[datetime]:
        """Yield the matching times of a clock without daylight saving after a time; nothing after 50 years without."""
        cron = CronSim(self._fields, wall)
        while True:
            try:
                yield next(cron)
            except (StopIteration, RuntimeError, OverflowError):
                return

    def _at_fixed_times(self, after: datetime) -> Iterator[datetime]:
        # A time that was skipped before `after` has fired at the end of the gap, so what the clock shows suffices.
        for wall in self._walls(after.astimezone(self.zone).replace(tzinfo=None, fold=0)):
            yield self._instant(wall)

    def _instant(self, wall: datetime) -> datetime:
        """Return the first instant at which the clock shows a time, or the end of the gap that skips it."""
        instant = wall.replace(tzinfo=self.zone, fold=0).astimezone(UTC)
        if instant.astimezone(self.zone).replace(tzinfo=None) == wall:
            return instant
        # In a gap, fold=0 counts with the offset before it, so the instant is after the gap by as much as the time is
        # inside it.
        begin = instant - timedelta(days=1)
        return self._change(begin, instant) or instant

    def _whenever_shown(self, after: datetime) -> Iterator[datetime]:
        begin = after
        while True:
            offset = self._offset(begin)
            change = None
            for wall in self._walls((begin + offset).replace(tzinfo=None)):
                firing = wall.replace(tzinfo=UTC) - offset
                change = self._change(begin, firing)
                if change is not None:
                    break
                yield firing
                begin = firing
            if change is None:
                return
            begin = change - _SECOND  # from here on the clock counts with the new offset
            yield from self._first_of_segment(change)
            begin = change

    def _first_of_segment(self, change: datetime) -> Iterator[datetime]:
        """Yield the instant of a change of the offset if the clock then shows a matching time."""
        wall = (change + self._offset(change)).replace(tzinfo=None)
        if next(self._walls(wall - _SECOND), None) == wall:
            yield change

    def _offset(self, instant: datetime) -> timedelta:
        return instant.astimezone(self.zone).utcoffset() or timedelta()

    def _change(self, begin: datetime, end: datetime) -> datetime | None:
        """Return the first instant after `begin`, up to `end`, at which the zone has another offset; None if none."""
        offset = self._offset(begin)
        while begin < end:
            sample = min(begin + _SAMPLING, end)
            if self._offset(sample) != offset:
                while sample - begin > _SECOND:
                    middle = begin + timedelta(seconds=int((sample - begin).total_seconds()) // 2)
                    begin, sample = (middle, sample) if self._offset(middle) == offset else (begin, middle)
                return sample
            begin = sample
        return None


def _without_idle_steps(fields: str) -> str:
    """Return an expression with `5-5/10` as `5`: cronsim reads a range of one value with a step as `5/10`."""

    def shortened(stepped: re.Match[str]) -> str:
        first, last = (_NAMES.get(bound.upper(), bound).lstrip("0") for bound in stepped.groups())
        return f"{stepped[1]}-{stepped[2]}" if first == last else stepped[0]

    return _STEPPED_RANGE.sub(shortened, fields)


def _reason(fields: str, message: str) -> str:
    """Return why cronsim refuses an expression, with the field."""
    parts = fields.split()
    if len(parts) not in (5, 6):
        return f"`{fields}` has {counted(len(parts), 'field')}, expected 5, or 6 with the seconds first"
    name = message.removeprefix("Bad ")
    names = ["second", "minute", "hour", "day-of-month", "month", "day-of-week"]
    if name not in names:
        return f"`{fields}` is not a cron expression: {message}"
    value = ([*(["0"] if len(parts) == 5 else []), *parts])[names.index(name)]
    if name == "day-of-month" and _days(value):
        return f"`{fields}` never fires: no month that it names has a day `{value}`"
    return f"`{value}` is not valid in the field {name}"


def _days(value: str) -> bool:
    """Return whether a field of days is valid in a month of 31 days."""
    try:
        CronSim(f"0 0 {value} 1 *", datetime(2000, 1, 1))
    except CronSimError:
        return False
    return True
