"""`flow health`: each judgement with its reason and its exit code, from status files and a run without Spark."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.processes import killed_at_end, wait_until
from cli.commands import health
from streamlets.runner.events.event import Event
from streamlets.runner.events.publisher import Publisher
from streamlets.runner.events.run_events import RunEnded, RunStarted
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.status_file import StatusFile
from streamlets.runner.events.unit_events import (
    BatchStuck,
    UnitChanged,
    UnitMeasured,
    UnitOverdue,
    UnitProgressed,
    UnitRecovered,
    UnitStuck,
)
from streamlets.runner.state_directory.directory import StateDirectory
from tests.cli.conftest import Flow

REPOSITORY = Path(__file__).resolve().parents[2]
MEAN, COPY = UnitId("mean", "out"), UnitId("copy", "out")
NOW = 1_000_000.0
UP = (UnitChanged(NOW - 90, MEAN, "running"), UnitChanged(NOW - 90, COPY, "running"))
WAITING = (UnitMeasured(NOW - 8, MEAN, {"in": 40}), UnitOverdue(NOW - 5, MEAN, 120.0, 40))
STUCK = (
    UnitMeasured(NOW - 70, MEAN, {}, (3, NOW - 720)),
    BatchStuck(NOW - 60, MEAN, batch=3, since=NOW - 720, seconds=660.0, frames=("plant.py:7 in slow",)),
)

HUNG = UnitStuck(
    time=NOW - 60, unit=MEAN, what="no end of its discovery", since=NOW - 720,
    frames=("plant.py:3 in discover", "plant.py:7 in slow"),
)  # fmt: skip

Written = Callable[..., StateDirectory]


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Written:
    """Return a function that writes the status of an application `plant` after some events."""
    monkeypatch.chdir(tmp_path)

    def write(*events: Event, at: float = NOW) -> StateDirectory:
        state = StateDirectory(tmp_path / ".flow", "plant")
        with state.locked():
            file = StatusFile(state.status_file)
            publisher = Publisher([file])
            for event in (RunStarted(NOW - 100, "plant", ("mean", "copy")), *events):
                publisher.publish(event)
            file.write(at)
        return state

    return write


@pytest.mark.parametrize(
    ("events", "code", "expected"),
    [
        (UP, 0, ("healthy", "", 90.0)),
        ((*UP, *WAITING), 3, ("overdue", "40 records wait, and no batch is committed", 90.0)),
        (
            (*UP, UnitMeasured(NOW - 9, MEAN, {"in": 1}), UnitOverdue(NOW - 5, MEAN, 120.0, 1),
             UnitChanged(NOW - 4, MEAN, "backing-off", "ValueError: 7\nmore", retry_in=3.0)),
            3, ("overdue", "1 record waits, and no batch is committed: ValueError: 7", 4.0),
        ),
        ((*UP, *WAITING, UnitProgressed(NOW - 1, MEAN, 3, 40, seconds=1.0)), 0, ("healthy", "", 90.0)),
        ((*UP, *WAITING, UnitMeasured(NOW - 1, MEAN, {"in": 0})), 0, ("healthy", "", 90.0)),
        ((*UP, *WAITING, UnitChanged(NOW - 2, MEAN, "paused", "paused by ann")), 0, ("healthy", "paused by ann", 2.0)),
        ((*UP, *STUCK), 3, ("stuck", "batch 3 has been running for 12 min at plant.py:7 in slow", 720.0)),
        (
            (*UP, UnitChanged(NOW - 4, MEAN, "backing-off", "its driver process exited", retry_in=9.0, lost=True)),
            1, ("lost", "its driver process exited", 4.0),
        ),
        (
            (*UP, UnitChanged(NOW - 4, MEAN, "backing-off", "its driver process exited", retry_in=1.0, lost=True),
             UnitChanged(NOW - 3, MEAN, "starting")), 0, ("healthy", "starting", 3.0),
        ),
        ((*UP, HUNG), 3, ("stuck", "no end of its discovery for 12 min at plant.py:7 in slow", 720.0)),
        ((*UP, HUNG, UnitRecovered(NOW - 1, MEAN)), 0, ("healthy", "", 90.0)),
        ((*UP, HUNG, UnitProgressed(NOW - 1, MEAN, None, 0, {"tasks": 1})), 0, ("healthy", "", 90.0)),
        (
            (*UP, HUNG, UnitChanged(NOW - 1, MEAN, "backing-off", "stuck: no end", retry_in=3.0)),
            0, ("healthy", "stuck: no end", 1.0),
        ),
        ((*UP, UnitChanged(NOW - 6, MEAN, "failed", "ValueError: 7")), 1, ("failed", "ValueError: 7", 6.0)),
        (
            (*UP, UnitChanged(NOW - 4, MEAN, "backing-off", "ValueError: 7", retry_in=3.0)),
            0, ("healthy", "ValueError: 7", 4.0),
        ),
        (
            (UnitChanged(NOW - 50, MEAN, "starting", waiting="waiting for copy"), UP[1]),
            0, ("healthy", "waiting for copy", 50.0),
        ),
    ],
)  # fmt: skip
def test_a_streamlet_is_judged(
    flow: Flow, written: Written, events: tuple[Event, ...], code: int, expected: tuple[str, str, float],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """The reason is one line, and the other streamlet is healthy. Ages do not depend on this machine's clock."""
    monkeypatch.setattr("cli.runs.current.time.time", lambda: NOW)
    with written(*events).locked():
        result = flow("health", "--format", "json")
        assert flow("health", "copy").code == 0
    data = json.loads(result.out)
    mean, copy = data["streamlets"]
    assert (result.code, data["running"]) == (code, True)
    assert (mean["health"], mean["reason"], mean["seconds"]) == expected
    assert (copy["streamlet"], copy["health"]) == ("copy", "healthy")


def test_a_run_that_was_killed_is_lost(flow: Flow, written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its streamlets are lost since its last status, but those that had ended before."""
    written(*UP, UnitChanged(NOW - 1, COPY, "completed"))
    monkeypatch.setattr("cli.commands.health.time.time", lambda: NOW + 7)
    result = flow("health")
    assert result.code == 1
    first, heading, mean, copy = result.out.splitlines()
    assert (first, heading.split()) == ("plant is not running", ["streamlet", "health", "for", "reason"])
    assert mean.split(maxsplit=4) == ["mean", "lost", "7", "s", "it was running; the process of the run has exited"]
    assert copy.split()[:2] == ["copy", "healthy"]
    assert flow("health", "copy").code == 3


def test_an_application_that_does_not_run(flow: Flow, written: Written, tmp_path: Path) -> None:
    """It never ran, or ended normally."""
    (tmp_path / "blueprint.conf").write_text("blueprint {}")
    never = flow("health")
    assert (never.code, never.out) == (3, f"{tmp_path.name} is not running\n")
    written(*(UnitChanged(NOW - 1, unit, "stopped") for unit in (MEAN, COPY)), RunEnded(NOW, 0))
    ended = flow("health", "--application", "plant")
    assert (ended.code, ended.out.splitlines()[0]) == (3, "plant is not running")


@pytest.mark.parametrize("content", ["", "garbage", "{}", '{"version": 1, "streamlets": 3}'])
def test_a_status_that_cannot_be_read_is_not_the_absence_of_one(flow: Flow, written: Written, content: str) -> None:
    """All commands name the file, and the exit code is the one of a failure."""
    state = written(*UP, RunEnded(NOW, 0))
    state.status_file.write_text(content)
    told = "the status of plant is not known: `.flow/plant/status/status.json` cannot be read; it is not running, "
    for command in (("status",), ("status", "--ports"), ("status", "--sort", "busy"), ("health",), ("health", "mean")):
        result = flow(*command, "--application", "plant")
        assert (result.code, result.out, result.err) == (1, told + "and a run writes the file again\n", "")
    data = json.loads(flow("status", "--application", "plant", "--format", "json").out)
    error = told + "and a run writes the file again"
    assert data["plant"] == {"alive": False, "silent": False, "streamlets": [], "error": error, "health": "unknown"}


def test_a_run_that_writes_no_status_is_lost(flow: Flow, written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is watched before it is called so, because the clock may have been set."""
    monkeypatch.setattr(health, "_PATIENCE", 0.5)
    state = written(*UP)
    with state.locked():
        silent = flow("health", "mean")
        file = StatusFile(state.status_file)
        publisher = Publisher([file])
        publisher.publish(RunStarted(NOW - 100, "plant", ("mean", "copy")))
        writer = threading.Timer(0.2, publisher.publish, [UP[0]])
        writer.start()
        monkeypatch.setattr(health, "_PATIENCE", 60.0)
        writing = flow("health")
        writer.join()
    assert (silent.code, "it was running; its process" in silent.out, "writes no status" in silent.out) == (
        1,
        True,
        True,
    )
    assert "plant does not respond: its process" in silent.out
    assert writing.code == 0


def test_a_streamlet_that_is_not_there(flow: Flow, written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    """The argument is wrong."""
    monkeypatch.setattr("cli.runs.current.time.time", lambda: NOW)
    with written(*UP).locked():
        result, path = flow("health", "maen"), flow("health", ".")
    assert result.code == path.code == 2
    assert "plant has no streamlet `maen`; did you mean `mean`?" in " ".join(result.err.split())
    assert "name the application's directory with `--path .`" in " ".join(path.err.split())


def test_processes_that_are_killed_are_lost(flow: Flow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a real run: the program of a spout until its restart, then all that runs with the runner. The other spout,
    which has nothing to deliver, is healthy as long as the runner lives."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "blueprint.conf").write_text(
        """
        blueprint {
          streamlets {
            killed { class = streamlets.Spout, outlets.out = "n long", retry.min-backoff = 1 hour }
            silent { class = streamlets.Spout, outlets.out = "n long" }
          }
          topics { killed.producers = [killed.out], silent.producers = [silent.out] }
        }
        flow { application = plant, streamlets {
          killed.parameters.cmd = [sh, -c, "echo $$ > pid; exec sleep 1000"]
          silent.parameters.cmd = [sleep, "1000"]
        } }
        """
    )
    out = tmp_path / "run.out"

    def judged(*refs: str) -> tuple[int, dict[str, tuple[str, str]]]:
        result = flow("health", *refs, "--format", "json")
        found = {one["streamlet"]: (one["health"], one["reason"]) for one in json.loads(result.out)["streamlets"]}
        return result.code, found

    with out.open("wb") as file:
        run = subprocess.Popen(
            [sys.executable, "-m", "cli.main", "run"], stdout=file, stderr=file,
            env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
        )  # fmt: skip
    with killed_at_end(run):
        pid = tmp_path / "pid"
        wait_until(run, out, lambda: pid.exists() and pid.read_text().endswith("\n"))
        wait_until(run, out, lambda: judged() == (0, {"killed": ("healthy", ""), "silent": ("healthy", "")}))
        os.kill(int(pid.read_text()), signal.SIGKILL)
        wait_until(run, out, lambda: judged("killed") == (1, {"killed": ("lost", "ended by SIGKILL")}))
        assert judged("silent") == (0, {"silent": ("healthy", "")})
        run.kill()
        run.wait()
        gone = "the process of the run has exited"
        assert judged() == (
            1, {"killed": ("lost", f"it was backing-off; {gone}"), "silent": ("lost", f"it was running; {gone}")}
        )  # fmt: skip


@pytest.mark.full
@pytest.mark.slow
def test_a_runner_whose_interpreter_is_blocked_is_lost(
    flow: Flow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code in its own process hangs in C with the interpreter lock: it can do nothing, so only others can report it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "blocking.py").write_text(
        "import ctypes\n"
        "from streamlets import AvroOutlet, GeneratorSpout\n\n\n"
        "class Blocks(GeneratorSpout):\n"
        '    out = AvroOutlet(schema="n long")\n\n'
        "    def run(self, out, resume):\n"
        '        yield out.transaction([{"n": 1}])\n'
        "        c, mutex = ctypes.PyDLL(None), ctypes.create_string_buffer(64)\n"
        "        c.pthread_mutex_lock(mutex)\n"
        "        c.pthread_mutex_lock(mutex)\n"
    )
    (tmp_path / "blueprint.conf").write_text(
        "blueprint { streamlets.blocks = blocking.Blocks, topics.rows.producers = [blocks.out] }\n"
        "flow { application = plant, on-stuck = restart, stuck-after = 1 s }\n"
    )
    out = tmp_path / "run.out"
    with out.open("wb") as file:
        run = subprocess.Popen(
            [sys.executable, "-m", "cli.main", "run"], stdout=file, stderr=file,
            env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
        )  # fmt: skip

    def judged() -> tuple[int, str]:
        result = flow("health", "--format", "json")
        streamlets = json.loads(result.out)["streamlets"]
        return result.code, streamlets[0]["reason"] if streamlets else ""

    with killed_at_end(run):
        wait_until(run, out, lambda: judged() == (1, f"it was running; its process {run.pid} writes no status"))
