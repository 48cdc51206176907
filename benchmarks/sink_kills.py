"""Kills a job that writes to a sink, and checks what the sink guarantees: `python -m benchmarks.sink_kills`.

For each sink, a SQL job reads files of numbers, one per batch. Each round adds files, starts the job, and kills it: at
a named crash point of the sink, or with `kill -9` of all its processes while a batch is active. The next round recovers
and is killed elsewhere. The last one runs to the end. Then an exactly-once sink must have each number once, and an
at-least-once sink each number; `webhook` each number once, because the server of this benchmark knows idempotency keys.

With `--directory` this can be done in several calls: a call continues after the last kill of the call before. Only a
sink with a server of its own, such as Kafka, begins again. `--seconds` begins no further round after this time.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psutil

from benchmarks.processes import QUICK_JAVA, family, killed_at_end
from benchmarks.sink_cases import CASES, MODULE, Server, no_server
from streamlets.storage.crash import VARIABLE

REPOSITORY = Path(__file__).resolve().parent.parent
ROWS = 200
_FLOW = (sys.executable, "-c", "from cli.main import main; main()")
_ATTEMPTS = 4  # runs for each `kill -9` that is to hit a batch

_STREAM = "CREATE STREAM numbers (id bigint) FROM csv OPTIONS ('path' = 'in', 'maxFilesPerTrigger' = 1)"
_LINES = "CREATE TEMPORARY VIEW lines AS SELECT CAST(id AS STRING) AS id FROM numbers"


@dataclass
class Job:
    """A job that saves numbers to sinks, each in a directory of its own.

    Arguments:
        root: its directory.
        servers: the sinks by name, and the server of each.
    """

    root: Path
    servers: Mapping[str, Server]
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
        command = [*_FLOW, "run", str(self.root / "kills.sql"), *options]
        environment = os.environ | {VARIABLE: crash_at, "PYTHONPATH": f"{REPOSITORY}", "no_proxy": "127.0.0.1"}
        with (self.root / "run.out").open("ab") as out:
            process = subprocess.Popen(command, env=environment, stdout=out, stderr=out, cwd=self.root)
        return self.runs.enter_context(killed_at_end(process))

    def kill(self) -> tuple[int, list[str]]:
        """Start the job and kill it while batches are active; return its exit code and the sinks of the unfinished
        batches."""
        chosen = random.choice([*self.servers])
        before, process = self._last(chosen, "offsets"), self.start()
        # The batch that the kill before interrupted is unfinished from the start: wait for one after it.
        while process.poll() is None and (self._last(chosen, "offsets") == before or chosen not in self._active()):
            time.sleep(0.005)
        time.sleep(random.uniform(0, 0.5))
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


@dataclass
class Result:
    """What happened to the sinks of a job.

    Arguments:
        sinks: their names.
        points: how often the job was killed at each crash point.
        batches: how often a `kill -9` has hit a batch of each sink.
        rounds: the number of kills that were tried.
        records: the records that were fed.
        doubled: the records that an at-least-once sink has more than once.
        repeated_requests: the requests that the server of `webhook` took more than once.
        problems: what contradicts the guarantees.
        ended: whether the last run is over.
    """

    sinks: Sequence[str]
    points: dict[str, int] = field(default_factory=dict)
    batches: dict[str, int] = field(default_factory=dict)
    rounds: int = 0
    records: int = 0
    doubled: int = 0
    repeated_requests: int = 0
    problems: list[str] = field(default_factory=list)
    ended: bool = False

    @property
    def fewest(self) -> int:
        """The number of kills in a batch of the sink that was hit least."""
        return min(self.batches.get(name, 0) for name in self.sinks)

    @classmethod
    def at(cls, file: Path, sinks: Sequence[str]) -> Result:
        """Return the result in a file, or a new one."""
        return cls(**json.loads(file.read_text())) if file.exists() else cls(sinks)

    def keep(self, file: Path) -> None:
        """Write the result to a file."""
        draft = file.with_suffix(".draft")
        draft.write_text(json.dumps(asdict(self)))
        draft.replace(file)


def kill_repeatedly(names: Sequence[str], each: int, kills: int, root: Path, end: float) -> Result:
    """Kill a job, print a line for each kill, and return the result, which is also kept next to the job.

    Arguments:
        names: the sinks. With several, they share each run, and a crash point is that of any of them.
        each: how often at each crash point.
        kills: how often with `kill -9` while a batch of each sink is active.
        root: the directory of the job; that of an earlier call is continued.
        end: begin no further round after this time of the monotonic clock.
    """
    file = root.with_suffix(".json")
    if not file.exists() or any(CASES[name].server is not no_server for name in names):
        shutil.rmtree(root, ignore_errors=True)
        file.unlink(missing_ok=True)
    result, begun = Result.at(file, names), time.monotonic()

    def report(event: str, problems: Sequence[str]) -> None:
        result.problems.extend(problems)
        result.rounds += 1
        result.records = job.files * ROWS
        result.keep(file)
        outcome = "; ".join(problems) or "as guaranteed"
        print(f"{', '.join(names)}: {time.monotonic() - begun:4.0f} s: {event}: {outcome}", flush=True)

    with ExitStack() as servers:
        job = Job(root, {name: servers.enter_context(CASES[name].server()) for name in names})
        servers.push(job.runs)
        code = 0
        points = list(dict.fromkeys(point for name in names for point in CASES[name].points)) * each
        while code <= 0 and time.monotonic() < end and result.rounds < len(points):
            point = points[result.rounds]
            job.feed(2)
            code = job.start(f"{point}:{1 + result.rounds % 2}").wait()
            if code > 0:
                break  # the last run reports why
            missed = [] if code == -signal.SIGKILL else ["not reached"]
            result.points[point] = result.points.get(point, 0) + (not missed)
            report(f"killed {point}", [*missed, *job.problems(ended=False)])
        while code <= 0 and time.monotonic() < end and result.fewest < kills:
            if result.rounds >= len(points) + kills * _ATTEMPTS:
                break
            job.feed(3)
            code, active = job.kill()
            result.batches = dict(Counter(result.batches) + Counter(active))
            report(f"kill -9 in a batch of {', '.join(active) or 'no sink'}", job.problems(ended=False))
        if time.monotonic() >= end:
            return result
        job.feed(1)
        code = job.start().wait()
        failed = [f"exit code {code}\n{(root / 'run.out').read_text()[-2000:]}"] if code else []
        receivers = [server.receiver for server in job.servers.values() if server.receiver is not None]
        result.repeated_requests = sum(len(receiver.requests) - len(receiver.taken) for receiver in receivers)
        result.doubled, result.ended = job.doubled(), True
        few = [f"only {result.fewest} of {kills} kills have hit a batch of each sink"] if result.fewest < kills else []
        report("ran to the end", [*failed, *few, *job.problems(ended=True)])
    return result


def main() -> None:
    """Kill the jobs, and print a line with the result of each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sinks", nargs="*", choices=[*CASES, []], help="default: all")
    parser.add_argument("--each", type=int, default=3, help="kills at each crash point")
    parser.add_argument("--kills", type=int, default=5, help="`kill -9` while a batch of each sink is active")
    parser.add_argument("--together", action="store_true", help="one job with all sinks, instead of a job for each")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no further round after this time")
    parser.add_argument("--directory", type=Path, help="directory of jobs and results, to continue an earlier call")
    arguments = parser.parse_args()
    names = arguments.sinks or [*CASES]
    groups = [names] if arguments.together else [[name] for name in names]
    directory: Path = arguments.directory or Path(tempfile.mkdtemp(prefix="sink-kills-"))
    directory = directory.resolve()
    directory.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # jobs and servers end with this process
    end, problems = time.monotonic() + arguments.seconds, 0
    for group in groups:
        root = directory / "+".join(group)
        result = Result.at(root.with_suffix(".json"), group)
        if not result.ended:
            if time.monotonic() >= end:
                print(f"{', '.join(group)}: remains", flush=True)
                continue
            result = kill_repeatedly(group, arguments.each, arguments.kills, root, end)
        state = "RESULT" if result.ended else "so far"
        print(f"{state} {json.dumps(asdict(result))} load {os.getloadavg()[0]:.1f}", flush=True)
        problems += len(result.problems)
    if arguments.directory is None and not problems:
        shutil.rmtree(directory)
    sys.exit(problems > 0)


if __name__ == "__main__":
    main()
