"""The trial of a new version after an upgrade, which decides whether the run returns to the previous version.

A query that is up may still fail for good when its first batch loads the state. So a version is on trial until each
stateful query has committed a batch, for a bounded time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Literal

from streamlets.ownership import NotTrustedError, read_own
from streamlets.runner.checkpoints.state_rows import operators
from streamlets.runner.events.status import UP, UnitId, UnitStatus
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.storage.files import write_atomically

PATIENCE = 60.0
"""Seconds that a new version has, once the first of its queries is up, to commit a batch of each that keeps state."""

START_PATIENCE = 300.0
"""Seconds that a new version has until the first of its queries is up: Spark may start slowly. A query with records to
read has as long for its first batch."""

_MORE = START_PATIENCE - PATIENCE
_UP = (*UP, "completed")

Result = Literal["", "works", "untried", "unwell", "failed", "rolled-back"]


@dataclass(frozen=True, slots=True)
class UpgradeOutcome:
    """The outcome of the last upgrade.

    Arguments:
        id: the id of its request.
        previous: the arguments of `flow run` of the previous version; () when no return to it is possible.
        result: `works`; `untried` when queries have not tried their state in time, mostly for lack of records; `unwell`
            when queries are not up;
            `failed`, or `rolled-back` after a return to the previous version; "" while the new version is on trial.
        about: the queries that the result is about.
        cause: why the new version failed.
        kept: why the run did not return to the previous version.
    """

    id: str
    previous: tuple[str, ...] = ()
    result: Result = ""
    about: tuple[str, ...] = ()
    cause: str = ""
    kept: str = ""


def write_outcome(state: StateDirectory, outcome: UpgradeOutcome) -> None:
    """Write the outcome of an upgrade for the command that requested it; an error, such as a full disk, is ignored."""
    try:
        write_atomically(state.upgrade_file, json.dumps(asdict(outcome)) + "\n", private=True)
    except OSError:
        return


def read_outcome(state: StateDirectory) -> UpgradeOutcome | None:
    """Return the outcome of the last upgrade; None without one, when this user cannot read it, or another wrote it."""
    try:
        outcome = UpgradeOutcome(**json.loads(read_own(state.upgrade_file)))
    except (OSError, ValueError, TypeError, NotTrustedError):
        return None
    return replace(outcome, previous=tuple(outcome.previous), about=tuple(outcome.about))


def stateful_queries(state: StateDirectory) -> frozenset[UnitId]:
    """Return the queries with a checkpoint that keep state."""
    checkpoints = state.checkpoints.glob("*/*")
    return frozenset(UnitId(path.parent.name, path.name) for path in checkpoints if operators(path))


def has_records(query: UnitStatus) -> bool:
    """Return whether a query has records to read, or is in a batch."""
    return query.running is not None or any(query.backlog.values())


class Trial:
    """The trial of a version.

    Arguments:
        state: the application's state directory.
        outcome: the outcome of the upgrade so far; without an id, or with a result, there is no trial.
        check: returns why a version with these arguments cannot take over, empty when it can.
        timer: a monotonic clock, in seconds.
    """

    def __init__(
        self,
        state: StateDirectory,
        outcome: UpgradeOutcome,
        check: Callable[[tuple[str, ...]], str],
        timer: Callable[[], float],
    ) -> None:
        self._state = state
        self._outcome = outcome
        self._check = check
        self._timer = timer
        self._until = timer() + START_PATIENCE
        self._up = False
        self._stateful = stateful_queries(state)
        self._queries = {UnitId(path.parent.name, path.name) for path in state.checkpoints.glob("*/*")}
        self._over = not outcome.id or bool(outcome.result)

    def look(self, units: Mapping[UnitId, UnitStatus]) -> tuple[str, ...]:
        """Check the units of the version; return the arguments of the version to return to, () to keep this one."""
        if self._over or not units:
            return ()
        if not self._up and any(units[unit].state in _UP for unit in self._on_spark(units)):
            self._up, self._until = True, self._timer() + PATIENCE
        failed = {unit: status for unit, status in units.items() if status.state == "failed"}
        if failed:
            return self._return(failed)
        down = [unit for unit, status in units.items() if status.state not in (*_UP, "paused") and not status.awaits]
        untried = [
            unit for unit, status in units.items()
            if unit in self._stateful and status.batch is None and status.state != "paused"
        ]  # fmt: skip
        if not down and not untried:
            self._end("works")
        elif all(status.state == "completed" for status in units.values()):  # a finite pipeline without new records
            self._end("untried", untried)
        elif self._timer() >= self._until + (_MORE if any(has_records(units[unit]) for unit in untried) else 0.0):
            self._end("unwell" if down else "untried", down or untried)
        return ()

    def _on_spark(self, units: Iterable[UnitId]) -> list[UnitId]:
        """Return the units that have had a checkpoint; all if there is none. Spouts are up long before Spark is."""
        streamlets = {query.streamlet for query in self._queries}
        every = list(units)
        known = [unit for unit in every if unit in self._queries or (not unit.part and unit.streamlet in streamlets)]
        return known or every

    def _return(self, failed: Mapping[UnitId, UnitStatus]) -> tuple[str, ...]:
        cause = next(iter(failed.values())).cause
        previous = self._outcome.previous
        refused = self._check(previous) if previous else "the previous version no longer exists"
        if refused:
            self._end("failed", failed, cause, refused)
            return ()
        self._end("rolled-back", failed, cause)
        return previous

    def _end(self, result: Result, about: Iterable[UnitId] = (), cause: str = "", kept: str = "") -> None:
        self._over = True
        names = tuple(sorted(str(unit) for unit in about))
        write_outcome(self._state, replace(self._outcome, result=result, about=names, cause=cause, kept=kept))
