"""`flow status`, `stop`, `pause`, `resume` and `restart` on a runner without Spark, on one that died, and on none."""

from __future__ import annotations

import contextlib
import json
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from queue import Empty, SimpleQueue

import pytest

from cli.following import Follower
from streamlets.runner.events.model import RunEnded, RunStarted, UnitChanged, UnitProgressed
from streamlets.runner.events.status_file import StatusFile
from streamlets.runner.orders import Orders
from streamlets.runner.state_directory.control import Request
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.spark.failure import Failure
from tests.cli.conftest import Flow
from tests.streamlets.runner.supervision.bench import Bench, unit_id


class Runner:
    """Does what a runner does around its supervisor; its units obey at once."""

    def __init__(self, root: Path) -> None:
        self.state = StateDirectory(root / ".flow", "plant")
        self.inbox: SimpleQueue[Request] = SimpleQueue()
        self.up = threading.Event()
        self.killed = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        self.up.wait()

    def _run(self) -> None:
        with self.state.locked():
            file = StatusFile(self.state.status_file)
            orders = Orders(self.state, self.inbox.put, lambda arguments: "")
            bench = Bench(["gauges", "mean.out", "store"])
            bench.now = time.time()
            bench.events[:0] = [RunStarted(time.time(), "plant", ("gauges", "mean", "store"))]
            for name in bench.units:
                bench.started(name)
            batch = UnitProgressed(time.time(), unit_id("mean.out"), 0, 1200, {"out": 40}, backlog={"in": 7})
            bench.events.append(batch)
            told = 0
            while not bench.supervisor.done and not self.killed.is_set():
                for event in bench.events[told:]:
                    file.event(event)
                file.write(time.time())
                told = len(bench.events)
                self.up.set()
                bench.now = time.time()
                with contextlib.suppress(Empty):
                    orders.carry_out(self.inbox.get(timeout=0.02), bench.supervisor)
                self._obey(bench)
            if not self.killed.is_set():
                for event in [*bench.events[told:], RunEnded(time.time(), 0, "as asked")]:
                    file.event(event)
            orders.close()

    @staticmethod
    def _obey(bench: Bench) -> None:
        for name, unit in bench.units.items():
            if unit.up and unit.calls[-1] == "start" and bench.state(name) == "starting":
                bench.started(name)
            elif unit.up and unit.calls[-1] in ("drain", "stop"):
                bench.ended(name)
        bench.supervisor.tick()


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    """An application of three streamlets that runs."""
    runner = Runner(tmp_path)
    yield runner
    runner.killed.set()
    runner.thread.join()


def test_status_of_a_running_application(flow: Flow, runner: Runner, tmp_path: Path) -> None:
    """Its process, each streamlet's state and rows; columns that would say nothing are left out; the code is 0."""
    said = flow("status", str(tmp_path))
    assert said.code == 0, said.err
    head, _, columns, *rows = said.out.splitlines()
    assert re.fullmatch(r"plant is running, process \d+, up for \d+ s", head)
    assert columns.split() == ["streamlet", "state", "for", "in", "out", "rows/s", "behind"]
    assert [row.split()[:2] for row in rows] == [["gauges", "running"], ["mean", "running"], ["store", "running"]]
    assert rows[1].split()[4:6] == ["1,200", "40"]
    found = json.loads(flow("status", str(tmp_path), "--format", "json").out)["plant"]
    assert (found["alive"], found["health"]) == (True, "running")


def test_pause_resume_and_restart_show_what_comes_of_it(flow: Flow, runner: Runner, tmp_path: Path) -> None:
    """Each change of state is a line; the command ends once it is done; status tells the pause and by whom."""
    at = ("--path", str(tmp_path))
    said = flow("pause", "mean", *at)
    assert said.code == 0, said.err
    assert re.sub(r"\d\d:\d\d:\d\d", "T", said.out).splitlines()[-1].startswith("T  mean: paused: paused by ")
    status = flow("status", str(tmp_path))
    assert status.code == 0
    assert "mean.out: paused by " in status.out
    assert flow("restart", "mean", *at).err.strip() == "error: `mean` is paused: resume it"
    said = flow("resume", "mean", *at)
    assert (said.code, said.out.splitlines()[-1][10:]) == (0, "mean: running")
    said = flow("restart", "gauges", "store", *at)
    assert said.code == 0
    assert {line[10:] for line in said.out.splitlines()} >= {"gauges: running", "store: running"}
    said = flow("pause", "maen", *at)
    assert (said.code, "has no streamlet `maen`; did you mean `mean`?" in said.err) == (2, True)


@pytest.mark.parametrize("more", [(), ("--now",), ("--timeout", "30s")])
def test_stop_waits_for_the_end(flow: Flow, runner: Runner, tmp_path: Path, more: tuple[str, ...]) -> None:
    """Stop tells how the run ended; afterwards status says so with 3, and a second stop finds nothing to do."""
    said = flow("stop", str(tmp_path), *more)
    assert said.code == 0, said.err
    assert said.out.splitlines()[-1] == "ended: as asked (exit code 0)"
    status = flow("status", str(tmp_path))
    assert status.code == 3
    assert re.match(r"plant is not running; ended [\d:]+: as asked \(exit code 0\)", status.out)
    assert "last state" in status.out
    assert (flow("stop", str(tmp_path)).out, flow("stop", str(tmp_path)).code) == ("plant is not running\n", 0)
    said = flow("pause", "mean", "--path", str(tmp_path))
    assert (said.code, said.err.splitlines()[0]) == (1, "error: plant is not running")


def test_status_of_a_run_that_died(flow: Flow, runner: Runner, tmp_path: Path) -> None:
    """A status file that says `running` is not believed when nobody holds the lock."""
    runner.killed.set()
    runner.thread.join()
    said = flow("status", str(tmp_path))
    assert said.code == 1
    assert said.out.startswith("plant is not running: it died without a word, the last is of ")
    found = json.loads(flow("status", str(tmp_path), "--format", "json").out)["plant"]
    assert (found["alive"], found["health"]) == (False, "died")


def _last_word(state: StateDirectory, ago: float) -> None:
    """What a runner that started 100 seconds ago told of itself so many seconds ago."""
    file = StatusFile(state.status_file)
    file.event(RunStarted(time.time() - 100, "plant", ("mean",)))
    file.write(time.time() - ago)


def test_status_of_a_runner_that_cannot_write_it(flow: Flow, tmp_path: Path) -> None:
    """An old word of a runner that lives is not passed off for the present; the code is 1."""
    state = StateDirectory(tmp_path / ".flow", "plant")
    with state.locked():
        _last_word(state, ago=40)
        said = flow("status", str(tmp_path))
        found = json.loads(flow("status", str(tmp_path), "--format", "json").out)["plant"]
    assert (said.code, found["alive"], found["silent"]) == (1, True, True)
    assert re.match(
        r"plant was \w+ at [\d:]+ and has told nothing since, process \d+, up for 1 min 40 s: its state", said.out
    )


def test_status_tells_its_age(flow: Flow, tmp_path: Path) -> None:
    """A word that is not of just now says so, before it is old enough to be doubted."""
    state = StateDirectory(tmp_path / ".flow", "plant")
    with state.locked():
        _last_word(state, ago=20)
        said = flow("status", str(tmp_path))
    assert said.code == 0
    assert re.match(r"plant is starting as of 2\d s ago, process \d+, up for 1 min 40 s\n", said.out)


def test_status_shows_frames_before_the_cause(flow: Flow, tmp_path: Path) -> None:
    """A streamlet that failed for good: the user's place first, then what was raised; the code is 1."""
    state, failure = StateDirectory(tmp_path / ".flow", "plant"), Failure("ValueError: bad", ("plant.py:3 in mean",))
    with state.locked():
        file = StatusFile(state.status_file)
        file.event(RunStarted(1.0, "plant", ("mean",)))
        file.event(UnitChanged(2.0, unit_id("mean.out"), "failed", failure.cause, failure.frames))
        file.write(time.time())
        said = flow("status", str(tmp_path))
    assert said.code == 1
    assert said.out.startswith("plant is degraded, process ")
    assert said.out.endswith("\nmean.out: failed\n  at plant.py:3 in mean\n  ValueError: bad\n")


def test_status_shows_a_cause_of_several_lines(flow: Flow, tmp_path: Path) -> None:
    """What stands below its first line is the reason; it is in the JSON, too."""
    state, cause = (
        StateDirectory(tmp_path / ".flow", "plant"),
        "ContractError: the rows do not fit `R`:\n  no column `x`",
    )
    with state.locked():
        file = StatusFile(state.status_file)
        file.event(RunStarted(1.0, "plant", ("mean",)))
        file.event(UnitChanged(2.0, unit_id("mean.out"), "failed", cause))
        file.write(time.time())
        said, data = flow("status", str(tmp_path)), flow("status", str(tmp_path), "--format", "json")
    assert said.out.endswith("\nmean.out: failed: ContractError: the rows do not fit `R`:\n    no column `x`\n")
    assert json.loads(data.out)["plant"]["streamlets"][0]["cause"] == cause


def test_a_follower_shows_once_that_a_streamlet_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It starts as a whole, then its query does, maybe after a wait: that is one start."""
    state = StateDirectory(tmp_path, "plant")
    with state.locked():
        file = StatusFile(state.status_file)
        file.event(RunStarted(1.0, "plant", ("mean",)))
        follower = Follower(state)
        whole, query = unit_id("mean"), unit_id("mean.out")
        story = [
            UnitChanged(2.0, whole, "starting"),
            UnitChanged(3.0, query, "starting"),
            UnitChanged(4.0, query, "running"),
            UnitChanged(5.0, query, "starting"),
            UnitChanged(6.0, query, "running"),
        ]
        told = iter(story)

        def there(_: object) -> bool:
            event = next(told, None)
            if event is not None:
                file.event(event)
            return event is None

        monkeypatch.setattr("cli.following._LOOK_EVERY", 0.0)
        follower.until(there, 30)
    shown = [line[10:] for line in capsys.readouterr().out.splitlines()]
    assert shown == ["mean: running", "mean: starting", "mean: running"]


def test_a_duration_wants_a_unit(flow: Flow, tmp_path: Path) -> None:
    """A bare number would be taken for milliseconds elsewhere; here it is asked what it is of."""
    said = flow("stop", str(tmp_path), "--timeout", "30")
    assert (said.code, "30 of what? Give a unit, such as `30s`" in said.err) == (2, True)
