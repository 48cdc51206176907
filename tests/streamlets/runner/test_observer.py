"""Backlog and batch age of queries, measured from outside whatever their state."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from blueprint.core_settings import InletSettings, OnStuck, StreamletSettings
from blueprint.plan import ApplicationPlan, InletPlan, StreamletPlan
from streamlets.channels.delta.topic import DeltaTopic
from streamlets.runner.events.event import Event, fold
from streamlets.runner.events.run_events import RunStarted
from streamlets.runner.events.status import RunningBatch, RunStatus, State, UnitId, UnitStatus
from streamlets.runner.events.status_json import to_json
from streamlets.runner.events.unit_events import BatchStuck, UnitChanged, UnitMeasured, UnitOverdue, UnitProgressed
from streamlets.runner.observer import Observer, observing
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.runner.supervision.facts import Fact, Overlong, Seen
from tests.streamlets.channels.topics import READING, add, made, topic_plan
from tests.streamlets.runner.checkpoints.test_checkpoint import position, written

OUT = UnitId("mean", "out")


@dataclass
class Run:
    """The run of a streamlet `mean` on the topic `readings`, which has three commits of ten records."""

    state: StateDirectory
    topic: DeltaTopic
    starting: Any = "earliest"
    status: RunStatus = field(default_factory=RunStatus)
    now: float = 2000.0
    settings: StreamletSettings = field(default_factory=StreamletSettings)

    def __post_init__(self) -> None:
        for number in range(3):
            add(self.topic, number, range(number * 10, number * 10 + 10))
        self.fold(RunStarted(1000.0, "plant", ("mean",)))
        inlet = InletPlan("mean", "in", "rows", READING, "readings", InletSettings(starting=self.starting))
        mean = StreamletPlan(
            ref="mean",
            class_name="plant.Mean",
            descriptor=cast(Any, None),
            inlets=(inlet,),
            settings=self.settings,
        )
        plan = ApplicationPlan(
            name="plant",
            blueprint="blueprint.conf",
            directory=".",
            streamlets=(mean,),
            topics=(topic_plan("readings"),),
        )
        self.facts: list[Fact] = []
        self.observer = Observer(
            plan, self.state, lambda: self.status, self.facts.append, lambda: self.now, lambda: self.now
        )

    def fold(self, event: Event) -> None:
        """Add an event to the status."""
        self.status = fold(self.status, event)

    def is_in(self, state: State, unit: UnitId = OUT, time: float = 1000.0) -> None:
        """Put a unit into a state."""
        self.fold(UnitChanged(time, unit, state))

    def look(self, unit: UnitId = OUT) -> UnitStatus:
        """Measure, and return the status of a unit."""
        self.facts.clear()
        self.observer.look()
        for fact in self.facts:
            if isinstance(fact, Seen):
                self.fold(fact.event)
        return self.status.units[unit]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run on a state directory with nothing but the topic."""
    state = StateDirectory(tmp_path, "plant")
    return Run(state, made(state.topics))


@pytest.mark.parametrize("state", ["starting", "running", "backing-off", "stopped", "failed"])
def test_the_backlog_grows_with_the_topic_in_every_state(run: Run, state: State) -> None:
    """New records are also counted for a query that hangs, waits, is paused or has failed."""
    written(run.state.checkpoints, "mean.out", {0: {"in": position(run.topic, 2)}}, 0)
    run.is_in(state)
    assert run.look().backlog == {"in": 20}
    add(run.topic, 3, range(1000))
    assert run.look().backlog == {"in": 1020}
    run.look()
    assert run.facts == []  # nothing has changed


def test_a_backlog_that_a_unit_reports_itself_stays(run: Run) -> None:
    """Only the backlog of inlets is measured, and a measurement without a change is not reported."""
    written(run.state.checkpoints, "mean.out", {0: {"in": position(run.topic, 2)}}, 0)
    run.is_in("running")
    run.fold(UnitProgressed(1001.0, OUT, 0, 10, backlog={"tasks": 7}))
    assert run.look().backlog == {"tasks": 7, "in": 20}
    run.look()
    assert run.facts == []


def test_the_oldest_unread_record_is_known(run: Run) -> None:
    """It is the first one after the committed position, and is reported only with a change."""
    add(run.topic, 3, range(1000))
    written(run.state.checkpoints, "mean.out", {0: {"in": position(run.topic, 2)}}, 0)
    run.is_in("running")
    oldest = run.look().oldest_unread["in"]
    assert run.look().oldest_unread["in"] == oldest
    assert run.facts == []
    shutil.rmtree(run.state.checkpoints)
    written(run.state.checkpoints, "mean.out", {1: {"in": position(run.topic, 5)}}, 1)
    assert (run.look().backlog, run.look().oldest_unread) == ({"in": 0}, {})


def test_the_backlog_without_a_checkpoint_is_the_whole_topic(run: Run) -> None:
    """These are the records that the inlet will read."""
    run.is_in("failed", UnitId("mean", ""))
    assert run.look(UnitId("mean", "")).backlog == {"in": 30}


def test_the_backlog_of_an_inlet_that_starts_with_the_latest_records(tmp_path: Path) -> None:
    """It is unknown until the first batch is planned, and has no records from before that."""
    state = StateDirectory(tmp_path, "plant")
    run = Run(state, made(state.topics), starting="latest")
    run.is_in("backing-off")
    assert run.look().backlog == {}
    written(state.checkpoints, "mean.out", {0: {"in": position(run.topic, 2)}}, -1)
    assert run.look().backlog == {"in": 20}


def test_the_last_measurement_is_after_the_end(run: Run) -> None:
    """What a unit has committed, or a producer has written, as it ended is in the backlog that is kept."""
    run.is_in("stopped")
    with observing(run.observer, lambda error: pytest.fail(str(error))):
        written(run.state.checkpoints, "mean.out", {0: {"in": position(run.topic, 2)}}, 0)
        add(run.topic, 3, range(5))
    (seen,) = run.facts
    assert isinstance(seen, Seen) and isinstance(seen.event, UnitMeasured)
    assert seen.event.backlog == {"in": 25}


def test_a_running_batch_has_an_age(run: Run) -> None:
    """Counted from when it was planned, or from the restart if an earlier run planned it, until it is committed."""
    directory = written(run.state.checkpoints, "mean.out", {1: {"in": position(run.topic, 3)}}, 0)  # planned at 1001
    run.is_in("running", time=1000.5)
    assert run.look().running == RunningBatch(1, 1001.0)
    run.is_in("backing-off", time=1500.0)
    assert run.look().running is None
    run.is_in("running", time=1900.0)
    assert run.look().running == RunningBatch(1, 1900.0)
    data = to_json(run.status, 2000.0)["streamlets"][0]["units"][0]  # type: ignore[index]
    assert data["running_batch"] == {"number": 1, "since": 1900.0, "seconds": 100.0, "stuck": False, "where": ()}
    run.fold(UnitProgressed(1950.0, OUT, 1, 10))
    assert run.status.units[OUT].running is None
    (directory / "commits" / "1").write_text("v1\n{}")
    assert run.look().running is None


def test_a_batch_keeps_its_start_while_it_is_drained(run: Run) -> None:
    """It is the same batch as before, and is not located again."""
    written(run.state.checkpoints, "mean.out", {1: {"in": position(run.topic, 3)}}, 0)  # planned at 1001
    run.now = 1100.0
    run.is_in("running", time=1000.0)
    run.look()
    run.is_in("draining", time=1500.0)
    assert run.look().running == RunningBatch(1, 1001.0)
    run.now = 1601.0
    run.look()
    assert [fact for fact in run.facts if isinstance(fact, Overlong)] == [Overlong(OUT, 1, 1001.0)]


@pytest.mark.parametrize("on_stuck", ["report", "restart"])
def test_the_streamlet_of_a_batch_that_takes_too_long_is_started_again_if_it_says_so(
    tmp_path: Path, on_stuck: OnStuck
) -> None:
    """The fact has the setting."""
    state = StateDirectory(tmp_path, "plant")
    run = Run(state, made(state.topics), settings=StreamletSettings(on_stuck=on_stuck))
    written(run.state.checkpoints, "mean.out", {1: {"in": position(run.topic, 3)}}, 0)
    run.is_in("running", time=1000.0)
    run.look()
    overlong = [fact for fact in run.facts if isinstance(fact, Overlong)]
    assert overlong == [Overlong(OUT, 1, 1001.0, restart=on_stuck == "restart")]


def test_a_batch_that_takes_too_long_is_located_once(run: Run) -> None:
    """It is located when `stuck-after` has passed, once per run of it, and shown as stuck until it is committed."""
    written(run.state.checkpoints, "mean.out", {1: {"in": position(run.topic, 3)}}, 0)
    run.is_in("running", time=1000.0)
    run.now = 1600.9
    run.look()
    assert not [fact for fact in run.facts if isinstance(fact, Overlong)]
    run.now = 1601.0
    run.look()
    assert [fact for fact in run.facts if isinstance(fact, Overlong)] == [Overlong(OUT, 1, 1001.0)]
    run.fold(BatchStuck(time=1601.0, unit=OUT, batch=1, since=1001.0, seconds=600.0, frames=("plant.py:7 in each",)))
    run.now = 1700.0
    run.look()
    assert run.facts == []
    assert run.status.streamlets[0].stuck
    run.fold(UnitProgressed(1700.0, OUT, 1, 10))
    assert not run.status.streamlets[0].stuck
    run.fold(UnitMeasured(1700.0, OUT, {"in": 0}, (1, 1001.0)))  # measured before the commit, reported after it
    assert run.status.units[OUT].running is None


def test_the_backlog_in_a_deleted_topic_is_unknown(run: Run) -> None:
    """The observer goes on."""
    written(run.state.checkpoints, "mean.out", {0: {"in": position(run.topic, 2)}}, 0)
    run.is_in("running")
    shutil.rmtree(run.topic.path)
    assert run.look().backlog == {}


def overdue(run: Run) -> list[UnitOverdue]:
    """Measure, and return what is reported about records that wait for too long."""
    run.look()
    return [fact.event for fact in run.facts if isinstance(fact, Seen) and isinstance(fact.event, UnitOverdue)]


@pytest.mark.parametrize("state", ["running", "backing-off", "starting"])
def test_records_that_wait_for_too_long_are_reported_once(run: Run, state: State) -> None:
    """Until a batch is committed, whatever the unit does meanwhile. The time is that of the timer."""
    written(run.state.checkpoints, "mean.out", {0: {"in": position(run.topic, 2)}}, 0)
    run.is_in(state)
    assert overdue(run) == []
    run.now += 119
    assert overdue(run) == []
    run.is_in("backing-off", time=run.now)  # to fail again and again is not progress
    run.is_in(state, time=run.now)
    run.now += 2
    (event,) = overdue(run)
    assert (event.seconds, event.records, event.unit) == (121.0, 20, OUT)
    assert event.line == "mean.out: overdue: no batch was committed for 2 min 1 s, while 20 records wait"
    assert run.status.units[OUT].overdue
    run.now += 500
    assert overdue(run) == []
    run.fold(UnitProgressed(run.now, OUT, 1, 5))
    assert not run.status.units[OUT].overdue


@pytest.mark.parametrize("quiet", ["paused", "completed", "waiting", "running batch", "no records"])
def test_a_unit_that_has_nothing_to_do_is_not_overdue(run: Run, quiet: str) -> None:
    """It was paused or has ended, waits for its producers, works on a batch, or has read everything."""
    offsets = {0: {"in": position(run.topic, 4 if quiet == "no records" else 2)}}
    if quiet == "running batch":
        offsets |= {1: {"in": position(run.topic, 3)}}
    written(run.state.checkpoints, "mean.out", offsets, 0)
    run.is_in("running")
    match quiet:
        case "paused" | "completed":
            run.is_in(quiet)
        case "waiting":
            run.fold(UnitChanged(1000.0, OUT, "starting", waiting="waiting for head"))
    for _ in range(3):
        assert overdue(run) == []
        run.now += 400


def test_a_unit_with_long_triggers_is_overdue_later(run: Run) -> None:
    """It is given three times its longest wait so far."""
    written(run.state.checkpoints, "mean.out", {0: {"in": position(run.topic, 2)}}, 0)
    run.is_in("running")
    overdue(run)
    run.now += 100
    run.fold(UnitProgressed(run.now, OUT, 0, 5))
    assert overdue(run) == []
    run.now += 299
    assert overdue(run) == []
    run.now += 2
    assert len(overdue(run)) == 1
