"""A batch source: every task is read, none is lost, and no record is in the egress twice.

A source of 500 tasks is killed while it discovers, reads and commits: at crash points, or with `kill -9` of the runner
or of all its processes, and sometimes of a process that reads. After each kill nothing may be left running. At the end
every task must be in the task topic once, and its records must be once in the topic and in the files of the egress. A
task may have been begun again only if its batch was interrupted, or if its process was killed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import psutil
import pyarrow.dataset as ds

from benchmarks.kills.harness import Target
from benchmarks.kills.ledger import REPOSITORY
from benchmarks.processes import QUICK_JAVA, command_line, killed_at_end, left_behind, started_by, wait_until
from blueprint.avro.tasks import task_contract
from blueprint.plan import TopicPlan
from streamlets.channels.base import TopicLostError
from streamlets.channels.delta.channel import DeltaChannel
from streamlets.ingress.batch_sources.cursor import TaskOffset
from streamlets.ingress.batch_sources.progress import progress_file, read_progress
from streamlets.runner.checkpoints.checkpoint import read_checkpoint
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.storage.crash import VARIABLE

if TYPE_CHECKING:
    import random

    from blueprint.avro.model import Contract

TASKS = 500
RECORDS = 10
"""The records of a task."""

_FED = 20
"""The tasks that are new in a round that kills the discovery; the others are there from the beginning."""

DISCOVERY = ("after-append-file", "after-append-commit")
COMMIT = ("after-data-files", "after-manifest", "after-topic-commit", "before-spark-commit")
_DISCOVERING, _READING = "while it discovers", "while it reads"
_BLUEPRINT = """
blueprint {
  streamlets {
    pages {
      class = paging.Pages
      parameters { discovery.triggerer = immediate, max-tasks-per-batch = 8, task-retry-delay = 50ms }
    }
    archive {
      class = streamlets.Sink, inlets.in = "task long, part int", parameters { to = parquet, options.path = out }
    }
  }
  topics { pages { producers = [pages.out], consumers = [archive.in] } }
}
flow.application = kills
"""
_MODULE = """
import os, time
from pathlib import Path
from streamlets import AvroOutlet, BatchSource

class Pages(BatchSource):
    out = AvroOutlet(schema="task long, part int")

    def open(self, config, context):
        self._directory = context.directory

    def discover(self, eat, event):
        for number in range(int((self._directory / "tasks").read_text())):
            if eat(number, key=f"page {number}"):
                time.sleep(0.02)

    def prepare(self, task):
        begun = os.open(self._directory / "begun", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(begun, f"{task}\\n".encode())
        os.close(begun)
        self._task, self._part = task, 0

    def read_next(self):
        if self._part == 10:
            return None
        time.sleep(0.005)
        self._part += 1
        return {"task": self._task, "part": self._part}
"""


class BatchSource(Target):
    """The application in a directory. It remembers the interrupted tasks and the killed processes of each round."""

    points: ClassVar[tuple[str, ...]] = (*DISCOVERY, *COMMIT)
    each, kills = 3, 12

    def __init__(self, directory: Path, dice: random.Random) -> None:
        super().__init__(directory, dice)
        self._state = StateDirectory(self.directory / ".flow", "kills")
        self._processes = 0  # that read, and were killed in the present round
        self.directory.mkdir(parents=True, exist_ok=True)
        self.write_application()

    def write_application(self) -> None:
        """Write the blueprint and its modules."""
        (self.directory / "blueprint.conf").write_text(_BLUEPRINT)
        (self.directory / "paging.py").write_text(_MODULE)

    def rounds(self, each: int, kills: int) -> list[str]:
        """Return the crash points, and `kill -9` while it discovers and while it reads. Enough tasks are left for the
        rounds that need new ones."""
        todo = [*super().rounds(each, 0), *[_DISCOVERING] * (kills // 2), *[_READING] * (kills - kills // 2)]
        if not (self.directory / "tasks").exists():
            fed = sum(round in (*DISCOVERY, _DISCOVERING) for round in todo)
            (self.directory / "tasks").write_text(str(max(_FED, TASKS - _FED * fed)))
        return todo

    def play(self, round: str) -> tuple[bool, str]:
        """Kill once; return what was hit, and the tasks that it interrupted."""
        self._processes = 0
        if round in (*DISCOVERY, _DISCOVERING):
            tasks = int((self.directory / "tasks").read_text())
            (self.directory / "tasks").write_text(str(min(TASKS, tasks + _FED)))
        if round == _DISCOVERING:
            description = self._in_discovery()
        elif round == _READING:
            description = self._in_reading()
        else:
            description = self._crash(round, 5 if round in DISCOVERY else 3)
        planned = self._interrupted()
        self.memory.setdefault("history", []).append({"interrupted": planned, "processes": self._processes})
        unfinished = f"tasks {planned[0]} to {planned[1]} unfinished" if planned else "no batch unfinished"
        return True, f"{description}, {unfinished}"

    def settle(self) -> list[str]:
        """Run to the end, and compare."""
        code = self.end()
        again = sum(count - 1 for count in self.begun().values())
        print(f"{TASKS} tasks, {TASKS * RECORDS} records, {again} tasks begun again; exit code {code}")
        return self.problems(ended=True) + (["the last run has failed"] if code else [])

    def end(self) -> int:
        """Run to the end, and return the exit code."""
        (self.directory / "tasks").write_text(str(TASKS))
        with killed_at_end(self.start(bounded=True)) as run:
            return run.wait(600)

    def problems(self, *, ended: bool = False) -> list[str]:
        """Return what is wrong: records and tasks that appear twice, or, after the end, are missing."""
        wanted = Counter((task, part) for task in range(TASKS) for part in range(1, RECORDS + 1))
        tasks = [row["number"] for row in self.rows("tasks.pages")]
        keys = Counter(row["key"] for row in self.rows("tasks.pages"))
        found = [] if tasks == list(range(len(tasks))) else ["the numbers of tasks are not dense"]
        found += [f"the task {key} is in the topic {count} times" for key, count in keys.items() if count > 1]
        contents = {"the topic": self.rows("pages"), "the egress": self.saved()}
        for name, rows in contents.items():
            records = Counter((row["task"], row["part"]) for row in rows)
            doubled, lost = (records - wanted).total(), (wanted - records).total()
            found += [f"{doubled} records are doubled in {name}"] * bool(doubled)
            found += [f"{lost} records are missing in {name}"] * bool(lost and ended)
        allowed = Counter(range(TASKS))
        for kill in self.memory.get("history", ()):
            first, last = kill["interrupted"] or (0, -1)
            allowed.update(range(first, last + 1))
            allowed.update(dict.fromkeys(range(TASKS), kill["processes"]))
        for task, count in self.begun().items():
            if count > allowed[task]:
                found.append(f"the task {task} was begun {count} times, at most {allowed[task]} expected")
        return found

    def begun(self) -> Counter[int]:
        """Return how often each task was begun. A task has the number of its key, because they are found in order."""
        file = self.directory / "begun"
        return Counter(int(line) for line in file.read_text().split("\n")[:-1]) if file.exists() else Counter()

    def _in_discovery(self) -> str:
        more = self.dice.randint(1, _FED - 2)
        with killed_at_end(self.start()) as run:
            known = self._stored()
            self.until(run, lambda: self._stored() >= known + more)
            return f"{self.kill(run)} while it discovered"

    def _in_reading(self) -> str:
        with killed_at_end(self.start()) as run:
            before = self.batch("offsets")
            self.until(run, lambda: self.batch("offsets") > max(before, self.batch("commits")))
            time.sleep(self.dice.uniform(0, 0.4))
            readers = [child for child in started_by(run.pid) if "task_program" in command_line(child)]
            killed = ""
            if readers and self.dice.random() < 0.5:
                with suppress(psutil.NoSuchProcess):
                    self.dice.choice(readers).kill()
                self._processes = 1
                killed = "kill -9 of a process that reads, then "
                now = self.batch("commits")
                self.until(run, lambda: self.batch("commits") > now)  # it goes on
            return f"{killed}{self.kill(run)} while it read"

    def _crash(self, point: str, passages: int) -> str:
        nth = self.dice.randint(1, passages)
        with killed_at_end(self.start(f"{point}:{nth}")) as run:
            self.until(run, lambda: run.poll() is not None)
            assert run.returncode == -signal.SIGKILL, f"exit code {run.returncode} instead of a crash"
        return f"{point}, passage {nth}"

    def kill(self, run: subprocess.Popen[bytes]) -> str:
        """Kill the runner or all its processes, and return what was killed."""
        children = started_by(run.pid)
        everything = self.dice.random() < 0.5
        for child in children if everything else ():
            with suppress(psutil.NoSuchProcess):
                child.kill()
        run.kill()
        run.wait()
        assert left_behind(children, 120) == [], "a process has survived the runner"
        return f"kill -9 of {'all processes' if everything else 'the runner'}"

    def start(self, crash_at: str = "", *, bounded: bool = False) -> subprocess.Popen[bytes]:
        """Start a run, which crashes at a crash point."""
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
        environment = os.environ | {VARIABLE: crash_at, "PATH": path, "PYTHONPATH": str(REPOSITORY)}
        command = [sys.executable, "-m", "cli.main", "run", str(self.directory), "--format", "json", QUICK_JAVA]
        with (self.directory / "run.out").open("wb") as out:
            return subprocess.Popen(
                [*command, *(["--available-now"] if bounded else [])], env=environment, stdout=out, stderr=out
            )

    def until(self, run: subprocess.Popen[bytes], reached: Callable[[], bool]) -> None:
        """Wait until something is reached."""
        wait_until(run, self.directory / "run.out", reached, poll=0.02)

    def _stored(self) -> int:
        return read_progress(progress_file(self._state.directory, "pages")).discovered

    def batch(self, kind: str) -> int:
        """Return the number of the last batch in `offsets` or `commits`, -1 without one."""
        directory = self._state.checkpoints / "pages" / "read" / kind
        with suppress(FileNotFoundError):
            return max((int(file.name) for file in directory.iterdir() if file.name.isdigit()), default=-1)
        return -1

    def _interrupted(self) -> tuple[int, int] | None:
        """Return the first and the last task of the batch that was planned and not committed."""
        checkpoint = read_checkpoint(self._state.checkpoints / "pages" / "read")
        if checkpoint.planned is None:
            return None
        ends = [
            TaskOffset.from_dict(json.loads(position)).task
            for batch in (checkpoint.committed, checkpoint.planned)
            for position in (batch.positions.values() if batch is not None else ('{"task": -1, "position": null}',))
        ]
        return (ends[0] + 1, ends[-1]) if len(ends) == 2 and ends[-1] > ends[0] else None

    def rows(self, topic: str, reader: Contract | None = None) -> list[dict[str, Any]]:
        """Return the records of a topic."""
        channel = DeltaChannel(self._state.topics)
        with suppress(TopicLostError):  # the first run was killed before it created the topic
            reader = task_contract() if topic.startswith("tasks.") else reader
            batches = channel.topic(TopicPlan(topic, topic, "delta", True, (), (), {})).scan(reader)
            return [row for batch in batches for row in batch.to_pylist()]
        return []

    def saved(self) -> list[dict[str, Any]]:
        """Return the records that the egress has written."""
        files = [str(file) for file in (self.directory / "out").glob("*.parquet")]
        return ds.dataset(files, format="parquet").to_table().to_pylist() if files else []
