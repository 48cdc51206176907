"""What the runner and a driver process tell each other: orders one way; facts, and what else is to be known, the other.

Of the facts, `Started`, `Progressed`, `Ended`, `Seen` and `Lost` cross as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from blueprint.plan import ApplicationPlan, Retry
from streamlets.runner.events.model import UnitHeld, UnitId
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.spark.failure import Failure
from streamlets.spark.settings import SessionPlan


@dataclass(frozen=True, slots=True)
class Assignment:
    """The first message to a driver process: what it is for.

    Arguments:
        plan: the application with the streamlets that it is to run.
        bounded: whether everything works off what there is and ends.
    """

    plan: ApplicationPlan
    state: StateDirectory
    session: SessionPlan
    bounded: bool


@dataclass(frozen=True, slots=True)
class StartUnit:
    """Begin a run of a unit; of a query, too, that an earlier process of this driver had built."""

    unit: UnitId
    run: int


@dataclass(frozen=True, slots=True)
class DrainUnit:
    """Have a unit end after its running batch."""

    unit: UnitId


@dataclass(frozen=True, slots=True)
class StopUnit:
    """Have a unit end at once."""

    unit: UnitId


@dataclass(frozen=True, slots=True)
class CheckUnit:
    """Look whether a unit is down though nobody told."""

    unit: UnitId


@dataclass(frozen=True, slots=True)
class LocateBatch:
    """Report where a unit's batch is that has been running since `since`."""

    unit: UnitId
    batch: int
    since: float


@dataclass(frozen=True, slots=True)
class ReportHeld:
    """Say what the state of units still holds, given the rows that each held after its last batch, where known; to be
    answered by `Held`."""

    rows: Mapping[UnitId, int | None]


@dataclass(frozen=True, slots=True)
class End:
    """Stop Spark and end."""


@dataclass(frozen=True, slots=True)
class Up:
    """Its Spark is there, also once more after another one died; `java` is its process."""

    java: int


@dataclass(frozen=True, slots=True)
class NotUp:
    """Its Spark could not be started; the process ends. `text` is the failure in full."""

    failure: Failure
    text: str


@dataclass(frozen=True, slots=True)
class Part:
    """A unit that another one turned out to have."""

    unit: UnitId
    retry: Retry
    bounded: bool


@dataclass(frozen=True, slots=True)
class Parted:
    """`Became`, as far as it can cross."""

    unit: UnitId
    run: int
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Logged:
    """The full text of a unit's failure."""

    unit: UnitId
    text: str


@dataclass(frozen=True, slots=True)
class Printed:
    """A line that Spark printed."""

    line: str


@dataclass(frozen=True, slots=True)
class Held:
    """The answer to `ReportHeld`."""

    events: tuple[UnitHeld, ...]


Order = Assignment | StartUnit | DrainUnit | StopUnit | CheckUnit | LocateBatch | ReportHeld | End
