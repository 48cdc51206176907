"""What a run reports about its units besides their states, with a unit without Spark."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from blueprint.plan import ApplicationPlan, InletPlan, StreamletPlan
from streamlets.runner import observer
from streamlets.runner import run as running
from streamlets.runner.events.event import Event
from streamlets.runner.events.record_events import RowsLate
from streamlets.runner.events.status import RunStatus, UnitId
from streamlets.runner.events.status_file import read_status
from streamlets.runner.events.unit_events import UnitMeasured, UnitProgressed
from streamlets.runner.events.view import View
from streamlets.runner.hosts import HostContext
from streamlets.runner.run import RunOptions
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.runner.supervision.facts import Ended, Progressed, Seen, Started
from tests.streamlets.channels.topics import READING, add, made, topic_plan
from tests.streamlets.runner.hosts import hosts_of
from tests.streamlets.runner.supervision.bench import Fake

MEAN = UnitId("mean", "out")
PATIENCE = 300.0


class Run:
    """A run of the streamlet `mean` on the topic `readings`. Its only unit reports a batch with late rows, and ends
    once an event of a kind was emitted, or after `PATIENCE` seconds without one."""

    def __init__(self, directory: Path) -> None:
        self.state = StateDirectory(directory, "plant")
        self.events: list[Event] = []
        self.emitted = threading.Event()
        self.at_end: Callable[[], None] = lambda: None

    def until(self, kind: type[Event]) -> None:
        """Run until an event of this kind was emitted."""

        class Watch(View):
            def event(_, event: Event, status: RunStatus) -> None:  # noqa: N805 - `self` is the run
                self.events.append(event)
                if isinstance(event, kind):
                    self.emitted.set()

        descriptor: Any = None
        inlet = InletPlan("mean", "in", "rows", READING, "readings")
        mean = StreamletPlan(
            ref="mean",
            class_name="plant.Mean",
            descriptor=descriptor,
            inlets=(inlet,),
        )
        plan = ApplicationPlan(
            name="plant",
            blueprint="blueprint.conf",
            directory=str(self.state.root),
            streamlets=(mean,),
            topics=(topic_plan("readings"),),
        )
        code, _ = running.run(plan, RunOptions(state=self.state), [Watch()])
        assert code == 0

    def hosts(self, context: HostContext, isolation: object) -> Any:
        """Return hosts with the unit."""
        report = context.report

        def end(run: int) -> None:
            self.emitted.wait(PATIENCE)
            self.at_end()
            report(Ended(MEAN, run))

        class Unit(Fake):
            def start(self, run: int, *, last: bool = False, replicas: int | None = None) -> None:
                report(Started(MEAN, run))
                report(Progressed(run, UnitProgressed(1.0, MEAN, 0, 10, late=3)))
                threading.Thread(target=end, args=(run,), daemon=True).start()

        def stop() -> None:
            report(Seen(UnitMeasured(2.0, MEAN, {"tasks": 7})))

        return hosts_of(Unit(MEAN, bounded=True), stop=stop)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run that has not started."""
    run = Run(tmp_path)
    monkeypatch.setattr(running, "open_hosts", run.hosts)
    return run


def test_late_rows_are_reported(run: Run) -> None:
    """They are shown and logged when the first ones are dropped, and once more before the run ends."""
    run.until(RowsLate)
    assert [event.rows for event in run.events if isinstance(event, RowsLate)] == [3, 3]
    assert (run.state.logs / "run.log").read_text().count("dropped at least 3 late rows") == 2


def test_the_backlog_is_measured_while_the_run_goes_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The runner counts the records of topics that a query has not committed."""
    monkeypatch.setattr(observer, "EVERY", 0.01)
    add(made(run.state.topics), 0, range(10))
    run.until(UnitMeasured)
    assert {"in": 10} in [event.backlog for event in run.events if isinstance(event, UnitMeasured)]


def test_what_is_measured_after_the_end_is_kept(run: Run) -> None:
    """The records that a topic has when all units have ended, and what hosts report when they stop."""
    topic = made(run.state.topics)
    add(topic, 0, range(10))
    run.at_end = lambda: add(topic, 1, range(10, 14))
    run.until(RowsLate)
    written = read_status(run.state.status_file)
    assert written is not None
    assert written.status.units[MEAN].backlog == {"in": 14, "tasks": 7}
