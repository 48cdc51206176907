"""A SQL job that reads files of numbers, one per batch, and writes them to sinks; each must keep its guarantee.

An exactly-once sink must have each number once, and an at-least-once sink each number; `webhook` each number once,
because the server of this benchmark knows idempotency keys. Several sinks share each run of one job.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from benchmarks.kills.harness import KILL, Target
from benchmarks.kills.ledger import FLOW, REPOSITORY
from benchmarks.kills.sink_cases import CASES, MODULE, Server, no_server
from benchmarks.processes import QUICK_JAVA, family, killed_at_end
from streamlets.storage.crash import VARIABLE

ROWS = 200

_STREAM = "CREATE STREAM numbers (id bigint) FROM csv OPTIONS ('path' = 'in', 'maxFilesPerTrigger' = 1)"
_LINES = "CREATE TEMPORARY VIEW lines AS SELECT CAST(id AS STRING) AS id FROM numbers"


@dataclass
class Job:
    """A job that saves numbers to sinks, each in a directory of its own.

    Arguments:
        root: its directory.
        servers: the sinks by name, and the server of each.
        dice: the random numbers of the kills.
    """

    root: Path
    servers: Mapping[str, Server]
    dice: random.Random
    files: int = 0
    runs: ExitStack = field(default_factory=ExitStack)

    def __post_init__(self) -> None:
        self.files = len(list((self.root / "in").glob("*.csv")))
        (self.root / "in").mkdir(parents=True, exist_ok=True)
        (self.root / "saving.py").write_text(MODULE)
        statements = [_STREAM, _LINES]
        for name, server in self.servers.items():
            (self.root / name).mkdir(exist_ok=True)
            case = CASES[name]
            options = ", ".join(
                f"'{key}' = '{text.format(root=self.root / name, server=server.address)}'"
                for key, text in case.options.items()
            )
            statements.append(
                f"SAVE STREAM {case.rows} TO `{case.sink or name}` IDENTIFIED BY `{name}` OPTIONS ({options})"
            )
        (self.root / "kills.sql").write_text(";\n".join(statements))

    def feed(self, files: int) -> None:
        """Add files, each of which becomes a batch."""
        for _ in range(files):
            first = self.files * ROWS
            draft = self.root / f"{self.files:06}.csv"
            draft.write_text("".join(f"{n}\n" for n in range(first, first + ROWS)))
            os.utime(draft, (1_600_000_000 + self.files, 1_600_000_000 + self.files))  # they are read by age
            draft.rename(self.root / "in" / draft.name)
            self.files += 1

    def start(self, crash_at: str = "") -> subprocess.Popen[bytes]:
        """Start the job, with its output in `run.out`."""
        options = ["--available-now", "--state-dir", str(self.root / "s"), QUICK_JAVA]
        command = [*FLOW, "run", str(self.root / "kills.sql"), *options]
        environment = os.environ | {VARIABLE: crash_at, "PYTHONPATH": f"{REPOSITORY}", "no_proxy": "127.0.0.1"}
        with (self.root / "run.out").open("ab") as out:
            process = subprocess.Popen(command, env=environment, stdout=out, stderr=out, cwd=self.root)
        return self.runs.enter_context(killed_at_end(process))

    def kill(self, chosen: str) -> tuple[int, list[str]]:
        """Start the job and kill it while a batch of a sink is active; return its exit code and the sinks of the
        unfinished batches."""
        before, process = self._last(chosen, "offsets"), self.start()
        # The batch that the kill before interrupted is unfinished from the start: wait for one after it.
        while process.poll() is None and (self._last(chosen, "offsets") == before or chosen not in self._active()):
            time.sleep(0.005)
        time.sleep(self.dice.uniform(0, 0.5))
        if process.poll() is None:
            runner, *others = family(process.pid)
            for member in (*others, runner):
                try:
                    member.kill()
                except psutil.NoSuchProcess:
                    continue
        return process.wait(), self._active()

    def _active(self) -> list[str]:
        """Return the sinks of which Spark has planned a batch and not committed it."""
        return [name for name in self.servers if self._last(name, "offsets") > self._last(name, "commits")]

    def _last(self, name: str, directory: str) -> int:
        paths = (self.root / "s").glob(f"*/checkpoints/job/{name}/{directory}/[0-9]*")
        return max((int(path.name) for path in paths), default=-1)

    def problems(self, *, ended: bool) -> list[str]:
        """Return what contradicts the guarantees of the sinks."""
        problems = []
        for name, server in self.servers.items():
            counts = Counter(CASES[name].read(self.root / name, server))
            doubled = sum(count - 1 for count in counts.values()) if CASES[name].once else 0
            lost = sum(n not in counts for n in range(self.files * ROWS)) if ended else 0
            unknown = sum(n >= self.files * ROWS or n < 0 for n in counts)
            if doubled or lost or unknown:
                problems.append(f"{name}: {doubled} doubled, {lost} lost, {unknown} unknown")
        return problems

    def doubled(self) -> int:
        """Return how many numbers are more than once in the output of the at-least-once sinks."""
        outputs = (CASES[name].read(self.root / name, server) for name, server in self.servers.items())
        return sum(len(numbers) - len(set(numbers)) for numbers in outputs)


class Sinks(Target):
    """A job that saves to sinks.

    Arguments:
        directory: its directory.
        dice: the random numbers of the kills.
        names: the sinks. A crash point is one of any of them.
    """

    each, kills = 3, 5

    def __init__(self, directory: Path, dice: random.Random, *, names: Sequence[str]) -> None:
        super().__init__(directory, dice)
        if any(CASES[name].server is not no_server for name in names):
            shutil.rmtree(directory, ignore_errors=True)  # what a server has stored is lost with it
        servers = {name: self.resources.enter_context(CASES[name].server()) for name in names}
        self.job = Job(self.directory, servers, dice)
        self.resources.push(self.job.runs)
        self._passages = 0

    def rounds(self, each: int, kills: int) -> list[str]:
        """Return the crash points of all sinks, and for each `KILL` one in a batch of each sink."""
        points = dict.fromkeys(point for name in self.job.servers for point in CASES[name].points)
        return [*points] * each + [KILL] * kills

    def play(self, round: str) -> tuple[bool, str]:
        """Kill the job once; a `kill -9` has hit when every sink was hit once more."""
        if round == KILL:
            return self._kill()
        self.job.feed(2)
        self._passages += 1
        code = self.job.start(f"{round}:{1 + self._passages % 2}").wait()
        self._require(code in (0, -signal.SIGKILL), code)
        return code == -signal.SIGKILL, f"{round}"

    def _kill(self) -> tuple[bool, str]:
        before = self._fewest()
        self.job.feed(3)
        code, active = self.job.kill(min(self.job.servers, key=lambda name: self._batches[name]))
        self._require(code in (0, -signal.SIGKILL), code)
        self.memory["batches"] = self._batches + Counter(active)
        return self._fewest() > before, f"kill -9 in a batch, of {', '.join(active) or 'no sink'}"

    @property
    def _batches(self) -> Counter[str]:
        """How often a `kill -9` has hit a batch, by sink."""
        return Counter(self.memory.get("batches", {}))

    def _fewest(self) -> int:
        return min(self._batches[name] for name in self.job.servers)

    def _require(self, holds: bool, code: int) -> None:
        if not holds:
            raise RuntimeError(f"exit code {code}\n{(self.job.root / 'run.out').read_text()[-2000:]}")

    def problems(self) -> list[str]:
        """Return doubled and unknown numbers."""
        return self.job.problems(ended=False)

    def settle(self) -> list[str]:
        """Run to the end, and compare."""
        self.job.feed(1)
        code = self.job.start().wait()
        self._require(code == 0, code)
        receivers = [server.receiver for server in self.job.servers.values() if server.receiver is not None]
        repeated = sum(len(receiver.requests) - len(receiver.taken) for receiver in receivers)
        print(f"{self.job.files * ROWS:,} records fed; batches hit by kill -9: {dict(self._batches)}; "
              f"{self.job.doubled()} doubled in at-least-once sinks, {repeated} requests repeated")  # fmt: skip
        return self.job.problems(ended=True)
