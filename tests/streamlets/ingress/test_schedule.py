"""Cron schedules, against an oracle of our own and against another cron library."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from croniter import croniter

from streamlets.ingress.triggerers.schedule import CronSchedule, ScheduleError
from tests.streamlets.ingress.cron_oracle import ZONES, firings, random_expression

FIRINGS = 20
STARTS = [
    datetime(2026, 1, 31, 23, 59, 59, tzinfo=UTC),
    datetime(2026, 3, 28, 12, 0, tzinfo=UTC),  # before the change in Europe
    datetime(2026, 10, 24, 13, 7, 5, tzinfo=UTC),
    datetime(2026, 4, 4, 1, 30, tzinfo=UTC),  # before the changes in Australia and New Zealand
    datetime(2026, 10, 31, 20, 0, tzinfo=UTC),  # before the change in New York
    datetime(2026, 4, 23, 12, 0, tzinfo=UTC),  # before the change in Cairo, at midnight
    datetime(2028, 2, 28, 22, 0, tzinfo=UTC),
]


def _check(first: int, count: int) -> None:
    for seed in range(first, first + count):
        numbers = random.Random(seed)
        expression, zone, start = random_expression(numbers), numbers.choice(ZONES), numbers.choice(STARTS)
        expected = list(islice(firings(expression, ZoneInfo(zone), start), FIRINGS))
        times = islice(CronSchedule.parse(expression.text, zone).after(start), len(expected))
        found = [time.astimezone(UTC) for time in times]  # in its zone, a repeated time equals no other one (PEP 495)
        assert found == expected, f"seed {seed}: `{expression.text}` in {zone} after {start}"
        if expression.plain and zone == "UTC":
            other = croniter(expression.text, start, implement_cron_bug=True)
            assert found == [other.get_next(datetime) for _ in expected], f"seed {seed}: `{expression.text}`"


def test_random_expressions_fire_as_the_oracle_says() -> None:
    """The next firings of random expressions are those of a search through real time, in zones with daylight saving."""
    _check(0, 60)


@pytest.mark.full
def test_two_thousand_random_expressions_fire_as_the_oracle_says() -> None:
    """The same for 2,000 expressions."""
    _check(1_000, 2_000)


def _times(expression: str, zone: str, start: str, count: int) -> list[str]:
    schedule = CronSchedule.parse(expression, zone)
    return [time.isoformat() for time in islice(schedule.after(datetime.fromisoformat(start)), count)]


@pytest.mark.parametrize("seconds", ["", "0 "])
def test_a_fixed_time_fires_once_a_day(seconds: str) -> None:
    """A time in a gap fires at its end; one that is shown twice fires the first time, with five fields and with six."""
    expression = f"{seconds}30 2 * * *"
    assert _times(expression, "Europe/Paris", "2026-03-28T12:00+01:00", 2) == [
        "2026-03-29T03:00:00+02:00",
        "2026-03-30T02:30:00+02:00",
    ]
    assert _times(expression, "Europe/Paris", "2026-10-24T12:00+02:00", 2) == [
        "2026-10-25T02:30:00+02:00",
        "2026-10-26T02:30:00+01:00",
    ]


def test_two_fixed_times_in_a_gap_fire_once() -> None:
    """Two times that the clock skips fire together, at the end of the gap."""
    assert _times("0,30 2 * * *", "Europe/Paris", "2026-03-28T12:00+01:00", 2) == [
        "2026-03-29T03:00:00+02:00",
        "2026-03-30T02:00:00+02:00",
    ]


def test_an_interval_fires_again_in_a_repeated_hour() -> None:
    """`*` as the hour fires whenever the clock shows a matching time."""
    assert _times("30 * * * *", "Europe/Paris", "2026-10-25T01:45+02:00", 3) == [
        "2026-10-25T02:30:00+02:00",
        "2026-10-25T02:30:00+01:00",
        "2026-10-25T03:30:00+01:00",
    ]


@pytest.mark.parametrize("macro", ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"])
def test_macros(macro: str) -> None:
    """Each macro fires as croniter says."""
    start = datetime(2026, 2, 3, 4, 5, tzinfo=UTC)
    other = croniter(macro, start)
    assert list(islice(CronSchedule.parse(macro).after(start), 5)) == [other.get_next(datetime) for _ in range(5)]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("", "`` has 0 fields, expected 5, or 6 with the seconds first"),
        ("* * * *", "`* * * *` has 4 fields, expected 5, or 6 with the seconds first"),
        ("60 * * * *", "`60` is not valid in the field minute"),
        ("* * * * * 8", "`8` is not valid in the field day-of-week"),
        ("* * 32 * *", "`32` is not valid in the field day-of-month"),
        ("0 0 30 2 *", "`0 0 30 2 *` never fires: no month that it names has a day `30`"),
        ("0 0 31 4,6,9,11 *", "`0 0 31 4,6,9,11 *` never fires: no month that it names has a day `31`"),
        ("@reboot", "unknown macro `@reboot`; the macros are"),
        ("* * * * MON-", "`MON-` is not valid in the field day-of-week"),
        ("*/0 * * * *", "`*/0` is not valid in the field minute"),
    ],
)
def test_invalid_expressions(expression: str, message: str) -> None:
    """The message names the field, or why the expression never fires."""
    with pytest.raises(ScheduleError) as raised:
        CronSchedule.parse(expression)
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../etc/passwd", ""])
def test_unknown_time_zones(zone: str) -> None:
    """A zone that the database does not have is refused."""
    with pytest.raises(ScheduleError, match="time zone"):
        CronSchedule.parse("@daily", zone)


@pytest.mark.parametrize(
    ("stepped", "plain"),
    [
        ("5-5/10 * * * *", "5 * * * *"),
        ("05-5/10 0-0/6 * * *", "5 0 * * *"),
        ("0 6-6/2,9 * * *", "0 6,9 * * *"),
        ("0 0 3-3/7 * *", "0 0 3 * *"),
        ("0 0 1 feb-2/3 *", "0 0 1 2 *"),
        ("0 0 * * MON-1/2", "0 0 * * 1"),
    ],
)
def test_a_step_in_a_range_of_one_value_leaves_that_value(stepped: str, plain: str) -> None:
    start = STARTS[0]
    oracle = croniter(plain, start)
    expected = [oracle.get_next(datetime) for _ in range(FIRINGS)]

    assert list(islice(CronSchedule.parse(stepped).after(start), FIRINGS)) == expected


@pytest.mark.parametrize("expression", ["0 0 L/2 * *", "0 0 1,LW/3 * *", "5-5/0 * * * *", "61-61/2 * * * *"])
def test_a_step_without_meaning_is_refused(expression: str) -> None:
    with pytest.raises(ScheduleError, match="is not valid in the field"):
        CronSchedule.parse(expression)
