"""`interval`: a discovery at the start of the source, and again after each interval."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from blueprint.catalog import ParameterType
from streamlets.ingress.triggerers.base import Trigger, TriggererContext, TriggererOption, TriggererProblem
from streamlets.ingress.triggerers.options import seconds_of, unknown_keys

_INTERVAL = TriggererOption(
    name="interval",
    description="the time between two discoveries",
    type=ParameterType.DURATION,
    default="1 minute",
)


class IntervalTriggerer:
    """Calls for a discovery when the source starts, and again after each interval. The event is the time."""

    options = (_INTERVAL,)

    _interval: float
    _context: TriggererContext

    def __init__(self) -> None:
        self._stopping = threading.Event()

    def problems(self, config: Mapping[str, Any], context: TriggererContext) -> Iterator[TriggererProblem]:
        """Yield problems with the configuration."""
        yield from unknown_keys(config, self.options)
        try:
            seconds_of(config, _INTERVAL)
        except ValueError as error:
            yield TriggererProblem("interval", str(error), ("such as `1 minute`",))

    def init(self, config: Mapping[str, Any], context: TriggererContext) -> None:
        """Take the interval.

        Raises:
            ValueError: the configuration is invalid.
        """
        for problem in self.problems(config, context):
            raise ValueError(problem.message)
        self._interval, self._context = seconds_of(config, _INTERVAL), context

    def start(self, trigger: Trigger) -> None:
        """Call for a discovery, and begin to wait."""
        self._context.run_in_thread(lambda: self._run(trigger), "interval")

    def stop(self) -> None:
        """Wait no more."""
        self._stopping.set()

    def _run(self, trigger: Trigger) -> None:
        clock = self._context.clock
        while not self._stopping.is_set():
            trigger(datetime.fromtimestamp(clock.time(), UTC).isoformat(timespec="seconds"))
            if not clock.wait(self._interval, self._stopping):
                return
