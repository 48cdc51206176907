"""The messages between runner and driver process: orders to the driver; facts and other reports to the runner.

The facts `Started`, `Progressed`, `Ended`, `Seen` and `Lost` are sent as they are.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from blueprint.core_settings import Retry
from blueprint.plan import ApplicationPlan
from streamlets.runner.events.record_events import RowsInState
from streamlets.runner.events.status import UnitId
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.spark.failure import Failure
from streamlets.spark.settings import SessionPlan


@dataclass(frozen=True, slots=True)
class Assignment:
    """The first message to a driver process: its part of the application.

    Arguments:
        name: the name of the driver.
        plan: the application with the streamlets of the driver.
        bounded: whether all queries process all available data and end.
    """

    name: str
    plan: ApplicationPlan
    state: StateDirectory
    session: SessionPlan
    bounded: bool


STACKS_SIGNAL = signal.SIGUSR1
"""Has a driver process write the stacks of its threads to `stacks_file`, also if its interpreter lock is blocked."""


def stacks_file(assignment: Assignment) -> Path:
    """Return the file for the stacks of a driver process that is replaced."""
    return assignment.session.logs / "stacks.txt"


@dataclass(frozen=True, slots=True)
class StartUnit:
    """Start a run of a unit, which may be a query that an earlier process of this driver had built.

    Arguments:
        last: whether it processes all available data and ends.
        replicas: the number of tasks that work side by side; None for the setting.
    """

    unit: UnitId
    run: int
    last: bool = False
    replicas: int | None = None


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
    """Check whether a unit has ended without a report."""

    unit: UnitId


@dataclass(frozen=True, slots=True)
class LocateBatch:
    """Report where a unit's batch is, which has been running since `since`."""

    unit: UnitId
    batch: int
    since: float


@dataclass(frozen=True, slots=True)
class ReportState:
    """Report the rows that remain in the state of units with `StateReport`.

    The order has the number of rows in state after the last batch of each unit, if known.
    """

    rows: Mapping[UnitId, int | None]


@dataclass(frozen=True, slots=True)
class End:
    """Stop Spark and exit."""


@dataclass(frozen=True, slots=True)
class SparkReady:
    """The driver's Spark is running; `java` is the id of its process."""

    java: int


@dataclass(frozen=True, slots=True)
class SparkFailed:
    """The driver's Spark could not be started, and the driver exits. `text` is the full text of the failure."""

    failure: Failure
    text: str


@dataclass(frozen=True, slots=True)
class QueryPart:
    """A query of a unit that became its queries."""

    unit: UnitId
    retry: Retry
    bounded: bool
    unscalable: str = ""


@dataclass(frozen=True, slots=True)
class UnitBecame:
    """The fact `Became`, with the data of its parts in place of the units."""

    unit: UnitId
    run: int
    parts: tuple[QueryPart, ...]


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
class StateReport:
    """The answer to `ReportState`."""

    events: tuple[RowsInState, ...]


Order = Assignment | StartUnit | DrainUnit | StopUnit | CheckUnit | LocateBatch | ReportState | End
