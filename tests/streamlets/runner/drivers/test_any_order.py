"""Two drivers under a supervisor with events in any order, without real processes and with a clock set by hand."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from blueprint.core_settings import Retry
from blueprint.plan import ApplicationPlan, StreamletPlan
from streamlets.runner.drivers.messages import Assignment, Order, QueryPart, SparkReady, StartUnit, UnitBecame
from streamlets.runner.drivers.process import ProcessEnd
from streamlets.runner.drivers.remote import DriverProcess
from streamlets.runner.events.event import Event
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.unit_events import UnitChanged
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.runner.supervision.dependencies import Dependencies
from streamlets.runner.supervision.environment import Environment
from streamlets.runner.supervision.facts import Drain, Ended, Fact, Lost, Started, StopNow
from streamlets.runner.supervision.supervisor import Supervisor
from streamlets.spark.failure import Failure
from streamlets.spark.settings import SessionPlan
from tests.random_examples import examples


class Life:
    """A process of a driver, as seen by the runner."""

    def __init__(
        self, *, hear: Callable[[object], None], gone: Callable[[ProcessEnd], None], print_line: Callable[[str], None]
    ) -> None:
        self.hear, self.gone = hear, gone
        self.live: dict[UnitId, int] = {}
        self.started: set[UnitId] = set()
        self.up = False
        self.dead = False
        self.orders = -1  # the first one is the assignment

    def send(self, order: Order) -> None:
        """Take an order; a unit must be over before it is started again."""
        assert not self.dead
        self.orders += 1
        assert isinstance(order, Assignment) is (self.orders == 0)
        if isinstance(order, StartUnit):
            assert order.unit not in self.live, f"{order.unit} is started while it is running"
            self.live[order.unit] = order.run

    def kill(self) -> None:
        """End the process."""
        self.die()

    def wait(self, patience: float) -> bool:
        """Return whether it has ended."""
        return self.dead

    def die(self) -> None:
        """End the process; it must get no more orders."""
        self.dead = True
        self.gone(ProcessEnd("killed by signal 9", ""))


class Drivers(RuleBasedStateMachine):
    """A driver of the streamlets `a` and `b`, and a driver of `c`."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0
        self.inbox: SimpleQueue[Fact] = SimpleQueue()
        self.events: list[Event] = []
        self.lives: list[Life] = []
        self.ending = False
        directory = Path(tempfile.gettempdir(), "streamlets-no-such-directory")
        self.drivers = [self._driver(directory, "ab"), self._driver(directory, "c")]
        units = [unit for driver in self.drivers for unit in driver.units]
        environment = Environment(
            emit=self.events.append, clock=lambda: self.now, timer=lambda: self.now, uniform=lambda: 0.0
        )
        self.supervisor = Supervisor(units, Dependencies(), environment, in_order=False)
        self.supervise()

    def _driver(self, directory: Path, refs: str) -> DriverProcess:
        descriptor: Any = None
        streamlets = (
            StreamletPlan(
                ref=ref,
                class_name="m.C",
                descriptor=descriptor,
            )
            for ref in refs
        )
        plan = ApplicationPlan(
            name="app", blueprint="blueprint.conf", directory=".", streamlets=tuple(streamlets), topics=()
        )
        session = SessionPlan("app", directory, directory)
        assignment = Assignment(refs[0], plan, StateDirectory(directory, "app"), session, bounded=False)

        def begin(**how: Any) -> Any:
            self.lives.append(Life(**how))
            return self.lives[-1]

        return DriverProcess(
            assignment, begin, report=self.inbox.put, log=lambda unit, text: None, print_line=lambda line: None
        )

    def supervise(self) -> None:
        """Handle all facts, then do what is due."""
        while not self.inbox.empty():
            self.supervisor.handle(self.inbox.get())
        self.supervisor.tick()

    def processes(self, *, up: bool | None = None, live: bool = False) -> list[Life]:
        """Return the processes that have not ended."""
        return [
            life
            for life in self.lives
            if not life.dead and (up is None or life.up is up) and (not live or any(life.live))
        ]

    @precondition(lambda self: self.processes(up=False))
    @rule(data=st.data())
    def spark_comes_up(self, data: st.DataObject) -> None:
        life = data.draw(st.sampled_from(self.processes(up=False)))
        life.up = True
        life.hear(SparkReady(1))
        self.supervise()

    @precondition(lambda self: self.processes(up=True, live=True))
    @rule(data=st.data())
    def a_unit_comes_up(self, data: st.DataObject) -> None:
        life = data.draw(st.sampled_from(self.processes(up=True, live=True)))
        unit = data.draw(st.sampled_from(sorted(life.live, key=str)))
        run = life.live[unit]
        if unit.part or data.draw(st.booleans()):
            if unit not in life.started:
                life.started.add(unit)
                life.hear(Started(unit, run))
        elif unit not in life.started:
            del life.live[unit]
            parts = tuple(QueryPart(UnitId(unit.streamlet, name), Retry(), False) for name in "xy")
            life.hear(UnitBecame(unit, run, parts))
        self.supervise()

    @precondition(lambda self: self.processes(up=True, live=True))
    @rule(data=st.data(), failure=st.sampled_from([None, Failure("it broke"), Failure("wrong", fatal="for good")]))
    def a_unit_ends(self, data: st.DataObject, failure: Failure | None) -> None:
        life = data.draw(st.sampled_from(self.processes(up=True, live=True)))
        unit = data.draw(st.sampled_from(sorted(life.live, key=str)))
        life.started.discard(unit)
        life.hear(Ended(unit, life.live.pop(unit), failure))
        self.supervise()

    @precondition(lambda self: self.processes(up=True))
    @rule(data=st.data())
    def java_dies(self, data: st.DataObject) -> None:
        life = data.draw(st.sampled_from(self.processes(up=True)))
        life.live.clear()
        life.started.clear()
        life.hear(Lost(Failure("Java exited"), "spark"))
        self.supervise()

    @precondition(lambda self: self.processes())
    @rule(data=st.data())
    def a_process_dies(self, data: st.DataObject) -> None:
        data.draw(st.sampled_from(self.processes())).die()
        self.supervise()

    @rule(seconds=st.floats(0, 100))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        self.supervise()

    @rule(fact=st.sampled_from([Drain(), StopNow()]))
    def an_end_is_requested(self, fact: Fact) -> None:
        self.inbox.put(fact)
        self.ending = True
        self.supervise()

    @invariant()
    def each_driver_has_one_process_at_a_time(self) -> None:
        """A new process is started only when the one before has ended."""
        assert len(self.processes()) <= len(self.drivers)

    @invariant()
    def something_is_awaited_until_done(self) -> None:
        """Until the run is over, a unit is in some process, or something is due."""
        if not self.supervisor.done:
            assert any(life.live for life in self.processes()) or self.supervisor.tick() is not None

    @invariant()
    def running_units_are_in_a_process(self) -> None:
        """A running unit has been started in a process that has not ended."""
        last = {event.unit: event.state for event in self.events if isinstance(event, UnitChanged)}
        alive = set(itertools.chain.from_iterable(life.live for life in self.processes()))
        running = {unit for unit, state in last.items() if state == "running"}
        assert running <= alive

    def teardown(self) -> None:
        """All processes end with the run."""
        for driver in self.drivers:
            driver.end()
        for life in self.processes():
            life.die()
        assert self.processes() == []


TestDrivers = Drivers.TestCase
TestDrivers.settings = settings(max_examples=examples(100), stateful_step_count=40, deadline=None)
