"""Kills a job that writes to a sink, and checks what the sink guarantees: `python -m benchmarks.sink_kills`.

For each sink, a SQL job reads files of numbers, one per batch. Each round adds files, starts the job, and kills it: at
a named crash point of the sink, or with `kill -9` of all its processes while a batch is active. The next round recovers
and is killed elsewhere. The last one runs to the end. Then an exactly-once sink must have each number once, and an
at-least-once sink each number; `webhook` each number once, because the server of this benchmark knows idempotency keys.

With `--directory` this can be done in several calls: a sink whose result is in the directory is not killed again, and
one that was interrupted begins again. `--seconds` begins no further sink after this time.
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
from benchmarks.sink_cases import CASES, MODULE, Server
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
        (self.root / "in").mkdir(parents=True)
        (self.root / "saving.py").write_text(MODULE)
        statements = [_STREAM, _LINES]
        for name, server in self.servers.items():
            (self.root / name).mkdir()
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
        records: the records that were fed.
        doubled: the records that an at-least-once sink has more than once.
        repeated_requests: the requests that the server of `webhook` took more than once.
        problems: what contradicts the guarantees.
    """

    sinks: Sequence[str]
    points: dict[str, int] = field(default_factory=dict)
    batches: dict[str, int] = field(default_factory=dict)
    records: int = 0
    doubled: int = 0
    repeated_requests: int = 0
    problems: list[str] = field(default_factory=list)


def kill_repeatedly(names: Sequence[str], each: int, kills: int, root: Path) -> Result:
    """Kill a job, print a line for each kill, and return the result.

    Arguments:
        names: the sinks. With several, they share each run, and a crash point is that of any of them.
        each: how often at each crash point.
        kills: how often with `kill -9` while batches are active.
        root: the directory of the job, which does not exist.
    """
    result = Result(names)
    begun, reached, batches = time.monotonic(), Counter[str](), Counter[str]()

    def report(event: str, problems: Sequence[str]) -> None:
        result.problems.extend(problems)
        outcome = "; ".join(problems) or "as guaranteed"
        subject = names[0] if len(names) == 1 else f"{len(names)} sinks"
        print(f"{subject}: {time.monotonic() - begun:4.0f} s: {event}: {outcome}", flush=True)

    with ExitStack() as servers:
        job = Job(root, {name: servers.enter_context(CASES[name].server()) for name in names})
        servers.push(job.runs)
        code = 0
        points = list(dict.fromkeys(point for name in names for point in CASES[name].points))
        for number, point in enumerate(points * each):
            job.feed(2)
            code = job.start(f"{point}:{1 + number % 2}").wait()
            if code > 0:
                break  # the last run reports why
            missed = [] if code == -signal.SIGKILL else ["not reached"]
            reached[point] += not missed
            report(f"killed {point}", [*missed, *job.problems(ended=False)])
        for _ in range(kills * _ATTEMPTS):
            if code > 0 or batches.total() >= kills:
                break
            job.feed(3)
            code, active = job.kill()
            batches.update(active)
            report(f"kill -9 in a batch of {', '.join(active) or 'no sink'}", job.problems(ended=False))
        job.feed(1)
        code = job.start().wait()
        failed = [f"exit code {code}\n{(root / 'run.out').read_text()[-2000:]}"] if code else []
        report("ran to the end", [*failed, *job.problems(ended=True)])
        receivers = [server.receiver for server in job.servers.values() if server.receiver is not None]
        result.repeated_requests = sum(len(receiver.requests) - len(receiver.taken) for receiver in receivers)
        result.points, result.batches, result.doubled = dict(reached), dict(batches), job.doubled()
        result.records = job.files * ROWS
    if batches.total() < kills:
        result.problems.append(f"only {batches.total()} of {kills} kills have hit a batch")
    return result


def main() -> None:
    """Kill the jobs, and print a line with the result of each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sinks", nargs="*", choices=[*CASES, []], help="default: all")
    parser.add_argument("--each", type=int, default=3, help="kills at each crash point")
    parser.add_argument("--kills", type=int, default=5, help="`kill -9` while a batch is active")
    parser.add_argument("--together", action="store_true", help="one job with all sinks, instead of a job for each")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no further sink after this time")
    parser.add_argument("--directory", type=Path, help="directory of the results, to continue an earlier call")
    arguments = parser.parse_args()
    names = arguments.sinks or [*CASES]
    groups = [names] if arguments.together else [[name] for name in names]
    directory: Path = arguments.directory or Path(tempfile.mkdtemp(prefix="sink-kills-"))
    directory = directory.resolve()
    directory.mkdir(parents=True, exist_ok=True)
    begun, problems = time.monotonic(), 0
    for group in groups:
        key = "+".join(group)
        file, root = directory / f"{key}.json", directory / key
        if not file.exists():
            if time.monotonic() - begun > arguments.seconds:
                print(f"{key}: remains", flush=True)
                continue
            shutil.rmtree(root, ignore_errors=True)
            result = asdict(kill_repeatedly(group, arguments.each, arguments.kills, root))
            file.write_text(json.dumps(result))
        text = file.read_text()
        print(f"RESULT {text} load {os.getloadavg()[0]:.1f}", flush=True)
        problems += len(json.loads(text)["problems"])
    if arguments.directory is None and not problems:
        shutil.rmtree(directory)
    sys.exit(problems > 0)


if __name__ == "__main__":
    main()
