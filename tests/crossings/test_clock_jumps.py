"""Places that take a clock, crossed with jumps of the wall clock: nothing restarts, ends early or hangs."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from blueprint.quantities import duration
from streamlets.channels.base import Reader
from streamlets.channels.delta.channel import DeltaChannel
from streamlets.channels.delta.clock_steps import ClockSteps
from streamlets.channels.delta.compaction import Compaction, compact_table
from streamlets.channels.delta.integrity import commit_path
from streamlets.channels.delta.maintenance import Upkeep, maintain_topic
from streamlets.channels.delta.manifest import STAGED
from streamlets.channels.delta.table import open_table
from streamlets.channels.delta.topic import DeltaTopic
from streamlets.ingress.spouts.lease import EXPIRES_AFTER, Lease
from streamlets.ingress.spouts.report import ReportFile, read_report
from streamlets.ingress.triggerers import SystemClock, TriggererContext
from streamlets.ingress.triggerers.files import FilesTriggerer
from streamlets.runner.events.late import EVERY, LateRows
from streamlets.runner.events.record_events import RowsLate
from streamlets.runner.events.run_events import RunEnded
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.unit_events import UnitProgressed
from streamlets.runner.kinds import KINDS
from streamlets.runner.supervision.clock_check import ClockCheck
from streamlets.runner.supervision.facts import Overlong
from streamlets.storage import objects
from tests.streamlets.channels.topics import READING, add, ids_of, topic_plan
from tests.streamlets.runner.checkpoints.test_checkpoint import position, written
from tests.streamlets.runner.supervision.bench import Bench
from tests.streamlets.runner.test_observer import Run
from tests.streamlets.runner.test_observer import run as run  # a fixture

JUMPS = pytest.mark.parametrize("jump", [-3600.0, -10.0, 10.0, 3600.0])


@dataclass
class Clocks:
    """A wall clock that can be set, and a monotonic clock."""

    wall: float = 1_800_000_000.0
    timer: float = 1000.0
    waits: list[float] = field(default_factory=list)

    def passes(self, seconds: float) -> None:
        """Let time pass on both."""
        self.wall, self.timer = self.wall + seconds, self.timer + seconds


@JUMPS
@pytest.mark.parametrize("wall_clock", [False, True], ids=["others", "spark"])
def test_units(jump: float, wall_clock: bool) -> None:
    """Only units that the wall clock triggers are restarted, and only if it was set back."""
    clocks, bench = Clocks(), Bench("a")
    bench.units["a"].wall_clock = wall_clock
    bench.started("a")
    check = ClockCheck(lambda: clocks.wall, lambda: clocks.timer)
    clocks.wall += jump
    if seconds := check.seconds():
        bench.supervisor.clock_set_back(seconds)
    assert (bench.state("a") == "draining") == (wall_clock and jump < 0)


def test_every_kind_says_which_clock_its_units_use() -> None:
    """Spouts and discoveries measure no time by the wall clock."""
    from streamlets.ingress.batch_sources.discovery import DiscoveryUnit
    from streamlets.ingress.spouts.generator_unit import GeneratorUnit
    from streamlets.ingress.spouts.program_unit import ProgramUnit
    from streamlets.runner.units.units import QueryUnit, StreamletUnit

    assert {"batch-source", "spark", "spout"} <= set(KINDS)
    assert not any(unit.wall_clock for unit in (DiscoveryUnit, GeneratorUnit, ProgramUnit))
    assert all(unit.wall_clock for unit in (QueryUnit, StreamletUnit))


@JUMPS
def test_back_off(jump: float) -> None:
    """A unit waits for its delay, whatever the wall clock shows."""
    bench = Bench("a")
    bench.started("a")
    bench.ended("a")
    bench.set_back = -jump
    assert bench.passes(0.5) == pytest.approx(0.5)
    bench.passes(0.5)
    assert bench.units["a"].calls == ["start", "start"]


@JUMPS
def test_stuck_batches(jump: float, run: Run) -> None:
    """A batch is reported after `stuck-after`, neither earlier nor later."""
    clocks = Clocks(wall=run.now, timer=0.0)
    run.observer._clock, run.observer._timer = lambda: clocks.wall, lambda: clocks.timer
    written(run.state.checkpoints, "mean.out", {1: {"in": position(run.topic, 3)}}, 0)
    run.is_in("running", time=run.now)

    def overlong() -> int:
        run.look()
        return sum(isinstance(fact, Overlong) for fact in run.facts)

    assert overlong() == 0
    clocks.wall += jump
    clocks.passes(599.0)
    assert overlong() == 0
    clocks.passes(1.0)
    assert overlong() == 1


@JUMPS
def test_leases(jump: float, tmp_path: Path) -> None:
    """A lease of another machine expires by the monotonic clock alone."""
    clocks = Clocks()
    objects.put_if_absent(tmp_path / "5.json", b'{"state": "held", "process": 1, "host": "another"}')

    def wait(seconds: float) -> bool:
        clocks.waits.append(seconds)
        clocks.passes(seconds)
        clocks.wall += jump if len(clocks.waits) == 3 else 0.0
        return False

    lease = Lease(tmp_path, wait, lambda owner: None, lambda: clocks.timer, lambda: clocks.wall)
    with lease:
        assert lease.acquire()
        assert sum(clocks.waits) == EXPIRES_AFTER
        assert lease.epoch > 5


@JUMPS
def test_reports_of_spouts(jump: float, tmp_path: Path) -> None:
    """The report of a transaction is written at once or soon after, and none is lost."""
    clocks, file = Clocks(), tmp_path / "report"
    report = ReportFile(file, every=1.0, clock=lambda: clocks.wall)
    report.started(1, None)
    for _ in range(3):
        clocks.wall += jump
        clocks.passes(2.0)
        report.committed(1, 0)
    report.write()
    assert read_report(file).records == 3


@JUMPS
def test_reports_of_late_rows(jump: float) -> None:
    """They go on, at most one more than without the jump, and the sum is right at the end."""
    clocks, late, unit = Clocks(), LateRows(), UnitId("a", "q")
    reports: list[RowsLate] = []
    for number in range(30):
        clocks.passes(EVERY / 10)
        clocks.wall += jump if number == 12 else 0.0
        reports += late.reports(UnitProgressed(clocks.wall, unit, number, 1, late=1))
    assert 3 <= len(reports) <= 4
    (last,) = late.reports(RunEnded(clocks.wall, 0, ""))
    assert last.rows == 30


@JUMPS
def test_looks_for_files(jump: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that is set while the triggerer waits does not delay its next look."""
    offset = [0.0]
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + offset[0])
    looked, events = threading.Semaphore(0), list[str]()
    triggerer = FilesTriggerer()
    context = TriggererContext(streamlet="a", directory=tmp_path, clock=SystemClock(), fail=lambda error: None)
    triggerer.init({"path": str(tmp_path), "interval": "50ms"}, context)
    look: Callable[..., None] = triggerer.look

    def counted(trigger: Callable[[str], bool]) -> None:
        look(trigger)
        looked.release()

    monkeypatch.setattr(triggerer, "look", counted)

    def trigger(event: str) -> bool:
        events.append(event)
        return True

    triggerer.start(trigger)
    try:
        assert looked.acquire(timeout=120)
        offset[0] = jump
        for _ in range(3):
            assert looked.acquire(timeout=120)
    finally:
        triggerer.stop()
    assert events == []


def aged(topic: DeltaTopic, clocks: Clocks) -> Callable[[], dict[str, Path]]:
    """Make a file of each kind that maintenance deletes when it is old; return a function that returns those left.

    Files get the times of the clock, because those of a file system cannot be set.
    """
    for number in range(9):
        add(topic, number, [number])
    table = open_table(topic.path / READING.fingerprint, files=True, removed=True)
    first, second, *_ = (table.files or {}).values()
    merged = compact_table(table, Compaction(fresh=2), lambda: clocks.wall)
    orphan, draft = table.path / "data" / "w" / "part-0.parquet", table.path / "_delta_log" / ".1.json.tmp"
    for path in (orphan, draft):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"rest")
    for path in topic.path.rglob("*"):
        os.utime(path, (clocks.wall, clocks.wall))
    assert merged
    kinds = {"log": commit_path(table.path, 1), "removed": table.path / first.path, "merged": table.path / second.path,
             "orphan": orphan, "draft": draft}  # fmt: skip
    return lambda: {kind: path for kind, path in kinds.items() if path.exists()}


@JUMPS
@pytest.mark.parametrize("planned", [False, True], ids=["idle", "reading"])
def test_old_files_of_topics(jump: float, planned: bool, tmp_path: Path) -> None:
    """Maintenance deletes nothing before it is old, and everything when it is, at the latest later by the jump."""
    clocks = Clocks()
    topic = DeltaChannel(tmp_path, clock=lambda: clocks.wall, timer=lambda: clocks.timer).topic(topic_plan("readings"))
    topic.create()
    readers = [Reader("a.b (in)", None, clocks.wall)] if planned else []
    upkeep = Upkeep(checkpoint_every=3, keep_log=600.0, keep_orphans=1800.0, keep_removed=1800.0, keep_unused=1200.0,
                    sweep_every=-1, compaction=None)  # fmt: skip
    steps = ClockSteps(lambda: clocks.wall, lambda: clocks.timer)
    number = iter(range(9, 10_000))

    def maintain() -> None:
        for _ in range(3):  # a checkpoint is due
            add(topic, next(number), [0])
        maintain_topic(topic.path, tmp_path / STAGED, lambda: clocks.wall, upkeep, lambda: readers, steps)

    clocks.passes(1.0)
    left = aged(topic, clocks)
    everything = set(left())
    maintain()
    clocks.wall += jump
    maintain()
    assert set(left()) == everything
    clocks.passes(599.0)
    maintain()
    assert set(left()) == everything
    clocks.passes(600.0)
    maintain()
    assert everything - set(left()) <= {"log", "draft"}
    clocks.passes(1200.0 + max(0.0, -jump) - 598.0)
    maintain()
    maintain()
    assert not set(left())
    assert len(ids_of(topic.scan())) == next(number)


@JUMPS
def test_retention(jump: float, tmp_path: Path) -> None:
    """Records expire when their time has passed, not because the clock was set."""
    clocks = Clocks()
    plan = replace(topic_plan("readings"), options={"retention.time": duration("30m")})
    topic = DeltaChannel(tmp_path, clock=lambda: clocks.wall, timer=lambda: clocks.timer).topic(plan)
    topic.create()
    add(topic, 0, [0])
    topic.maintain(list)
    clocks.wall += jump
    clocks.passes(1799.0)
    assert topic.maintain(list).records == 0
    clocks.passes(2.0 + max(0.0, -jump))
    assert topic.maintain(list).records == 1


def test_a_clock_that_was_wrong_for_a_while() -> None:
    """Steps forward and back end each other."""
    clocks = Clocks()
    steps = ClockSteps(lambda: clocks.wall, lambda: clocks.timer)
    began = clocks.wall
    for step in (3600.0, -3600.0):
        clocks.passes(20.0)
        clocks.wall += step
        steps.before(0.0)
    assert steps.before(60.0) == began - 20.0
    assert steps.since(began + 3000.0) <= began + 40.0
    assert steps.since(began) == began
