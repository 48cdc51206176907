"""What is known of queries from outside: how far they are behind, whatever their state, and batches that do not end."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from blueprint.plan import ApplicationPlan, InletPlan, Retry, StreamletPlan
from blueprint.quantities import Duration
from streamlets.channels.delta import DeltaTopic
from streamlets.runner.events.model import (
    BatchStuck,
    Event,
    RunStarted,
    State,
    UnitChanged,
    UnitId,
    UnitMeasured,
    UnitProgressed,
)
from streamlets.runner.events.status import RunStatus, UnitStatus, fold, to_json
from streamlets.runner.observing import Observer
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.runner.supervision.facts import Fact, Overlong, Seen
from tests.streamlets.channels.topics import READING, add, made, topic_plan
from tests.streamlets.runner.checkpoints.test_reading import position, written

OUT = UnitId("mean", "out")


@dataclass
class Run:
    """The run of a streamlet `mean` on the topic `readings`, of which three commits of ten records are there."""

    state: StateDirectory
    topic: DeltaTopic
    starting: Any = "earliest"
    status: RunStatus = field(default_factory=RunStatus)
    now: float = 2000.0

    def __post_init__(self) -> None:
        for number in range(3):
            add(self.topic, number, range(number * 10, number * 10 + 10))
        self.fold(RunStarted(1000.0, "plant", ("mean",)))
        inlet = InletPlan("mean", "in", "rows", READING, "readings", starting=self.starting)
        mean = StreamletPlan(
            "mean", "plant.Mean", None, {}, (inlet,), (), None, Retry(), {}, {}, {},  # type: ignore[arg-type]
            stuck_after=Duration(600 * 10**9),
        )  # fmt: skip
        plan = ApplicationPlan("plant", "blueprint.conf", ".", (mean,), (topic_plan("readings"),), {})
        self.facts: list[Fact] = []
        self.observer = Observer(plan, self.state, lambda: self.status, self.facts.append, lambda: self.now)

    def fold(self, event: Event) -> None:
        """Something happened."""
        self.status = fold(self.status, event)

    def is_in(self, state: State, unit: UnitId = OUT, time: float = 1000.0) -> None:
        """A unit has entered a state."""
        self.fold(UnitChanged(time, unit, state))

    def look(self, unit: UnitId = OUT) -> UnitStatus:
        """What is known of a unit after a look."""
        self.facts.clear()
        self.observer.look()
        for fact in self.facts:
            if isinstance(fact, Seen):
                self.fold(fact.event)
        return self.status.units[unit]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run on an empty state directory but for the topic."""
    state = StateDirectory(tmp_path, "plant")
    return Run(state, made(state.topics))


@pytest.mark.parametrize("state", ["starting", "running", "backing-off", "stopped", "failed"])
def test_lag_grows_with_the_topic_in_every_state(run: Run, state: State) -> None:
    """A query that hangs, waits, is paused or has failed commits nothing, and what comes is counted all the same."""
    written(run.state.checkpoints, "mean.out", {0: {"in": position(run.topic, 2)}}, 0)
    run.is_in(state)
    assert run.look().backlog == {"in": 20}
    add(run.topic, 3, range(1000))
    assert run.look().backlog == {"in": 1020}
    run.look()
    assert run.facts == []  # nothing has changed


def test_lag_of_what_has_never_read(run: Run) -> None:
    """Without a checkpoint it is all that the inlet will read; nothing is known of one that begins with the latest."""
    run.is_in("failed", UnitId("mean", ""))
    assert run.look(UnitId("mean", "")).backlog == {"in": 30}


def test_lag_of_what_begins_with_the_latest(tmp_path: Path) -> None:
    """What was there before it began is none of its backlog."""
    state = StateDirectory(tmp_path, "plant")
    run = Run(state, made(state.topics), starting="latest")
    run.is_in("backing-off")
    assert run.look().backlog == {}
    written(state.checkpoints, "mean.out", {0: {"in": position(run.topic, 2)}}, -1)
    assert run.look().backlog == {"in": 20}


def test_a_running_batch_has_an_age(run: Run) -> None:
    """From its plan on; where an earlier run had planned it, from the restart on. It is over once it is committed."""
    folder = written(run.state.checkpoints, "mean.out", {1: {"in": position(run.topic, 3)}}, 0)  # planned at 1001
    run.is_in("running", time=1000.5)
    assert run.look().running == (1, 1001.0)
    run.is_in("backing-off", time=1500.0)
    assert run.look().running is None
    run.is_in("running", time=1900.0)
    assert run.look().running == (1, 1900.0)
    data = to_json(run.status, 2000.0)["streamlets"][0]["units"][0]  # type: ignore[index]
    assert data["running_batch"] == {"number": 1, "since": 1900.0, "seconds": 100.0, "stuck": False, "where": []}
    run.fold(UnitProgressed(1950.0, OUT, 1, 10))
    assert run.status.units[OUT].running is None
    (folder / "commits" / "1").write_text("v1\n{}")
    assert run.look().running is None


def test_a_batch_that_takes_too_long_is_located_once(run: Run) -> None:
    """Where it is, is asked when `stuck-after` is over, once for each run of it, and shown until it is committed."""
    written(run.state.checkpoints, "mean.out", {1: {"in": position(run.topic, 3)}}, 0)
    run.is_in("running", time=1000.0)
    run.now = 1600.9
    run.look()
    assert not [fact for fact in run.facts if isinstance(fact, Overlong)]
    run.now = 1601.0
    run.look()
    assert [fact for fact in run.facts if isinstance(fact, Overlong)] == [Overlong(OUT, 1, 1001.0)]
    run.fold(BatchStuck(1601.0, OUT, 1, 1001.0, 600.0, ("plant.py:7 in each",)))
    run.now = 1700.0
    run.look()
    assert run.facts == []
    assert run.status.streamlets[0].stuck
    run.fold(UnitProgressed(1700.0, OUT, 1, 10))
    assert not run.status.streamlets[0].stuck
    run.fold(UnitMeasured(1700.0, OUT, {"in": 0}, (1, 1001.0)))  # a look before the commit, told behind it
    assert run.status.units[OUT].running is None


def test_a_topic_that_was_deleted_has_no_lag(run: Run) -> None:
    """Nothing is made up, and the observer goes on."""
    written(run.state.checkpoints, "mean.out", {0: {"in": position(run.topic, 2)}}, 0)
    run.is_in("running")
    run.topic.delete()
    assert run.look().backlog == {}
