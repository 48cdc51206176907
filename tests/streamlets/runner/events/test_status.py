"""The status of a run: a pure fold of events."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from streamlets.runner.events.event import Event, fold
from streamlets.runner.events.record_events import RowsInState
from streamlets.runner.events.run_events import RunEnded, RunStarted, RunStopping, SparkStarting, SparkUp
from streamlets.runner.events.status import RunStatus, State, UnitId
from streamlets.runner.events.status_json import to_json
from streamlets.runner.events.unit_events import UnitChanged, UnitMeasured, UnitProgressed, UnitSplit

A, AX, AY, B = UnitId("a", ""), UnitId("a", "x"), UnitId("a", "y"), UnitId("b", "out")


def _folded(*events: Event) -> RunStatus:
    status = RunStatus()
    for event in events:
        status = fold(status, event)
    return status


def test_rows_are_summed_over_batches() -> None:
    """So are dead letters and late rows; backlog, rows in state and batch are those of the last batch."""
    status = _folded(
        RunStarted(0.0, "app", ("a",)),
        UnitChanged(1.0, AX, "running"),
        UnitProgressed(
            2.0,
            AX,
            0,
            10,
            {"x": 9},
            dead_letters=1,
            late=2,
            backlog={"in": 90},
            pending_rows=5,
            seconds=0.5,
            watermark="2020-01-01T00:00:00.000Z",
        ),
        UnitProgressed(3.0, AX, 1, 30, {"x": 30}, late=1, backlog={"in": 60}, pending_rows=7, seconds=0.5),
    )
    (streamlet,) = status.streamlets
    assert (streamlet.rows_in, streamlet.rows_out, streamlet.dead_letters, streamlet.late) == (40, {"x": 39}, 1, 3)
    assert (streamlet.backlog, streamlet.pending_rows, streamlet.units[0].batch) == (60, 7, 1)
    assert streamlet.units[0].watermark == "2020-01-01T00:00:00.000Z"
    assert streamlet.rate(3.0) == 40 / 1.5


def test_batches_and_their_phases_are_summed() -> None:
    """The last batch stays beside the sums; work without batches is counted as transactions."""
    status = _folded(
        RunStarted(0.0, "app", ("a",)),
        UnitChanged(1.0, AX, "running"),
        UnitProgressed(2.0, AX, 0, 10, phases={"executing": 1.0, "other": 0.1}, state_seconds=0.3, state_bytes=900),
        UnitProgressed(3.0, AX, 1, 0, phases={"executing": 0.5, "planning": 0.2}, state_seconds=0.1, state_bytes=800),
        UnitChanged(1.0, AY, "running"),
        UnitProgressed(4.0, AY, None, 0, {"out": 3}),
    )
    unit, spout = status.units[AX], status.units[AY]
    assert (unit.batches, unit.transactions, spout.batches, spout.transactions) == (2, 0, 0, 1)
    assert unit.phases == {"executing": 0.5, "planning": 0.2}
    assert unit.phase_seconds == {"executing": 1.5, "other": 0.1, "planning": 0.2}
    assert (unit.state_seconds, unit.state_bytes) == (0.4, 800)
    assert (unit.last_record, spout.last_record) == (2.0, 4.0), "the second batch had no records"


def test_the_delay_of_a_watermark() -> None:
    """It grows while the watermark stands still; there is none without a watermark, or with one that is not a time."""
    progress = UnitProgressed(2.0, AX, 0, 1, watermark="1970-01-01T00:01:00.000Z")
    unit = _folded(RunStarted(0.0, "app", ("a",)), UnitChanged(1.0, AX, "running"), progress).units[AX]
    assert (unit.watermark_delay(70.0), unit.watermark_delay(100.0)) == (10.0, 40.0)
    assert unit.watermark_delay(50.0) == 0.0, "event times of the future are not a delay"
    assert replace(unit, watermark=None).watermark_delay(70.0) is None
    assert replace(unit, watermark="soon").watermark_delay(70.0) is None


def test_the_age_of_the_backlog() -> None:
    """It is known if the age of each unread record is; without unread records it is 0."""
    status = _folded(RunStarted(0.0, "app", ("a",)), UnitChanged(1.0, AX, "running"))
    assert status.units[AX].backlog_age(60.0) is None
    status = fold(status, UnitMeasured(50.0, AX, {"in": 3, "by": 1}, oldest={"in": 40.0, "by": 30.0}))
    assert status.units[AX].backlog_age(60.0) == 30.0
    status = fold(status, UnitProgressed(61.0, AX, 0, 1, backlog={"in": 3}))
    assert status.units[AX].backlog_age(62.0) == 22.0
    status = fold(status, UnitMeasured(63.0, AX, {"in": 0, "by": 0}))
    assert status.units[AX].backlog_age(64.0) == 0.0
    assert fold(status, UnitMeasured(65.0, AX, {"in": 2})).units[AX].backlog_age(66.0) is None


def test_a_clock_that_is_set_back_does_not_raise_the_rate() -> None:
    """Rows of before, whose times are now in the future, are not counted as rows of the last second."""
    events = (RunStarted(0.0, "app", ("a",)), UnitChanged(1.0, AX, "running"), UnitProgressed(7200.0, AX, 0, 50_000))
    status = _folded(*events)
    assert status.units[AX].rate(3600.0) == 0.0
    assert fold(status, UnitProgressed(3601.0, AX, 1, 10, seconds=1.0)).units[AX].recent == ((3601.0, 10),)


def test_queries_replace_the_unit_of_their_streamlet() -> None:
    """Once the queries are known, the unit of the whole streamlet is removed from the status; other units stay."""
    status = _folded(
        RunStarted(0, "app", ("a",)),
        UnitChanged(1, A, "starting"),
        UnitChanged(1, AY, "running"),
        UnitSplit(2, A, ("x",)),
        UnitChanged(2, AX, "starting"),
    )
    assert list(status.units) == [AY, AX]


def test_a_streamlet_has_the_state_of_its_worst_query() -> None:
    """One failed query of two makes the streamlet failed, and the run degraded while the other goes on."""
    status = _folded(
        RunStarted(0, "app", ("a", "b")),
        UnitChanged(1, AX, "running"),
        UnitChanged(2, AY, "failed", "it broke"),
    )
    first, second = status.streamlets
    assert (first.state, first.cause, second.state) == ("failed", "it broke", "starting")
    assert status.health == "degraded"


def test_restarts_are_counted_over_the_whole_run() -> None:
    """Each start after a back-off counts, whatever the count of the event is."""
    events: list[Event] = [RunStarted(0, "app", ("b",)), UnitChanged(0, B, "starting")]
    for time in (1, 2, 3):
        events += [UnitChanged(time, B, "backing-off", "x", retry_in=1.0), UnitChanged(time, B, "starting")]
    status = _folded(*events)
    assert status.units[B].restarts == 3
    assert status.units[B].retry_at is None


def test_the_status_shows_pauses_and_how_the_run_is_stopped() -> None:
    """A unit is paused until its next state; a drain or a stop at once is the health of the run."""
    events: list[Event] = [RunStarted(0, "app", ("b",)), UnitChanged(1, B, "paused", "paused by ann")]
    assert _folded(*events).streamlets[0].state == "paused"
    events += [UnitChanged(2, B, "starting", "resumed"), RunStopping(3, "SIGTERM", within=60.0)]
    status = _folded(*events)
    assert (status.streamlets[0].state, status.health) == ("starting", "draining")
    assert _folded(*events, RunStopping(4, "SIGTERM again", at_once=True)).health == "stopping"
    assert events[-1].line == "draining, within 60 s: SIGTERM"


def test_every_event_moves_the_heartbeat() -> None:
    """The sequence number grows with each event, even of an unknown unit."""
    status = _folded(RunStarted(0, "app", ()), UnitProgressed(1, B, 0, 1), RunEnded(2, 1, "why"))
    assert (status.sequence, status.health, status.exit_code) == (3, "ended", 1)


def test_the_status_is_json() -> None:
    """The format of the status file is versioned and survives JSON."""
    status = _folded(RunStarted(0, "app", ("b",)), UnitChanged(1, B, "running"), UnitProgressed(2, B, 4, 7, {"out": 7}))
    data = json.loads(json.dumps(to_json(status, 20.0)))
    assert (data["version"], data["written"]) == (1, 20.0)
    assert data["streamlets"][0]["units"][0]["rate"] == 0.0, "the rows are older than the window of rates"
    assert data["streamlets"][0]["units"][0]["rows_out"] == {"out": 7}


def test_lines_and_json_of_events() -> None:
    """An event is a readable line, or a line of JSON with its kind and unit."""
    event = UnitChanged(1.0, B, "backing-off", "sink down", retry_in=2.0)
    assert event.line == "b.out: backing-off, restart in 2.0 s: sink down"
    data = event.data()
    assert (data["event"], data["streamlet"], data["query"]) == ("unit-changed", "b", "out")
    batch = UnitProgressed(1.0, B, 3, 10, {"out": 9}, dead_letters=1, backlog={"in": 5}, pending_rows=2, seconds=0.25)
    assert batch.line == "b.out: batch 3, 10 in, 9 to out, 1 dead letter, 2 pending in state, 0.2 s, backlog 5"
    held = RowsInState(1.0, B, "aggregation", 33, "windows open")
    assert held.line == "b.out: 33 rows remain in state: aggregation (windows open)"
    assert RowsInState(1.0, B, "join (left side)", 1).line == "b.out: 1 row remains in state: join (left side)"


def _health(*states: State) -> str:
    events = [UnitChanged(1.0, UnitId(f"s{n}", ""), state) for n, state in enumerate(states)]
    return _folded(RunStarted(0.0, "app", tuple(f"s{n}" for n in range(len(states)))), *events).health


def test_the_health_of_a_run_follows_from_the_states() -> None:
    """A run is `running` only while a query is running, or once all are over."""
    assert _folded(RunStarted(0.0, "app", ("a",))).health == "starting"
    assert _health("starting", "running") == "running"
    assert _health("completed", "starting") == "starting"
    assert _health("backing-off", "backing-off") == "backing-off"
    assert _health("backing-off", "failed") == "degraded"
    assert _health("completed", "completed") == "running"
    half = (UnitChanged(1.0, AX, "running"), UnitChanged(1.0, AY, "starting"))
    assert _folded(RunStarted(0.0, "app", ("a",)), *half).health == "starting"  # as its only streamlet is shown
    paused = UnitChanged(1.0, UnitId("a", ""), "paused", "paused by me")
    assert _folded(RunStarted(0.0, "app", ("a",)), paused).health == "paused"


def test_a_starting_streamlet_waits_for_spark_and_then_for_its_producers() -> None:
    """It waits for nothing while it is built."""
    status = _folded(RunStarted(0.0, "app", ("a", "b")), SparkStarting(1.0, ("a", "b")))
    assert [streamlet.waiting for streamlet in status.streamlets] == ["starting Spark", "starting Spark"]
    status = fold(status, UnitChanged(2.0, UnitId("b", ""), "starting", waiting="waiting for a"))
    status = fold(status, SparkUp(3.0, ("a", "b")))
    assert [streamlet.waiting for streamlet in status.streamlets] == ["", "waiting for a"]
    status = fold(status, UnitChanged(4.0, UnitId("b", ""), "starting"))
    assert [streamlet.waiting for streamlet in status.streamlets] == ["", ""]


@pytest.mark.parametrize("state", ["completed", "stopped", "failed", "backing-off"])
def test_a_unit_that_is_not_running_has_no_rate(state: State) -> None:
    """The rows of its last seconds do not count any more."""
    unit = UnitId("a", "x")
    batch = UnitProgressed(9.0, unit, 0, 1000)
    status = _folded(RunStarted(0.0, "app", ("a",)), UnitChanged(1.0, unit, "running"), batch)
    assert status.streamlets[0].rate(10.0) > 0
    assert fold(status, UnitChanged(10.0, unit, state)).streamlets[0].rate(10.0) == 0
