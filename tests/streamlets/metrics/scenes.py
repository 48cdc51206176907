"""Statuses of runs, for the tests of metrics."""

from __future__ import annotations

from streamlets.runner.events.cluster_events import ExecutorsAdded
from streamlets.runner.events.event import Event, fold
from streamlets.runner.events.run_events import RunStarted
from streamlets.runner.events.status import OpenTasks, RunStatus, UnitId
from streamlets.runner.events.unit_events import BatchStuck, UnitChanged, UnitMeasured, UnitProgressed

NOW = 1000.0


def status_of(*events: Event) -> RunStatus:
    """Return the status after events."""
    status = RunStatus()
    for event in events:
        status = fold(status, event)
    return status


def full_status(streamlets: int = 1) -> RunStatus:
    """Return a status in which each metric has a value: a spout, a batch source, and queries with all there is.

    Arguments:
        streamlets: the number of streamlets with a query.
    """
    names = tuple(f"mean{number}" for number in range(streamlets))
    spout, source = UnitId("spout"), UnitId("source")
    events: list[Event] = [
        RunStarted(100.0, "plant", ("spout", "source", *names)),
        ExecutorsAdded(105.0, names, ("0 on host:1",), 1, 2),
        UnitChanged(110.0, spout, "running"),
        UnitProgressed(950.0, spout, None, 0, {"out": 50}),
        UnitChanged(110.0, source, "running"),
        UnitProgressed(950.0, source, None, 0, {"tasks": 4}),
        UnitMeasured(951.0, source, {"tasks": 2}, tasks=OpenTasks(oldest=940.0, failed=1)),
    ]
    for name in names:
        unit = UnitId(name, "out")
        events += [
            UnitChanged(120.0, unit, "backing-off", "it broke", retry_in=5.0),
            UnitChanged(130.0, unit, "starting"),
            UnitChanged(140.0, unit, "running"),
            UnitProgressed(
                970.0, unit, 7, 30, {"out": 20}, inlets={"in": 25}, dead_letters=3, late=2, backlog={"in": 40},
                pending_rows=4, seconds=6.0, watermark="1970-01-01T00:15:00.000Z", state_rows=11, state_bytes=4096,
                state_seconds=0.5, phases={"executing": 5.0, "other": 1.0},
            ),
            UnitMeasured(980.0, unit, {"in": 40}, (8, 985.0), oldest={"in": 960.0}),
        ]  # fmt: skip
    return status_of(*events)


def waiting_status() -> RunStatus:
    """Return a status in which a streamlet waits for its restart, and another one is stuck."""
    wait, stuck = UnitId("wait", "out"), UnitId("stuck", "out")
    return status_of(
        RunStarted(100.0, "plant", ("wait", "stuck")),
        UnitChanged(110.0, wait, "running"),
        UnitChanged(990.0, wait, "backing-off", "it broke", retry_in=20.0),
        UnitChanged(110.0, stuck, "running"),
        UnitMeasured(120.0, stuck, {}, (0, 120.0)),
        BatchStuck(time=900.0, unit=stuck, batch=0, since=120.0, seconds=780.0, frames=("app.py:3 in load",)),
    )
