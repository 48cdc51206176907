"""The interface between the supervisor and its units: calls to a unit, and the facts that it reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from blueprint.core_settings import Retry
from streamlets.runner.events.event import Event
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.unit_events import UnitProgressed, UnitStuck
from streamlets.spark.failure import Failure


class Unit(Protocol):
    """A supervised unit. No call blocks: results are reported as facts with the number of the run."""

    @property
    def id(self) -> UnitId: ...

    @property
    def host(self) -> str:
        """The name of what runs it: when that is `Lost`, the unit has failed if it was started."""

    @property
    def wall_clock(self) -> bool:
        """Whether its batches are triggered by the wall clock of its host, as in Spark.

        If the clock is set back, the next one comes so much later, unless the unit is started again.
        """

    @property
    def retry(self) -> Retry: ...

    @property
    def bounded(self) -> bool:
        """Whether it completes by ending without a failure; otherwise an end without a request is a failure."""

    @property
    def unscalable(self) -> str:
        """Why it has no replicas, as the rest of a sentence about its streamlet; empty if it has."""

    def start(self, run: int, *, last: bool = False, replicas: int | None = None) -> None:
        """Start; the unit reports `Started`, `Became` or `Ended`.

        Arguments:
            run: the number of the run.
            last: whether the unit processes all available data and then ends: its producers have ended. A unit that
                reads no topics is never told so.
            replicas: the number of tasks that work side by side; None for the setting. A unit that is `unscalable` is
                never told so.
        """

    def drain(self) -> None:
        """Start no new batch, commit the running one, then end; the unit reports `Ended`."""

    def stop(self) -> None:
        """End at once; the unit reports `Ended`."""

    def kill(self) -> None:
        """End by force, because it has not ended after `stop`: with the process that runs it.

        A unit that shares the process of the runner cannot be ended so. It reports that, and ends when it can.
        """

    def check(self) -> None:
        """Check whether it has ended without a report, or is stuck; the unit reports `Ended` or `Hung` if so.

        It is called every few seconds while the unit is started.
        """

    def locate(self, batch: int, since: float) -> None:
        """Locate a batch that has been running for too long; the unit reports `Seen` with a `BatchStuck`."""


@dataclass(frozen=True, slots=True)
class Started:
    """A unit is running."""

    unit: UnitId
    run: int


@dataclass(frozen=True, slots=True)
class Became:
    """A unit consists of several: from now on `parts` are supervised in its place, each by itself."""

    unit: UnitId
    run: int
    parts: tuple[Unit, ...]


@dataclass(frozen=True, slots=True)
class Progressed:
    """A unit finished a batch, or another amount of work."""

    run: int
    progress: UnitProgressed


@dataclass(frozen=True, slots=True)
class Ended:
    """A unit has ended, by a failure or without one."""

    unit: UnitId
    run: int
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Drain:
    """A request to stop the run gracefully.

    Arguments:
        cause: who or what sent the request.
        within: seconds until the run is stopped at once; None for the run's own limit.
    """

    cause: str = "stopped on request"
    within: float | None = None


@dataclass(frozen=True, slots=True)
class StopNow:
    """A request to stop the run at once; `cause` is who or what sent it."""

    cause: str = "stopped at once on request"


@dataclass(frozen=True, slots=True)
class Lost:
    """A host has exited: all its started units have failed for this reason."""

    failure: Failure
    host: str


@dataclass(frozen=True, slots=True)
class Overlong:
    """A batch of a unit has been running since `since`, which is too long.

    Arguments:
        restart: whether the unit is interrupted and started again.
    """

    unit: UnitId
    batch: int
    since: float
    restart: bool = False


@dataclass(frozen=True, slots=True)
class Hung:
    """A unit without batches is stuck.

    Arguments:
        restart: whether it is stopped and started again.
    """

    run: int
    event: UnitStuck
    restart: bool = False


@dataclass(frozen=True, slots=True)
class ChannelsAnswered:
    """The channels of topics were asked whether they accept records of a unit.

    Arguments:
        refusals: the reasons of those that do not, by topic.
    """

    unit: UnitId
    refusals: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Seen:
    """An event that does not change the state of any unit."""

    event: Event


Fact = Started | Became | Progressed | Ended | Drain | StopNow | Lost | Overlong | Hung | ChannelsAnswered | Seen
