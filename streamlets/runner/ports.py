"""The status of the ports of a run: what each has read or written, and how far its readers have come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from blueprint.comparison import ApplicationDescriptor
from streamlets.channels.base import Position, TopicResource
from streamlets.runner.checkpoints.checkpoint import Checkpoint
from streamlets.runner.events.port_counts import PortCounts
from streamlets.runner.events.status import RESTING, RunStatus, StreamletStatus, UnitStatus

PortState = Literal["waiting", "opened", "started", "stopped", "closed", "error", "lost"]
"""The state of a port, as users of pypz know it; `docs/ports.md` has its relation to the states of streamlets."""

Acknowledged = Mapping[tuple[str, str], Mapping[str, str]]
"""The committed positions of inlets, by streamlet and inlet, then by query."""

_STATES: dict[str, PortState] = {
    "starting": "opened",
    "running": "started",
    "draining": "started",
    "paused": "stopped",
    "stopped": "closed",
    "completed": "closed",
    "backing-off": "error",
    "failed": "error",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PortStatus:
    """An inlet or outlet in a run. Counts are sums over the queries that use it, since the run started.

    Arguments:
        streamlet: the name of the streamlet.
        port: the name of the port.
        direction: whether it is an inlet or an outlet.
        topic: the id of its topic.
        state: the state of the port, which its streamlet has.
        records: the records that it has read or written.
        batches: the batches in which it took part.
        seconds: how long these batches took together.
        rate: records per second over the last seconds; for a streamlet with several ports in proportion to its records.
        active: when the last batch with records of the port was finished, in seconds since the epoch; None without one.
        backlog: the records that an inlet has not committed; None if unknown, and for outlets.
        acknowledged: the committed position of each reader of an outlet (`streamlet.inlet`), and of each query at an
            inlet, for people.
    """

    streamlet: str
    port: str
    direction: Literal["inlet", "outlet"]
    topic: str
    state: PortState
    records: int = 0
    batches: int = 0
    seconds: float = 0.0
    rate: float = 0.0
    active: float | None = None
    backlog: int | None = None
    acknowledged: Mapping[str, str] = field(default_factory=dict)

    @property
    def seconds_per_batch(self) -> float | None:
        """The mean duration of a batch; None without one."""
        return self.seconds / self.batches if self.batches else None

    @property
    def seconds_per_record(self) -> float | None:
        """The mean time for a record; None without one."""
        return self.seconds / self.records if self.records else None

    @property
    def records_per_batch(self) -> float | None:
        """The mean size of a batch; None without one."""
        return self.records / self.batches if self.batches else None


def ports_of(
    status: RunStatus, application: ApplicationDescriptor, acknowledged: Acknowledged, now: float, *, live: bool
) -> tuple[PortStatus, ...]:
    """Return the ports of a run, producers first.

    Arguments:
        status: the status of the run.
        application: its description, which has the ports.
        acknowledged: see `acknowledged_positions`.
        now: the time of the status in seconds since the epoch.
        live: whether the run is alive.
    """
    ports: list[PortStatus] = []
    for streamlet in status.streamlets:
        described = application.streamlets.get(streamlet.ref)
        if described is None:
            continue
        state = _state(streamlet, live=live)
        for name, inlet in described.inlets.items():
            queries = acknowledged.get((streamlet.ref, name), {})
            port = _counted(streamlet, name, "inlet", inlet.topic, state, now if live else None)
            ports.append(replace(port, backlog=_backlog(streamlet, name), acknowledged=queries))
        for name, outlet in described.outlets.items():
            readers = _readers(application, outlet.topic, acknowledged)
            port = _counted(streamlet, name, "outlet", outlet.topic, state, now if live else None)
            ports.append(replace(port, acknowledged=readers))
    return tuple(ports)


def acknowledged_positions(
    application: ApplicationDescriptor, checkpoints: Iterable[Checkpoint], topics: Iterable[TopicResource]
) -> Acknowledged:
    """Return the positions that queries have committed.

    Arguments:
        application: its description.
        checkpoints: the checkpoints of its queries.
        topics: its topics; positions in others are omitted.
    """
    topics = tuple(topics)
    positions: dict[tuple[str, str], dict[str, str]] = {}
    for checkpoint in checkpoints:
        described = application.streamlets.get(checkpoint.streamlet)
        if described is None or checkpoint.committed is None:
            continue
        left = {name: inlet.topic for name, inlet in described.inlets.items()}
        for source, stored in checkpoint.committed.positions.items():
            position = Position(stored)
            topic = next((topic for topic in topics if topic.owns(position)), None)
            names = {topic.plan.id, topic.plan.name} if topic is not None else set()
            fitting = [name for name, id in left.items() if id in names or application.topics[id].name in names]
            inlet = next((name for name in fitting if name.replace("-", "_") == source), next(iter(fitting), None))
            if topic is not None and inlet is not None:
                del left[inlet]
                positions.setdefault((checkpoint.streamlet, inlet), {})[checkpoint.query] = topic.shown(position)
    return positions


def _readers(application: ApplicationDescriptor, topic: str, acknowledged: Acknowledged) -> dict[str, str]:
    """Return the committed positions of the readers of a topic; a reader with several queries has several."""
    positions: dict[str, str] = {}
    for streamlet, inlet in application.inlets_of(topic):
        queries = acknowledged.get((streamlet, inlet), {})
        for query, position in queries.items():
            positions[f"{streamlet}.{inlet}" + (f" of {query}" if len(queries) > 1 else "")] = position
    return positions


def _counted(
    streamlet: StreamletStatus,
    name: str,
    direction: Literal["inlet", "outlet"],
    topic: str,
    state: PortState,
    now: float | None,
) -> PortStatus:
    """Return a port with the sums of its counts; its rate is 0 without a time, as in a run that has ended."""
    users = [(unit, unit.ports[name]) for unit in streamlet.units if name in unit.ports]
    return PortStatus(
        streamlet=streamlet.ref,
        port=name,
        direction=direction,
        topic=topic,
        state=state,
        records=sum(counts.records for _, counts in users),
        batches=sum(counts.batches for _, counts in users),
        seconds=sum(counts.seconds for _, counts in users),
        rate=0.0 if now is None else sum(_rate(unit, counts, now) for unit, counts in users),
        active=max((counts.active for _, counts in users if counts.active is not None), default=None),
    )


def _backlog(streamlet: StreamletStatus, inlet: str) -> int | None:
    backlogs = [unit.backlog[inlet] for unit in streamlet.units if inlet in unit.backlog]
    return sum(backlogs) if backlogs else None


def _rate(unit: UnitStatus, counts: PortCounts, now: float) -> float:
    """Return the records per second at a port: the share of its records in the rate of the unit."""
    rows = unit.rows_in or sum(unit.rows_out.values())
    return unit.rate(now) * counts.records / rows if rows and unit.state not in RESTING else 0.0


def _state(streamlet: StreamletStatus, *, live: bool) -> PortState:
    if not live and streamlet.state not in RESTING:
        return "lost"
    if streamlet.state == "starting" and streamlet.waiting:
        return "waiting"
    return _STATES[streamlet.state]
