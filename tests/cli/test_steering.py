"""`flow status`, `stop`, `pause`, `resume`, `restart` and `scale` with a runner without Spark, a dead one, and none."""

from __future__ import annotations

import contextlib
import json
import re
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from queue import Empty, SimpleQueue

import pytest

from cli.runs.follower import Follower
from streamlets.runner.events.event import Event
from streamlets.runner.events.publisher import Publisher
from streamlets.runner.events.run_events import RunEnded, RunStarted
from streamlets.runner.events.status_file import StatusFile
from streamlets.runner.events.unit_events import UnitChanged, UnitProgressed, UnitSplit
from streamlets.runner.orders import Orders
from streamlets.runner.state_directory.control import Request
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.runner.supervision.gate import Opening
from streamlets.spark.failure import Failure
from tests.cli.conftest import Flow
from tests.streamlets.runner.supervision.bench import Bench, unit_id


class Runner:
    """A runner without Spark: lock, requests, status and a supervisor whose units obey immediately."""

    def __init__(self, root: Path, openings: Mapping[str, Iterable[Opening]] | None = None) -> None:
        self.openings = openings
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
            publisher = Publisher([file])
            orders = Orders(self.state, self.inbox.put, lambda arguments: "", planned={"mean": 1})
            bench = Bench(["gauges", "mean.out", "store"], openings=self.openings)
            bench.units["store"].unscalable = "it is one"
            bench.now = time.time()
            bench.events[:0] = [RunStarted(time.time(), "plant", ("gauges", "mean", "store"))]
            for name in bench.units:
                bench.started(name)
            batch = UnitProgressed(time.time(), unit_id("mean.out"), 0, 1200, {"out": 40}, backlog={"in": 7})
            bench.events.append(batch)
            written = 0
            while not bench.supervisor.done and not self.killed.is_set():
                for event in bench.events[written:]:
                    publisher.publish(event)
                file.write(time.time())
                written = len(bench.events)
                self.up.set()
                bench.now = time.time()
                with contextlib.suppress(Empty):
                    orders.carry_out(self.inbox.get(timeout=0.02), bench.supervisor)
                self._obey(bench)
            if not self.killed.is_set():
                for event in [*bench.events[written:], RunEnded(time.time(), 0, "as asked")]:
                    publisher.publish(event)
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
    """A running application of three streamlets."""
    runner = Runner(tmp_path)
    yield runner
    runner.killed.set()
    runner.thread.join()


def test_status_of_a_running_application(flow: Flow, runner: Runner, tmp_path: Path) -> None:
    """The status has the process, and each streamlet's state and rows; empty columns are omitted."""
    result = flow("status", str(tmp_path))
    assert result.code == 0, result.err
    head, _, columns, *rows = result.out.splitlines()
    assert re.fullmatch(r"plant is running, process \d+, up for \d+ s", head)
    assert columns.split() == ["streamlet", "state", "for", "in", "out", "rows/s", "backlog"]
    assert [row.split()[:2] for row in rows] == [["gauges", "running"], ["mean", "running"], ["store", "running"]]
    assert rows[1].split()[4:6] == ["1,200", "40"]
    status = json.loads(flow("status", str(tmp_path), "--format", "json").out)["plant"]
    assert (status["alive"], status["health"]) == (True, "running")


def test_pause_resume_and_restart_show_the_changes(flow: Flow, runner: Runner, tmp_path: Path) -> None:
    """Each change of state is a line until the request is completed; the status shows who paused a streamlet."""
    at = ("--path", str(tmp_path))
    result = flow("pause", "mean", *at)
    assert result.code == 0, result.err
    assert re.sub(r"\d\d:\d\d:\d\d", "T", result.out).splitlines()[-1].startswith("T  mean: paused: paused by ")
    status = flow("status", str(tmp_path))
    assert status.code == 0
    assert "mean.out: paused by " in status.out
    assert flow("restart", "mean", *at).err.strip() == "error: `mean` is paused: resume it"
    result = flow("resume", "mean", *at)
    assert (result.code, result.out.splitlines()[-1][10:]) == (0, "mean: running")
    result = flow("restart", "gauges", "store", *at)
    assert result.code == 0
    assert {line[10:] for line in result.out.splitlines()} >= {"gauges: running", "store: running"}
    result = flow("pause", "maen", *at)
    assert (result.code, "has no streamlet `maen`; did you mean `mean`?" in result.err) == (2, True)


def test_scale_restarts_a_streamlet_with_a_number_for_the_run(flow: Flow, runner: Runner, tmp_path: Path) -> None:
    """The answer says for how long, and how to keep it; the status shows a number that differs from the blueprint. A
    paused streamlet is not started. The same number again, and what has no replicas, are refused."""
    at = ("--path", str(tmp_path))
    result = flow("scale", "mean", "4", *at)
    assert result.code == 0, result.err
    *changes, kept = result.out.splitlines()
    assert changes[-1][10:] == "mean: running"
    assert kept == "mean: 4 replicas in this run; to keep the number, set `flow.streamlets.mean.replicas = 4`"
    assert "replicas" in flow("status", str(tmp_path)).out.splitlines()[2]
    streamlets = json.loads(flow("status", str(tmp_path), "--format", "json").out)["plant"]["streamlets"]
    assert {streamlet["ref"]: streamlet["replicas"] for streamlet in streamlets} == {
        "gauges": None, "mean": 4, "store": None,
    }  # fmt: skip
    result = flow("scale", "mean", "4", *at)
    assert (result.code, result.err.strip()) == (1, "error: `mean` has this number of replicas already")
    result = flow("scale", "store", "2", *at)
    assert (result.code, result.err.strip()) == (1, "error: `store` has no replicas: it is one")
    assert flow("pause", "mean", *at).code == 0
    result = flow("scale", "mean", "2", *at, "--format", "jsonl")
    answer = json.loads(result.out.splitlines()[-1])
    assert (result.code, answer["replicas"], answer["state"]) == (0, 2, "paused")
    assert "when it is resumed (it is paused)" in flow("scale", "mean", "3", *at).out
    result = flow("scale", "mean", "1", *at)
    assert result.code == 0, result.err
    assert result.out.splitlines()[-1].endswith("when it is resumed (it is paused), as in the blueprint")
    assert "replicas" not in flow("status", str(tmp_path)).out, "one is what its blueprint has"


def test_commands_end_when_a_streamlet_waits_for_others(flow: Flow, tmp_path: Path) -> None:
    """A sequential inlet may wait for hours. The commands show for whom, and do not wait with it."""
    runner = Runner(tmp_path, {"mean": [Opening(producers=frozenset({"gauges"}), sequential=True)]})
    try:
        location = ("--path", str(tmp_path), "--timeout", "60s")
        assert flow("pause", "mean", *location).code == 0
        for command in (("resume", "mean"), ("restart", "mean"), ("scale", "mean", "3")):
            result = flow(*command, *location)
            assert (result.code, result.err) == (0, ""), command
            assert "mean: starting, waiting for the end of gauges" in result.out.splitlines(), command
        assert "waiting for the end of gauges" in flow("status", str(tmp_path)).out
        assert "waiting for the end of gauges" in flow("health", "mean", "--path", str(tmp_path)).out
    finally:
        runner.killed.set()
        runner.thread.join()


def test_statements_show_and_stop_queries(flow: Flow, runner: Runner, tmp_path: Path) -> None:
    """A query has its own name where it is unique. The run ends with the stop of its last query."""
    at = str(tmp_path)
    result = flow("sql", at, "-e", "show streams;")
    assert result.code == 0, result.err
    columns, *rows = result.out.splitlines()
    assert columns.split() == ["stream", "state", "for", "in", "rows/s", "backlog", "restarts"]
    assert [row.split()[:2] for row in rows] == [["gauges", "running"], ["out", "running"], ["store", "running"]]
    result = flow("sql", at, "-e", "STOP STREAM mean.out; -- the only one")
    assert (result.code, result.out.startswith("out: stopped by ")) == (0, True), result.err
    result = flow("sql", at, "-e", "STOP STREAM OUT")
    assert (result.code, result.err.strip()) == (1, "error: `mean.out` has already stopped")
    result = flow("sql", at, "-e", "STOP STREAM otu")
    assert (result.code, "plant has no query `otu`; did you mean `out`?" in result.err) == (2, True)
    result = flow("sql", at, "-e", "SAVE STREAM a TO console")
    assert (result.code, "line 1, column 1: expected `SHOW STREAMS`" in result.err) == (2, True)
    assert flow("status", at).code == 0, "a stop on request is not a failure"
    result = flow("sql", at, "--format", "json", "-e", "SHOW STREAMS", "-e", "STOP STREAM gauges; STOP STREAM store")
    assert result.code == 0, result.err
    shown, *stopped = json.loads(result.out)
    assert [(stream["stream"], stream["state"]) for stream in shown["streams"]] == [
        ("gauges", "running"), ("out", "stopped"), ("store", "running"),
    ]  # fmt: skip
    assert [(stop["statement"], stop["state"]) for stop in stopped] == [
        ("STOP STREAM gauges", "stopped"), ("STOP STREAM store", "stopped"),
    ]  # fmt: skip
    runner.thread.join(timeout=300)
    assert not runner.thread.is_alive()


def test_a_path_is_an_option(
    flow: Flow, runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """Arguments are streamlets, unlike for other commands. A path among them, or no application here, has a hint."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    result = flow("pause", "mean")
    assert (result.code, "; name the application's directory with `--path`" in result.err) == (2, True)
    monkeypatch.chdir(tmp_path)
    result = flow("pause", "elsewhere", "mean")
    assert (result.code, "; name the application's directory with `--path elsewhere`" in result.err) == (2, True)


@pytest.mark.parametrize("more", [(), ("--now",), ("--timeout", "30s")])
def test_stop_waits_for_the_end(flow: Flow, runner: Runner, tmp_path: Path, more: tuple[str, ...]) -> None:
    """`flow stop` prints how the run ended; then `flow status` has exit code 3, and a second stop does nothing."""
    result = flow("stop", str(tmp_path), *more)
    assert result.code == 0, result.err
    assert result.out.splitlines()[-1] == "ended: as asked (exit code 0)"
    status = flow("status", str(tmp_path))
    assert status.code == 3
    assert re.match(r"plant is not running; ended at [\d:]+: as asked \(exit code 0\)", status.out)
    assert "last state" in status.out
    assert (flow("stop", str(tmp_path)).out, flow("stop", str(tmp_path)).code) == ("plant is not running\n", 0)
    result = flow("pause", "mean", "--path", str(tmp_path))
    assert (result.code, result.err.splitlines()[0]) == (1, "error: plant is not running")


@pytest.mark.parametrize("arguments", [("pause", "a"), ("scale", "a", "2")])
def test_an_application_that_has_not_run_yet(flow: Flow, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    """There is no end to look at: the help says how it is started, and with how many replicas."""
    (tmp_path / "blueprint.conf").write_text("blueprint { streamlets { a = app.A } }")
    result = flow(*arguments, "--path", str(tmp_path))
    error, help = result.err.strip().splitlines()
    assert (result.code, error) == (1, f"error: {tmp_path.name} has not run yet")
    replicas = ", which begins with `flow.streamlets.a.replicas` of the blueprint" if "scale" in arguments else ""
    assert help.strip() == f"help: start it with `flow run`{replicas}"


def test_the_application_of_the_blueprint_is_meant(flow: Flow, runner: Runner, tmp_path: Path) -> None:
    """Another one that runs in the same state directory is not stopped instead."""
    blueprint = tmp_path / "blueprint.conf"
    StateDirectory(tmp_path / ".flow", "own").directory.mkdir()
    (tmp_path / ".flow" / "own" / "lock").touch()
    blueprint.write_text("flow.application = own", encoding="utf-8")
    stopped = flow("stop", str(tmp_path))
    assert "own" in stopped.out + stopped.err
    assert runner.state.owner() is not None
    blueprint.write_text("flow.application = renamed", encoding="utf-8")
    assert flow("stop", str(tmp_path)).code == 0
    assert runner.state.owner() is None


def test_status_of_a_run_that_died(flow: Flow, runner: Runner, tmp_path: Path) -> None:
    """A status of `running` is wrong if no process owns the lock."""
    runner.killed.set()
    runner.thread.join()
    result = flow("status", str(tmp_path))
    assert result.code == 1
    assert result.out.startswith("plant is not running: it was killed or crashed; last status update at ")
    status = json.loads(flow("status", str(tmp_path), "--format", "json").out)["plant"]
    assert (status["alive"], status["health"]) == (False, "died")


def _write_status(state: StateDirectory, ago: float) -> None:
    """Write the status of a run that started 100 seconds ago.

    Arguments:
        state: the state directory of the application.
        ago: the age of the status in seconds.
    """
    file = StatusFile(state.status_file)
    publisher = Publisher([file])
    publisher.publish(RunStarted(time.time() - 100, "plant", ("mean",)))
    file.write(time.time() - ago)


def test_status_of_a_runner_that_cannot_write_it(flow: Flow, tmp_path: Path) -> None:
    """An old status of a live runner is reported as old; the exit code is 1."""
    state = StateDirectory(tmp_path / ".flow", "plant")
    with state.locked():
        _write_status(state, ago=40)
        result = flow("status", str(tmp_path))
        status = json.loads(flow("status", str(tmp_path), "--format", "json").out)["plant"]
    assert (result.code, status["alive"], status["silent"]) == (1, True, True)
    assert re.match(
        r"plant was \w+; no status update since [\d:]+, process \d+, up for 1 min 40 s: its state", result.out
    )


def test_a_status_is_shown_with_its_age(flow: Flow, tmp_path: Path) -> None:
    """A status that is not recent has its age before it is old enough for an error."""
    state = StateDirectory(tmp_path / ".flow", "plant")
    with state.locked():
        _write_status(state, ago=20)
        result = flow("status", str(tmp_path))
    assert result.code == 0
    assert re.match(r"plant is starting as of 2\d s ago, process \d+, up for 1 min 40 s\n", result.out)


def test_status_shows_frames_before_the_cause(flow: Flow, tmp_path: Path) -> None:
    """For a failed streamlet, the frames of the user's code come first, then the exception; the exit code is 1."""
    state, failure = StateDirectory(tmp_path / ".flow", "plant"), Failure("ValueError: bad", ("plant.py:3 in mean",))
    with state.locked():
        file = StatusFile(state.status_file)
        publisher = Publisher([file])
        publisher.publish(RunStarted(1.0, "plant", ("mean",)))
        publisher.publish(UnitChanged(2.0, unit_id("mean.out"), "failed", failure.cause, failure.frames))
        file.write(time.time())
        result = flow("status", str(tmp_path))
    assert result.code == 1
    assert result.out.startswith("plant is degraded, process ")
    assert result.out.endswith("\nmean.out: failed\n  at plant.py:3 in mean\n  ValueError: bad\n")


def test_status_shows_a_cause_of_several_lines(flow: Flow, tmp_path: Path) -> None:
    """All its lines are shown, and are in the JSON, too."""
    state, cause = (
        StateDirectory(tmp_path / ".flow", "plant"),
        "ContractError: the rows do not fit `R`:\n  no column `x`",
    )
    with state.locked():
        file = StatusFile(state.status_file)
        publisher = Publisher([file])
        publisher.publish(RunStarted(1.0, "plant", ("mean",)))
        publisher.publish(UnitChanged(2.0, unit_id("mean.out"), "failed", cause))
        file.write(time.time())
        result, data = flow("status", str(tmp_path)), flow("status", str(tmp_path), "--format", "json")
    assert result.out.endswith("\nmean.out: failed: ContractError: the rows do not fit `R`:\n    no column `x`\n")
    assert json.loads(data.out)["plant"]["streamlets"][0]["cause"] == cause


def test_a_follower_shows_a_start_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A streamlet starts first and its query later; both are one start."""
    state = StateDirectory(tmp_path, "plant")
    with state.locked():
        file = StatusFile(state.status_file)
        publisher = Publisher([file])
        publisher.publish(RunStarted(1.0, "plant", ("mean",)))
        follower = Follower(state)
        whole, query = unit_id("mean"), unit_id("mean.out")
        events: list[Event] = [
            UnitChanged(2.0, whole, "starting"),
            UnitSplit(3.0, whole, ("out",)),
            UnitChanged(3.0, query, "starting"),
            UnitChanged(4.0, query, "running"),
            UnitChanged(5.0, query, "starting"),
            UnitChanged(6.0, query, "running"),
        ]
        remaining = iter(events)

        def reached(_: object) -> bool:
            event = next(remaining, None)
            if event is not None:
                publisher.publish(event)
            return event is None

        monkeypatch.setattr("cli.runs.follower._POLL_INTERVAL", 0.0)
        follower.until(reached, 30)
    lines = [line[10:] for line in capsys.readouterr().out.splitlines()]
    assert lines == ["mean: running", "mean: starting", "mean: running"]


def test_a_command_shows_that_it_waits_for_an_answer(
    flow: Flow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A runner that starts Spark answers when Spark is up. Nothing of this reaches the standard output."""
    monkeypatch.setattr("cli.runs.follower._ANSWER_TIMEOUT", 0.5)
    monkeypatch.setattr("cli.runs.follower._ANSWER_AWAITED_AFTER", 0.0)
    state = StateDirectory(tmp_path / ".flow", "plant")
    with state.locked():
        _write_status(state, ago=1)
        result = flow("stop", str(tmp_path), "--format", "jsonl")
    assert (result.code, result.out) == (1, "")
    first, second, *_ = result.err.splitlines()
    assert first == "waiting for plant to answer; it may be starting Spark or verifying a new version"
    assert second.startswith("error: the runner of plant") and "has not answered" in second


def test_a_follower_shows_what_it_waits_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While nothing changes, people see the streamlets that are not there yet, and how long it has taken."""
    state = StateDirectory(tmp_path, "plant")
    monkeypatch.setattr("cli.runs.follower._POLL_INTERVAL", 0.0)
    monkeypatch.setattr("cli.runs.follower._WAIT_SHOWN_AFTER", 0.0)
    with state.locked():
        publisher = Publisher([StatusFile(state.status_file)])
        publisher.publish(RunStarted(1.0, "plant", ("gauges", "mean")))
        publisher.publish(UnitChanged(2.0, unit_id("gauges"), "stopped"))
        publisher.publish(UnitChanged(2.0, unit_id("mean"), "draining"))
        for form in ("text", "jsonl"):
            polls = iter(range(3))
            Follower(state, form=form).until(lambda _: next(polls) == 2, 30, lambda _: "the end of the run")  # noqa: B023
    lines = [line[10:] for line in capsys.readouterr().out.splitlines()]
    assert lines == ["waiting for the end of the run, 0 s so far: mean (draining)"] * 2


def test_changes_are_reported_as_json_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An object per change, with the time, the streamlet, its state and the cause; causes of several lines stay one."""
    state = StateDirectory(tmp_path, "plant")
    with state.locked():
        publisher = Publisher([StatusFile(state.status_file)])
        publisher.publish(RunStarted(1.0, "plant", ("mean",)))
        follower = Follower(state, form="jsonl")
        publisher.publish(UnitChanged(2.0, unit_id("mean.out"), "failed", "ValueError: bad\n  at plant.py:3"))
        follower.until(lambda status: bool(status.streamlets), 30)
    (line,) = capsys.readouterr().out.splitlines()
    change = json.loads(line)
    assert datetime.fromisoformat(change.pop("time")).tzinfo is not None
    assert change == {
        "application": "plant", "streamlet": "mean", "state": "failed", "cause": "ValueError: bad\n  at plant.py:3",
    }  # fmt: skip


def test_a_duration_needs_a_unit(flow: Flow, tmp_path: Path) -> None:
    """A number without a unit is refused: it would be milliseconds in a blueprint."""
    result = flow("stop", str(tmp_path), "--timeout", "30")
    assert (result.code, "`30` has no unit; write, for example, `30s`" in result.err) == (2, True)
