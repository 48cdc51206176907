"""The metrics of a run. The documentation, the dashboard and the alerts are checked against this table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import get_args

from streamlets.metrics.family import UNIT, Family, Histogram, Scene, Value, by_name, of_streamlets, of_units
from streamlets.runner.events.durations import BOUNDS
from streamlets.runner.events.executors import Executors
from streamlets.runner.events.health import HEALTHS
from streamlets.runner.events.phases import PHASES
from streamlets.runner.events.status import State, UnitStatus
from streamlets.runner.events.watermark import watermark_time

_RUN_HEALTHS = ("running", "starting", "backing-off", "paused", "degraded", "draining", "stopping", "ended")


def _run(scene: Scene) -> Iterator[Value]:
    for health in _RUN_HEALTHS:
        yield (scene.status.application, health), scene.status.health == health


def _states(scene: Scene) -> Iterator[Value]:
    for streamlet in scene.status.streamlets:
        for state in get_args(State):
            yield (streamlet.ref, state), streamlet.state == state


def _healths(scene: Scene) -> Iterator[Value]:
    for streamlet in scene.health:
        for health in HEALTHS[:-1]:  # a run that is lost answers no scrape
            yield (streamlet.ref, health), streamlet.health == health


def _records_in(unit: UnitStatus, _: float) -> dict[str, float]:
    inlets = {port: float(counts.records) for port, counts in unit.ports.items() if port not in unit.rows_out}
    others = unit.rows_in - sum(inlets.values())
    return inlets | ({"": others} if others > 0 else {})


def _backlog_age(unit: UnitStatus, now: float) -> dict[str, float]:
    ages = {inlet: max(0.0, now - time) for inlet, time in unit.oldest_unread.items() if unit.backlog.get(inlet)}
    return ages | {inlet: 0.0 for inlet, records in unit.backlog.items() if not records}


def _executors(scene: Scene, value: Callable[[Executors], float]) -> Iterator[Value]:
    for executors in scene.status.executors:
        yield (executors.streamlets[0],), value(executors)


def _phases(unit: UnitStatus, _: float) -> dict[str, float]:
    return {phase.name: unit.phase_seconds.get(phase.name, 0.0) for phase in PHASES} if unit.batches else {}


def _durations(scene: Scene) -> Iterator[tuple[tuple[str, ...], Histogram]]:
    names = (*map(str, BOUNDS), "+Inf")
    for unit in scene.status.units.values():
        if unit.durations:
            buckets = tuple(zip(names, accumulate(unit.durations), strict=True))
            yield (unit.unit.streamlet, unit.unit.part), Histogram(buckets, sum(unit.phase_seconds.values()))


FAMILIES = (
    Family(
        name="streamlets_run_health", kind="gauge", labels=("application", "health"), values=_run,
        help="1 for the current health of the run, 0 for the others.",
    ),
    Family(
        name="streamlets_run_start_timestamp_seconds", kind="gauge", labels=(),
        values=lambda scene: [((), scene.status.started)], help="When the run started.",
    ),
    Family(
        name="streamlets_run_events_total", kind="counter", labels=(),
        values=lambda scene: [((), scene.status.sequence)], help="The events of the run.",
    ),
    Family(
        name="streamlets_streamlet_state", kind="gauge", labels=("streamlet", "state"), values=_states,
        help="1 for the current state of the streamlet, 0 for the others.",
    ),
    Family(
        name="streamlets_streamlet_health", kind="gauge", labels=("streamlet", "health"), values=_healths,
        help="1 for the current health of the streamlet, as `flow health` reports it, 0 for the others.",
    ),
    Family(
        name="streamlets_restarts_total", kind="counter", labels=UNIT,
        values=of_units(lambda unit, _: unit.restarts), help="Restarts after failures.",
    ),
    Family(
        name="streamlets_next_retry_timestamp_seconds", kind="gauge", labels=UNIT,
        values=of_units(lambda unit, _: unit.retry_at), help="When the next restart is due, while it is waited for.",
    ),
    Family(
        name="streamlets_records_in_total", kind="counter", labels=(*UNIT, "port"), values=by_name(_records_in),
        help="Records read, by inlet; the port is empty for other sources.",
    ),
    Family(
        name="streamlets_records_out_total", kind="counter", labels=(*UNIT, "port"),
        values=by_name(lambda unit, _: unit.rows_out),
        help="Records written, by outlet; the port is `sink` for a sink, and `tasks` for discovered tasks.",
    ),
    Family(
        name="streamlets_dead_letters_total", kind="counter", labels=UNIT,
        values=of_units(lambda unit, _: unit.dead_letters), help="Records that broke a contract.",
    ),
    Family(
        name="streamlets_late_records_total", kind="counter", labels=UNIT,
        values=of_units(lambda unit, _: unit.late), help="Records dropped by a watermark, at least.",
    ),
    Family(
        name="streamlets_last_record_timestamp_seconds", kind="gauge", labels=UNIT,
        values=of_units(lambda unit, _: unit.last_record), help="When the last batch with records was finished.",
    ),
    Family(
        name="streamlets_backlog_records", kind="gauge", labels=(*UNIT, "port"),
        values=by_name(lambda unit, _: unit.backlog), help="Records of the inlet that are not committed.",
    ),
    Family(
        name="streamlets_backlog_seconds", kind="gauge", labels=(*UNIT, "port"), values=by_name(_backlog_age),
        help="Age of the oldest record of the inlet that is not committed, where the channel knows it.",
    ),
    Family(
        name="streamlets_busy_ratio", kind="gauge", labels=UNIT, values=of_units(UnitStatus.busy),
        help="Share of the last minute in batches, from 0 to 1.",
    ),
    Family(
        name="streamlets_batches_total", kind="counter", labels=UNIT,
        values=of_units(lambda unit, _: unit.batches or None), help="Finished batches.",
    ),
    Family(
        name="streamlets_batch_duration_seconds", kind="histogram", labels=UNIT, histograms=_durations,
        help="Duration of finished batches.",
    ),
    Family(
        name="streamlets_batch_phase_seconds_total", kind="counter", labels=(*UNIT, "phase"), values=by_name(_phases),
        help="Seconds in finished batches, by phase; the phases add up to the duration of the batches.",
    ),
    Family(
        name="streamlets_last_batch_seconds", kind="gauge", labels=UNIT,
        values=of_units(lambda unit, _: unit.seconds if unit.batches else None), help="Duration of the last batch.",
    ),
    Family(
        name="streamlets_running_batch_seconds", kind="gauge", labels=UNIT,
        values=of_units(lambda unit, now: max(0.0, now - unit.running.since) if unit.running else None),
        help="Age of the running batch, looked at every few seconds; only while one runs.",
    ),
    Family(
        name="streamlets_state_rows", kind="gauge", labels=UNIT,
        values=of_units(lambda unit, _: unit.state_rows if unit.batches else None),
        help="Rows in state after the last batch.",
    ),
    Family(
        name="streamlets_state_memory_bytes", kind="gauge", labels=UNIT,
        values=of_units(lambda unit, _: unit.state_bytes if unit.batches else None),
        help="Memory of the state after the last batch.",
    ),
    Family(
        name="streamlets_state_task_seconds_total", kind="counter", labels=UNIT,
        values=of_units(lambda unit, _: unit.state_seconds if unit.batches else None),
        help="Seconds that tasks have spent in state, summed over all tasks.",
    ),
    Family(
        name="streamlets_watermark_timestamp_seconds", kind="gauge", labels=UNIT,
        values=of_units(lambda unit, _: watermark_time(unit.watermark) if unit.watermark else None),
        help="The watermark of the last batch.",
    ),
    Family(
        name="streamlets_watermark_delay_seconds", kind="gauge", labels=UNIT,
        values=of_units(UnitStatus.watermark_delay), help="How far the watermark is behind the current time.",
    ),
    Family(
        name="streamlets_transactions_total", kind="counter", labels=UNIT,
        values=of_units(lambda unit, _: unit.transactions or None),
        help="Committed transactions of a spout, or discoveries of a batch source that found tasks.",
    ),
    Family(
        name="streamlets_tasks_failed", kind="gauge", labels=("streamlet",),
        values=of_streamlets(lambda streamlet: streamlet.tasks.failed if streamlet.tasks else None),
        help="Tasks of a batch source that failed for good and were not repeated.",
    ),
    Family(
        name="streamlets_oldest_task_timestamp_seconds", kind="gauge", labels=("streamlet",),
        values=of_streamlets(lambda streamlet: streamlet.tasks.oldest if streamlet.tasks else None),
        help="When the oldest waiting task of a batch source was discovered; only while one waits.",
    ),
    Family(
        name="streamlets_executors", kind="gauge", labels=("streamlet",),
        values=lambda scene: _executors(scene, lambda executors: executors.number),
        help="Executors of a driver on a cluster; the streamlet is the first of the driver.",
    ),
    Family(
        name="streamlets_executors_lost", kind="gauge", labels=("streamlet",),
        values=lambda scene: _executors(scene, lambda executors: executors.lost),
        help="Executors that the driver has lost since its Spark was started.",
    ),
    Family(
        name="streamlets_topic_size_bytes", kind="gauge", labels=("topic",),
        values=lambda scene: [((topic,), size) for topic, size in scene.topic_bytes.items()],
        help="Size of the topic, computed once a minute at most.",
    ),
)  # fmt: skip
"""The metrics, in the order of the documentation."""


def table() -> str:
    """Return the metrics as a table in Markdown, which the documentation has."""
    rows = [
        f"| `{family.name}` | {family.kind} | {', '.join(f'`{label}`' for label in family.labels)} | {family.help} |"
        for family in FAMILIES
    ]
    return "\n".join(["| metric | type | labels | meaning |", "| --- | --- | --- | --- |", *rows])
