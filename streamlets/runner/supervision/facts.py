"""What the supervisor and its units tell each other: the interface of a unit, and the facts it answers with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from blueprint.plan import Retry
from streamlets.runner.events.model import Event, UnitId, UnitProgressed
from streamlets.spark.failure import Failure


class Unit(Protocol):
    """What is supervised. Nothing here blocks: answers come as facts that carry the number of the run."""

    @property
    def id(self) -> UnitId: ...

    @property
    def retry(self) -> Retry: ...

    @property
    def bounded(self) -> bool:
        """Whether a clean end is its completion; else a clean end nobody asked for is a failure."""

    def start(self, run: int) -> None:
        """Begin; to be answered by `Started`, `Became` or `Ended`."""

    def drain(self) -> None:
        """Begin no new batch, commit the running one, then end; to be answered by `Ended`."""

    def stop(self) -> None:
        """End at once; to be answered by `Ended`."""

    def check(self) -> None:
        """Look whether it is down though nobody told; if so, tell."""

    def locate(self, batch: int, since: float) -> None:
        """Report where its batch is that has been running for too long; to be answered by `Seen` of a `BatchStuck`."""


@dataclass(frozen=True, slots=True)
class Started:
    """A unit is up."""

    unit: UnitId
    run: int


@dataclass(frozen=True, slots=True)
class Became:
    """A unit turned out to be several: from now on `parts` are supervised in its place, each for itself."""

    unit: UnitId
    run: int
    parts: tuple[Unit, ...]


@dataclass(frozen=True, slots=True)
class Progressed:
    """A unit finished a batch."""

    run: int
    progress: UnitProgressed


@dataclass(frozen=True, slots=True)
class Ended:
    """A unit is down, cleanly when there is no failure."""

    unit: UnitId
    run: int
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Drain:
    """Somebody wants the run to end in order.

    Arguments:
        cause: who or what.
        within: seconds until it is stopped at once; None leaves it to the run's own limit.
    """

    cause: str = "stopped as asked"
    within: float | None = None


@dataclass(frozen=True, slots=True)
class StopNow:
    """Somebody wants the run to end at once; `cause` says who or what."""

    cause: str = "stopped at once as asked"


@dataclass(frozen=True, slots=True)
class Lost:
    """What these streamlets live on is gone: whatever of them was up has failed for this reason."""

    failure: Failure
    streamlets: frozenset[str]


@dataclass(frozen=True, slots=True)
class Overlong:
    """A batch of a unit has been running since `since`, which is too long."""

    unit: UnitId
    batch: int
    since: float


@dataclass(frozen=True, slots=True)
class Seen:
    """Something happened that no unit has a part in."""

    event: Event


Fact = Started | Became | Progressed | Ended | Drain | StopNow | Lost | Overlong | Seen
