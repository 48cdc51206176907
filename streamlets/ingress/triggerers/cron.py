"""`cron`: discoveries at the times of a cron expression."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from streamlets.ingress.triggerers.base import Trigger, TriggererContext, TriggererOption, TriggererProblem
from streamlets.ingress.triggerers.options import missing_strings, string_of, unknown_keys
from streamlets.ingress.triggerers.schedule import CronSchedule, ScheduleError

_EXPRESSION = TriggererOption(
    name="expression",
    description="`minute hour day-of-month month day-of-week`, with the second as an optional first field",
    required=True,
    example="0 6 * * MON-FRI",
)
_TIME_ZONE = TriggererOption(name="time-zone", description="a name such as `Europe/Oslo`", default="UTC")

_OTHER_DIALECTS = (
    (re.compile(r"(?<!\S)\?(?!\S)"), "for `?` of Quartz and Spring, write `*`"),
    (re.compile(r"(?<![^\s,])(SUN|MON|TUE|WED|THU|FRI|SAT)L(?![^\s,])", re.I),
     "for `MONL` of Spring, the last Monday, write `1L`; Sunday is 0"),
    (re.compile(r"(?<![^\s,])L-\d+", re.I), "`L-2` of Quartz and Spring, a day before the last, cannot be expressed"),
    (re.compile(r"(?<![^\s,])\d+W(?![^\s,])", re.I),
     "`1W` of Quartz and Spring, the weekday nearest to a date, cannot be expressed"),
    (re.compile(r"^\s*(\S+\s+){6}\S+\s*$"), "leave out the seventh field: the years of Quartz cannot be expressed"),
)  # fmt: skip
"""Forms of other dialects, and what to do about them."""


class CronTriggerer:
    """Calls for a discovery at times of a cron expression. The event is the time, such as `2026-11-22T06:00+01:00`.

    If several times pass while the machine is suspended, there is one discovery afterwards, for the last of them. Times
    that pass while the application is stopped are skipped.
    """

    options = (_EXPRESSION, _TIME_ZONE)

    _schedule: CronSchedule
    _context: TriggererContext

    def __init__(self) -> None:
        self._stopping = threading.Event()

    def problems(self, config: Mapping[str, Any], context: TriggererContext) -> Iterator[TriggererProblem]:
        """Yield problems with the configuration, such as an expression that never fires."""
        yield from unknown_keys(config, self.options)
        lacking = tuple(missing_strings(config, self.options))
        yield from lacking
        if lacking:
            return
        try:
            CronSchedule.parse(config["expression"])
        except ScheduleError as error:
            help = "use `minute hour day-of-month month day-of-week`, with the second as an optional first field"
            yield TriggererProblem("expression", str(error), (help, *_of_other_dialects(config["expression"])))
            return
        try:
            schedule_of(config)
        except ScheduleError as error:
            help = "use a name of the time zone database, such as `Europe/Paris`; default: UTC"
            yield TriggererProblem("time-zone", str(error), (help,))

    def init(self, config: Mapping[str, Any], context: TriggererContext) -> None:
        """Take the expression.

        Raises:
            ValueError: it is not valid.
        """
        self._schedule, self._context = schedule_of(config), context

    def start(self, trigger: Trigger) -> None:
        """Begin to wait for the next time."""
        self._context.run_in_thread(lambda: self._run(trigger), "cron")

    def stop(self) -> None:
        """Wait for no further time."""
        self._stopping.set()

    def _run(self, trigger: Trigger) -> None:
        clock = self._context.clock
        due = self._schedule.next(clock.time())
        while due is not None and clock.wait_until(due, self._stopping):
            now = clock.time()
            while (later := self._schedule.next(due)) is not None and later <= now:
                due = later
            trigger(datetime.fromtimestamp(due, UTC).astimezone(self._schedule.zone).isoformat(timespec="seconds"))
            due = self._schedule.next(max(due, now))


def schedule_of(config: Mapping[str, Any]) -> CronSchedule:
    """Return the schedule of a configuration.

    Raises:
        ScheduleError: it is not valid.
    """
    return CronSchedule.parse(string_of(config, _EXPRESSION), string_of(config, _TIME_ZONE))


def _of_other_dialects(expression: str) -> Iterator[str]:
    return (advice for form, advice in _OTHER_DIALECTS if form.search(expression))
