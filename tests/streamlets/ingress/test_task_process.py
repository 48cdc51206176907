"""Tasks that end their process, or never end: the attempt fails, the others go on, and nothing is left running."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from blueprint.avro.sources.loading import load_contract
from blueprint.diagnostics import Span
from streamlets.ingress.batch_sources.reading import TaskFailedError, TaskReader
from streamlets.ingress.batch_sources.settings import SourceSettings
from streamlets.ingress.batch_sources.task_process import TaskProcess
from streamlets.ingress.batch_sources.tasks import Task, payload_of
from streamlets.spark.failure import failure_of_text
from tests.streamlets.ingress.conftest import TASK_TOPIC

CONTRACT = load_contract("n long", base_directory=Path(), declared=Span("x", 1, 1, 1, 1)).contract
MODULE = '''
import ctypes, os, re, signal, subprocess, sys, time
from pathlib import Path
from streamlets import AvroOutlet, BatchSource


class Poison(BatchSource):
    """Does what its task says, after two records."""

    out = AvroOutlet(schema="n long")

    def open(self, config, context):
        self.directory = context.directory
        with (self.directory / "opened").open("a") as opened:
            opened.write("x")

    def discover(self, eat, event):
        pass

    def prepare(self, task):
        self.task, self.left = task, [1, 2]
        print("this does not reach the records")

    def read_next(self):
        if self.left:
            return {"n": self.left.pop()}
        if isinstance(self.task, int):
            n, self.task = self.task, self.task - 1
            return {"n": n} if n > 0 else None
        getattr(self, self.task)()

    def good(self):
        return None

    def exit(self):
        os._exit(3)

    def leave(self):
        sys.exit("tired")

    def crash(self):
        ctypes.string_at(0)

    def memory(self):  # as the kernel does when memory runs out
        os.kill(os.getpid(), signal.SIGKILL)

    def sleep(self):
        child = subprocess.Popen(["sleep", "1000"])
        (self.directory / "child").write_text(str(child.pid))
        time.sleep(1000)

    def spin(self):  # holds the lock of the interpreter
        re.match("(a*)*b", "a" * 40)

    def once(self):
        mark = self.directory / "mark"
        if not mark.exists():
            mark.touch()
            os._exit(1)

    def interrupt(self):
        raise KeyboardInterrupt

    def close(self):
        (self.directory / "closed").touch()
'''


def _settings(project: Path, **changes: Any) -> SourceSettings:
    assert CONTRACT is not None
    settings: dict[str, Any] = {
        "class_name": f"{project.name}.Poison", "streamlet": "source", "project": str(project), "config": {},
        "outlet": "out", "contract": CONTRACT.json, "broken_records": False, "max_tasks": 4, "max_attempts": 1,
        "retry_delay": 1.0, "timeout": 60.0, "on_failure": "dead-letters", "topic": TASK_TOPIC, "topics": Path(),
        "progress": Path(),
    }  # fmt: skip
    return SourceSettings(**settings | changes)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with the source, whose module has the name of its directory."""
    directory = tmp_path / f"poison_{abs(hash(tmp_path)):x}"
    directory.mkdir()
    (directory / f"{directory.name}.py").write_text(MODULE)
    return directory


class Reading:
    """Reads tasks with a process."""

    def __init__(self, project: Path, **changes: Any) -> None:
        settings = _settings(project, **changes)
        self.process = TaskProcess(settings)
        self._reader = TaskReader(settings, self.process, sleep=lambda seconds: None)

    def __call__(self, value: object) -> tuple[list[int], list[dict[str, Any]]]:
        """Return the records and the dead letters of a task."""
        rows = [row for batch in self._reader.read(Task(7, *payload_of(value))) for row in batch.to_pylist()]
        letters = [row["letter"] for row in rows if row["letter"] is not None]
        return [row["record"]["n"] for row in rows if row["letter"] is None], letters

    def until_in_time(self, value: object) -> list[int]:
        """Return the records of a task that is read again until it ends in time: on a busy machine a new process may
        need longer to open the source."""
        for _ in range(60):
            records, letters = self(value)
            if not letters:
                return records
            assert "did not end within" in letters[0]["reason"]
        raise AssertionError(f"`{value}` was never read in time")


@pytest.fixture
def reading(project: Path) -> Iterator[Reading]:
    """A reader whose attempts end after a minute."""
    reading = Reading(project)
    yield reading
    reading.process.close()


def test_tasks_are_read_in_one_process(reading: Reading, project: Path) -> None:
    """The source is opened once, and closed at the end; what it prints is not a record."""
    assert reading("good") == ([2, 1], []) and reading(1) == ([2, 1, 1], [])
    assert len(reading(5000)[0]) == 5002
    assert (project / "opened").read_text() == "x"
    reading.process.close()
    assert (project / "closed").exists()
    assert reading("good") == ([2, 1], [])  # it starts again


@pytest.mark.parametrize(
    ("task", "reason", "details"),
    [
        ("exit", "the process that read the task ended with exit code 3", ""),
        ("crash", "the process that read the task was killed by SIGSEGV", "in crash"),
        ("memory", "the process that read the task was killed by SIGKILL, as it is when memory runs out", ""),
        ("leave", "SystemExit: tired", "in leave"),
        ("interrupt", "KeyboardInterrupt: ", "in interrupt"),
    ],
)
def test_a_task_that_ends_its_process_is_set_aside(reading: Reading, task: str, reason: str, details: str) -> None:
    """After all attempts it is a dead letter, with the frames as far as known, and none of its records appears. The
    next task is read."""
    records, (letter,) = reading(task)
    assert records == [] and letter["reason"] == reason
    error = json.loads(letter["record"])
    assert details in error["error"] and reason.split(":")[0] in error["error"]
    if details:
        frames = failure_of_text(error["error"], building=False).frames
        assert [frame.rpartition(".py:")[2].partition(" ")[2] for frame in frames] == ["in read_next", details]
    assert reading("good") == ([2, 1], [])


def test_an_attempt_after_a_lost_process_may_succeed(project: Path) -> None:
    """Its records appear once. If all attempts lose their process, the dead letter has their number."""
    reading = Reading(project, max_attempts=2)
    assert reading("once") == ([2, 1], [])
    records, (letter,) = reading("exit")
    assert records == [] and json.loads(letter["record"])["attempts"] == 2
    reading.process.close()


@pytest.mark.parametrize("task", ["sleep", "spin"])
def test_a_task_that_does_not_end_is_set_aside(project: Path, task: str) -> None:
    """Its process is killed after `task-timeout`, with what it has started; the dead letter shows where it was."""
    reading = Reading(project, timeout=1.5)
    reading.until_in_time("good")
    records, (letter,) = reading(task)
    assert records == [] and letter["reason"] == "the task did not end within 1.5 s (`task-timeout`)"
    assert f"in {task}" in json.loads(letter["record"])["error"]
    if task == "sleep":
        assert _ends(int((project / "child").read_text()))
    assert reading.until_in_time("good") == [2, 1]
    reading.process.close()


def test_a_source_that_is_set_to_fail_names_the_signal(project: Path) -> None:
    """With `on-task-failure = fail` the query fails, with the task and the reason."""
    reading = Reading(project, on_failure="fail")
    with pytest.raises(TaskFailedError, match=r'the task 7 \("exit"\) failed: the process that read'):
        reading("exit")
    reading.process.close()


def test_the_process_ends_with_its_worker(project: Path) -> None:
    """Also if the worker is killed while a task blocks every thread of the process."""
    program = f"""
from tests.streamlets.ingress.test_task_process import _settings
from streamlets.ingress.batch_sources.task_process import TaskProcess
from streamlets.ingress.batch_sources.tasks import Task, payload_of
from pathlib import Path
process = TaskProcess(_settings(Path({str(project)!r})))
process.attempt(Task(1, *payload_of("good")))
print(process._process.pid, flush=True)
process.attempt(Task(1, *payload_of("spin")))
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        process = psutil.Process(int(worker.stdout.readline()))
        worker.kill()
    psutil.wait_procs([process], timeout=300)
    assert not _runs(process.pid)


def _ends(process: int, seconds: float = 60.0) -> bool:
    """Wait until a process that has been killed no longer runs; return whether that is so."""
    until = time.monotonic() + seconds
    while _runs(process) and time.monotonic() < until:
        time.sleep(0.01)
    return not _runs(process)


def _runs(process: int) -> bool:
    try:
        return psutil.Process(process).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
