"""`Host`: what runs units of a run, such as a Spark with its streamlets; and the hosts of a run together."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Protocol

from blueprint.plan import ApplicationPlan
from blueprint.settings.secrets import Secrets
from streamlets.runner.events.record_events import RowsInState
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.unit_events import UnitWarned
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.runner.supervision.facts import Fact, Unit

Log = Callable[[UnitId, str], None]
"""Takes the full text of a failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostContext:
    """The dependencies of a host; the callbacks may be called from any thread.

    Arguments:
        plan: the application with the streamlets of this host; its topics exist.
        state: the application's state directory.
        master: Spark's master; None for this machine.
        bounded: whether all units process all available data and end.
        resting: the streamlets that are not started yet.
        report: takes the units' facts.
        log: takes the full text of each failure.
        print_line: takes each line for the terminal.
        secrets: the secrets of the application, which no file and no output shows; secrets that hosts read are added.
    """

    plan: ApplicationPlan
    state: StateDirectory
    master: str | None = None
    bounded: bool = False
    resting: Container[str] = ()
    report: Callable[[Fact], None]
    log: Log
    print_line: Callable[[str], None] = print
    secrets: Secrets = field(default_factory=Secrets)

    @property
    def refs(self) -> tuple[str, ...]:
        """The names of its streamlets, producers first."""
        return tuple(streamlet.ref for streamlet in self.plan.streamlets)


class Host(Protocol):
    """Runs units of a run."""

    @property
    def units(self) -> Sequence[Unit]:
        """The units before any of them is started. A streamlet has one of each host that it needs."""

    def rows_in_state(self, rows: Mapping[UnitId, int | None]) -> Iterable[RowsInState | UnitWarned]:
        """Return the rows that remain in the state of units when a bounded run has ended, and other warnings.

        Arguments:
            rows: for each unit of the run, of this host or not, the number of rows in state after its last batch; None
                if unknown.
        """

    def stop(self) -> None:
        """Stop, for good, and wait for the end. All units have ended, or did not within the limits."""


class Hosts:
    """Several hosts as one.

    Arguments:
        hosts: the hosts; they are stopped in the reverse order.
        order: the names of their streamlets, producers first.
    """

    def __init__(self, hosts: Sequence[Host], order: Sequence[str]) -> None:
        self._hosts = hosts
        places = {ref: place for place, ref in enumerate(order)}
        units = chain.from_iterable(host.units for host in hosts)
        self.units: tuple[Unit, ...] = tuple(sorted(units, key=lambda unit: places[unit.id.streamlet]))

    def rows_in_state(self, rows: Mapping[UnitId, int | None]) -> Iterable[RowsInState | UnitWarned]:
        """Return the rows that remain in the state of units, see `Host.rows_in_state`."""
        return chain.from_iterable(host.rows_in_state(rows) for host in self._hosts)

    def stop(self) -> None:
        """Stop all hosts, and wait for their end."""
        for host in reversed(self._hosts):
            host.stop()
