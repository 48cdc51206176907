"""Real runs of spouts without Spark: `flow spouts`, pause and resume, and two runners on one state directory."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from benchmarks.processes import events, killed_at_end, left_behind, started_by, wait_until
from blueprint.plan import TopicPlan
from streamlets.channels.base import TopicLostError
from streamlets.channels.delta.channel import DeltaChannel
from tests.cli.conftest import Flow, flow  # noqa: F401 - the fixture

REPOSITORY = Path(__file__).resolve().parents[4]

BLUEPRINT = """
blueprint {
  streamlets {
    feed { class = streamlets.Spout, outlets.out = "number bigint", parameters { cmd = [python, feed.py] } }
    count { class = counting.Count }
  }
  topics { fed { producers = [feed.out] }, counted { producers = [count.out] } }
}
flow.application = numbers
"""
PROGRAM = """
import time
from streamlets import spout

number = spout.marker() or 0
while True:
    with spout.transaction() as transaction:
        transaction.emit({"number": number})
        number += 1
        transaction.marker = number
    time.sleep(0.05)
"""
GENERATOR = """
from streamlets import AvroOutlet, GeneratorSpout

class Count(GeneratorSpout):
    out = AvroOutlet(schema="number bigint")

    def run(self, out, resume):
        number = resume or 0
        while not out.wait(0.05):
            yield out.transaction([{"number": number}], resume=number + 1)
            number += 1
"""


@dataclass(frozen=True)
class Application:
    """An application with a program and a generator, which deliver numbers.

    Arguments:
        directory: its directory.
    """

    directory: Path

    def numbers(self, topic: str) -> list[int]:
        """Return the numbers in a topic, in their order."""
        plan = TopicPlan(topic, topic, "delta", True, (), (), {})
        with suppress(TopicLostError):  # no run has created it yet
            batches = DeltaChannel(self.directory / ".flow" / "numbers" / "topics").topic(plan).scan()
            return [row["number"] for batch in batches for row in batch.to_pylist()]
        return []

    def check(self) -> None:
        """Each number is there, once and in order."""
        for topic in ("fed", "counted"):
            numbers = self.numbers(topic)
            assert numbers == list(range(len(numbers)))

    @contextmanager
    def running(self, name: str) -> Iterator[Run]:
        """Run the application until the end of the context."""
        out = self.directory / f"{name}.jsonl"
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        command = [sys.executable, "-m", "cli.main", "run", str(self.directory), "--format", "json"]
        with out.open("wb") as file:
            environment = os.environ | {"PYTHONPATH": str(REPOSITORY), "PATH": path}
            process = subprocess.Popen(command, stdout=file, stderr=file, env=environment)
        with killed_at_end(process):
            yield Run(self, process, out)


@dataclass(frozen=True)
class Run:
    """A run of the application, and the file with its events."""

    application: Application
    process: subprocess.Popen[bytes]
    out: Path

    def until(self, reached: Callable[[], bool]) -> None:
        """Wait for a condition."""
        wait_until(self.process, self.out, reached)

    def delivers(self, *topics: str, more: int = 3) -> None:
        """Wait until topics have so many more numbers."""
        for topic in topics:
            before = len(self.application.numbers(topic))
            self.until(lambda topic=topic, before=before: len(self.application.numbers(topic)) >= before + more)  # type: ignore[misc]

    def states(self, ref: str) -> list[str]:
        """Return the states of a spout so far."""
        return [e["state"] for e in events(self.out) if e["event"] == "unit-changed" and e["streamlet"] == ref]


@pytest.fixture
def application(tmp_path: Path) -> Application:
    """Return the application in a directory."""
    for name, text in (("blueprint.conf", BLUEPRINT), ("feed.py", PROGRAM), ("counting.py", GENERATOR)):
        (tmp_path / name).write_text(text)
    return Application(tmp_path)


def shown(flow: Flow, application: Application) -> dict[str, dict[str, Any]]:  # noqa: F811 - a fixture
    """Return what `flow spouts` shows of each spout."""
    spouts = json.loads(flow("spouts", str(application.directory), "--format", "json").out)["numbers"]
    return {spout["ref"]: spout for spout in spouts}


def test_an_application_that_has_not_run(flow: Flow, application: Application) -> None:  # noqa: F811 - a fixture
    """The error says that there is nothing to show yet."""
    result = flow("spouts", str(application.directory))
    assert result.code == 2
    assert "numbers has not run yet" in result.err


def test_a_program_that_raises_has_the_line(application: Application) -> None:
    """The failure has the frames of a program in Python, as that of a generator has."""
    (application.directory / "feed.py").write_text("def read():\n    return [][1]\n\n\nread()\n")
    with application.running("first") as run:
        run.until(lambda: "backing-off" in run.states("feed"))
        failed = next(event for event in events(run.out) if event.get("state") == "backing-off")
    assert failed["cause"] == "exit code 1: IndexError: list index out of range"
    assert [frame.rpartition("/")[2] for frame in failed["frames"]] == ["feed.py:5 in <module>", "feed.py:2 in read"]


@pytest.mark.slow
def test_spouts_pause_and_resume(flow: Flow, application: Application) -> None:  # noqa: F811 - a fixture
    """While a spout is paused it delivers nothing, its program has ended, and the run goes on. It resumes where it was,
    and so does the next run, in which it is still paused."""
    at = ("--path", str(application.directory))
    with application.running("first") as run:
        run.delivers("fed", "counted")
        programs = [process for process in started_by(run.process.pid) if "feed.py" in " ".join(process.cmdline())]
        assert flow("pause", "feed", "count", *at).code == 0
        assert left_behind(programs) == []
        spouts = shown(flow, application)
        assert {ref: spout["state"] for ref, spout in spouts.items()} == {"feed": "paused", "count": "paused"}
        paused = {topic: application.numbers(topic) for topic in ("fed", "counted")}
        text = flow("spouts", str(application.directory)).out
        assert text.count("paused") == 2
        assert run.process.poll() is None
        assert {topic: application.numbers(topic) for topic in paused} == paused
        assert flow("resume", "count", *at).code == 0
        run.delivers("counted")
        assert application.numbers("fed") == paused["fed"]
        assert flow("resume", "feed", *at).code == 0
        run.delivers("fed")
        running = shown(flow, application)
        assert {ref: spout["state"] for ref, spout in running.items()} == {"feed": "running", "count": "running"}
        assert running["feed"]["epoch"] > spouts["feed"]["epoch"]
        assert flow("pause", "feed", *at).code == 0
        run.process.send_signal(signal.SIGTERM)  # a run ends also while a spout is paused
        assert run.process.wait(300) == 0
    application.check()
    stopped = shown(flow, application)
    for ref, topic in (("feed", "fed"), ("count", "counted")):
        assert stopped[ref]["state"] == "stopped"
        count = len(application.numbers(topic))
        assert (stopped[ref]["transactions"], stopped[ref]["records"]) == (count, count)
        assert (stopped[ref]["staged_transactions"], stopped[ref]["staged_bytes"]) == (0, 0)
    with application.running("second") as run:
        run.delivers("counted")
        assert shown(flow, application)["feed"]["state"] == "paused"  # until it is resumed
        assert flow("resume", "feed", *at).code == 0
        run.delivers("fed")
    application.check()


@pytest.mark.slow
def test_a_second_runner(application: Application) -> None:
    """The lock of the state directory refuses it. Where locks do not reach it, its spouts wait for the lease, and take
    over when the first runner is killed. No number is lost or doubled."""
    with ExitStack() as runs:
        first = runs.enter_context(application.running("first"))
        first.delivers("fed", "counted")
        with application.running("refused") as refused:
            assert refused.process.wait(300) != 0
            assert f"process {first.process.pid}" in refused.out.read_text()
        (application.directory / ".flow" / "numbers" / "lock").unlink()  # as on storage without locks
        second = runs.enter_context(application.running("second"))
        second.until(lambda: all("waiting" in _waits(second, ref) for ref in ("feed", "count")))
        first.delivers("fed", "counted")
        programs = [process for process in started_by(second.process.pid) if "feed.py" in " ".join(process.cmdline())]
        assert programs == []
        first.process.kill()
        first.process.wait()
        second.delivers("fed", "counted")
        assert second.states("feed")[-1] == second.states("count")[-1] == "running"
    application.check()


@pytest.mark.full
@pytest.mark.slow
def test_a_runner_that_was_suspended(application: Application) -> None:
    """Its lease expires, another runner takes over, and when it wakes up it cannot publish."""
    with ExitStack() as runs:
        first = runs.enter_context(application.running("first"))
        first.delivers("fed", "counted")
        first.process.send_signal(signal.SIGSTOP)
        (application.directory / ".flow" / "numbers" / "lock").unlink()
        second = runs.enter_context(application.running("second"))
        second.delivers("fed", "counted")
        first.process.send_signal(signal.SIGCONT)
        first.until(lambda: all("backing-off" in first.states(ref) for ref in ("feed", "count")))
        second.delivers("fed", "counted")
    application.check()


def _waits(run: Run, ref: str) -> str:
    """Return what a spout waits for."""
    return " ".join(
        f"waiting {event['waiting']}"
        for event in events(run.out)
        if event["event"] == "unit-changed" and event["streamlet"] == ref and event.get("waiting")
    )
