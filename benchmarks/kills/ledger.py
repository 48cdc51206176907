"""The application of the runner's tests: three topics and Parquet files, with a computed result for each.

Runs are killed at a crash point of a batch, or with `kill -9` of only the driver or of all its processes while a batch
is active. The topics and the files are compared with an undisturbed run, and this with the expected results.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import psutil
import pyarrow.dataset as ds

from benchmarks.kills.harness import KILL, Target
from benchmarks.processes import events, killed_at_end, started_by, wait_until
from blueprint.plan import TopicPlan
from streamlets.channels.delta.channel import DeltaChannel
from streamlets.storage.crash import VARIABLE

REPOSITORY = Path(__file__).resolve().parent.parent.parent
# Crash points of a batch; the other points belong to the maintenance of topics.
POINTS = ("after-data-files", "during-rename", "after-manifest", "after-topic-commit", "before-spark-commit")
BATCH = 100
NOT_HIT = "ended before it was hit"
FLOW = (sys.executable, "-c", "from cli.main import main; main()")


@dataclass
class Ledger:
    """The application of the tests, in its own directory. As a context manager, it leaves no run behind.

    Arguments:
        directory: the directory.
        batch: the maximum number of records per batch.
        options: additional options of `flow run`, for every run.
        since: where the output of the current run starts in `run.out`, in bytes.
    """

    directory: Path
    batch: int = BATCH
    options: Sequence[str] = ()
    since: int = field(default=0, init=False)
    _runs: ExitStack = field(default_factory=ExitStack, init=False)

    topics: ClassVar[tuple[str, ...]] = ("numbers", "doubled", "sums")
    queries: ClassVar[dict[str, str]] = {"numbers": "out", "double": "out", "sums": "out", "archive": "sink"}
    passages: ClassVar[int] = 6  # of a crash point, at least, by all streamlets on the batches of two files
    modules: ClassVar[Path] = REPOSITORY / "tests" / "streamlets" / "runner" / "app"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._runs.close()

    @property
    def blueprint(self) -> Path:
        """The blueprint."""
        return self.modules

    @property
    def home(self) -> Path:
        """The state directory: topics, checkpoints, logs."""
        return self._state_dir / "ledger"

    @property
    def out(self) -> Path:
        """The file with the events of all runs."""
        return self.directory / "run.out"

    @property
    def _state_dir(self) -> Path:
        return self.directory / "state"

    @property
    def _environment(self) -> dict[str, str]:
        return os.environ | {"PYTHONPATH": f"{REPOSITORY}{os.pathsep}{self.modules}"}

    @property
    def files(self) -> int:
        """The number of files with records that were fed."""
        return len(list((self.directory / "in").glob("*.json")))

    def feed(self, files: int) -> None:
        """Add files with numbers, each file atomically."""
        (self.directory / "in").mkdir(parents=True, exist_ok=True)
        for number in range(self.files, self.files + files):
            text = "".join(json.dumps({"n": n}) + "\n" for n in range(number * BATCH, (number + 1) * BATCH))
            draft = self.directory / f"{number:06}.json"
            draft.write_text(text)
            age = 1_600_000_000 + number
            os.utime(draft, (age, age))  # the source reads files in the order of their age
            draft.rename(self.directory / "in" / draft.name)

    @property
    def settings(self) -> dict[str, object]:
        """Settings of streamlets."""
        return {
            "numbers.parameters.directory": self.directory / "in",
            "archive.parameters.options.path": self.directory / "out",
            "double.inlets.in.max-records": self.batch,
            "sums.inlets.in.max-records": self.batch,
        }

    def command(self, *, bounded: bool = True, more: Sequence[str] = ()) -> list[str]:
        """Return the command of a run. `more` are settings of streamlets, `<ref>.<key>=<value>`."""
        return [
            *(*FLOW, "run", str(self.blueprint), *self.options),
            *(("--available-now",) if bounded else ()),
            *("--format", "json", "--state-dir", str(self._state_dir), "--drain-timeout", "10m"),
            *(f"flow.streamlets.{key}={value}" for key, value in self.settings.items()),
            *(f"flow.streamlets.{setting}" for setting in more),
        ]

    def start(self, crash_at: str = "", *, bounded: bool = True, more: Sequence[str] = ()) -> subprocess.Popen[bytes]:
        """Start a run in a process, with its output in `run.out`. `more` as for `command`."""
        command = self.command(bounded=bounded, more=more)
        environment = self._environment | {VARIABLE: crash_at}
        with self.out.open("ab") as out:
            self.since = out.tell()
            process = subprocess.Popen(command, env=environment, stdout=out, stderr=out, cwd=self.directory)
        return self._runs.enter_context(killed_at_end(process))

    def run(self, crash_at: str = "") -> int:
        """Run to the end, or to the crash; return the exit code."""
        return self.start(crash_at).wait()

    def require_success(self, code: int) -> None:
        """Require the exit code 0 of the last run.

        Raises:
            RuntimeError: it is another one; the message has the end of its output.
        """
        if code != 0:
            raise RuntimeError(f"the run has failed with exit code {code}:\n{self.out.read_text()[-3000:]}")

    def flow(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run another command about the application to its end."""
        command = [*FLOW, *arguments, "--state-dir", str(self._state_dir)]
        return subprocess.run(
            command, cwd=self.directory, env=self._environment, capture_output=True, text=True, check=False
        )

    def command_in_background(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start another command about the application, whose output is ignored."""
        command = [*FLOW, *arguments, "--state-dir", str(self._state_dir)]
        return subprocess.Popen(
            command, cwd=self.directory, env=self._environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def run_events(self) -> list[dict[str, Any]]:
        """Return the events of the current or last run."""
        return events(self.out, self.since)

    def up(self, *refs: str) -> bool:
        """Return whether the queries of the given streamlets (default: all) have been running in this run."""
        running = {(e.get("streamlet"), e.get("query")) for e in self.run_events() if e.get("state") == "running"}
        return all((ref, self.queries[ref]) in running for ref in refs or self.queries)

    def wait_until(
        self,
        process: subprocess.Popen[bytes],
        reached: Callable[[], bool],
        *,
        seconds: float = 300.0,
        poll: float = 0.05,
    ) -> None:
        """Wait for a condition of a run.

        Raises:
            RuntimeError: the run has ended, or the time is over; the message has the end of its output.
        """
        wait_until(process, self.out, reached, seconds=seconds, poll=poll)

    def wait_until_up(self, process: subprocess.Popen[bytes]) -> None:
        """Wait until all queries of a run are running; raises like `wait_until`."""
        self.wait_until(process, self.up)

    def records(self) -> dict[str, Counter[str]]:
        """Return how often each record is in each topic and in the Parquet files."""
        channel = DeltaChannel(self.home / "topics")
        counts: dict[str, Counter[str]] = {}
        for topic in self.topics:
            resource = channel.topic(TopicPlan(topic, topic, "delta", True, (), (), {}))
            counts[topic] = Counter(as_text(row) for batch in resource.scan() for row in batch.to_pylist())
        rows = ds.dataset(self.directory / "out", format="parquet").to_table().to_pylist()
        counts["parquet"] = Counter(map(as_text, rows))
        return counts

    def phase(self, wanted: str) -> str | None:
        """Return the batch of a streamlet that was started and not committed, and its phase; None if there is none."""
        begun, committed = self.last_batch(wanted)
        return f"{wanted}, batch {begun}: {self._how_far(wanted, begun)}" if begun > committed else None

    def last_batch(self, streamlet: str) -> tuple[int, int]:
        """Return the last batch that a streamlet has started, and the last that it has committed; -1 for none."""
        checkpoint = self.home / "checkpoints" / streamlet / self.queries[streamlet]
        return _last(checkpoint / "offsets"), _last(checkpoint / "commits")

    def _how_far(self, streamlet: str, batch: int) -> str:
        name = f"{streamlet}.{self.queries[streamlet]}-"
        topics = self.home / "topics"
        for entry in topics.glob("*/*/_delta_log/*.json"):
            text = entry.read_text()
            if name in text and f'"version":{batch},' in text.replace(" ", ""):
                return "in its topic, not in Spark's log"
        if any(topics.glob(f"_staged/{name}*/{batch}.json")):
            return "decided by a manifest, not in its topic"
        return "executing"


def as_text(row: object) -> str:
    """Return a record as a string that is equal for equal records."""
    return json.dumps(row, sort_keys=True, default=str)


def _last(directory: Path) -> int:
    try:
        return max((int(file.name) for file in directory.iterdir() if file.name.isdigit()), default=-1)
    except FileNotFoundError:
        return -1


def kill_in_a_batch(ledger: Ledger, dice: random.Random) -> str | None:
    """Start a run and kill it with SIGKILL while a batch is active, either the driver alone or also its children.

    Returns:
        What was killed, and the phase of the batch; None if the run ended before.

    Raises:
        RuntimeError: the run has failed by itself.
    """
    process = ledger.start()
    wanted = dice.choice([*ledger.queries])  # two new files make at least two batches of each
    # The batch may be left from an earlier kill; it belongs to this run only if the query has started.
    while process.poll() is None and not ledger.up(wanted):
        time.sleep(0.02)
    while process.poll() is None:
        if ledger.phase(wanted) is not None:
            time.sleep(dice.uniform(0, 0.3))
            phase = ledger.phase(wanted)
            if phase is not None:  # else the batch was committed meanwhile: wait for the next one
                return f"{kill_driver(process, alone=dice.random() < 0.5)}, {phase}"
        time.sleep(0.005)
    ledger.require_success(process.wait())
    return None


def kill_driver(process: subprocess.Popen[bytes], *, alone: bool) -> str:
    """Kill a run with SIGKILL, alone or with all processes that it has started; return what was killed."""
    for child in [] if alone else started_by(process.pid):
        with suppress(psutil.NoSuchProcess):
            child.kill()
    process.kill()
    process.wait()
    return "the driver" if alone else "all processes"


def play_round(ledger: Ledger, point: str, dice: random.Random) -> tuple[bool, str]:
    """Feed, run and kill: at a crash point, or with SIGKILL in a batch; return whether it was hit, and what."""
    ledger.feed(2)
    return _kill(ledger, dice) if point == KILL else _crash(ledger, point, dice.randrange(ledger.passages) + 1)


def _crash(ledger: Ledger, point: str, nth: int) -> tuple[bool, str]:
    code = ledger.run(f"{point}:{nth}")
    if code != -signal.SIGKILL:  # else each repetition would fail alike
        ledger.require_success(code)
    hit = code == -signal.SIGKILL
    return hit, f"{point}, passage {nth}: {'killed' if hit else f'{NOT_HIT}, exit code {code}'}"


def _kill(ledger: Ledger, dice: random.Random) -> tuple[bool, str]:
    phase = kill_in_a_batch(ledger, dice)
    return phase is not None, f"kill -9 of {phase}" if phase else f"kill -9: {NOT_HIT}"


def differences(got: dict[str, Counter[str]], wanted: dict[str, Counter[str]]) -> dict[str, tuple[int, int]]:
    """Return the number of lost and doubled records, by topic."""
    return {name: ((wanted[name] - got[name]).total(), (got[name] - wanted[name]).total()) for name in wanted}


def expected(files: int) -> dict[str, Counter[str]]:
    """Return the expected ledger: a batch of a hundred has ten complete groups of ten, so each group has one result."""
    numbers = range(files * BATCH)
    tens = range(files * BATCH // 10)
    rows: dict[str, list[dict[str, int]]] = {
        "numbers": [{"n": n} for n in numbers],
        "doubled": [{"n": n, "twice": 2 * n, "ten": n // 10} for n in numbers],
        "sums": [{"ten": ten, "count": 10, "total": 200 * ten + 90} for ten in tens],
        "parquet": [{"twice": 2 * n, "n": n} for n in numbers],
    }
    return {name: Counter(map(as_text, records)) for name, records in rows.items()}


class Topics(Target):
    """The application, disturbed by kills, and undisturbed."""

    points: ClassVar[tuple[str, ...]] = POINTS

    def __init__(self, directory: Path, dice: random.Random, options: Sequence[str] = ()) -> None:
        super().__init__(directory, dice)
        self.ledger, self._undisturbed = map(self.resources.enter_context, self.applications(options))

    def applications(self, options: Sequence[str]) -> tuple[Ledger, Ledger]:
        """Return the application that is killed, and the undisturbed one."""
        disturbed, undisturbed = self.directory / "disturbed", self.directory / "undisturbed"
        return Ledger(disturbed, options=options), Ledger(undisturbed, options=options)

    def play(self, round: str) -> tuple[bool, str]:
        """Kill the application once."""
        return play_round(self.ledger, round, self.dice)

    def settle(self) -> list[str]:
        """Compare the disturbed application with the undisturbed one, and this with the expected results."""
        self.finish()
        self._undisturbed.feed(self.ledger.files)
        codes = self.ledger.run(), self._undisturbed.run()
        print(f"exit codes of the last runs: {codes}; {self.ledger.files * BATCH:,} records fed")
        got, wanted = self.contents(self.ledger, self._undisturbed)
        truth = self.expected()
        assert {name: wanted[name] for name in truth} == truth, "the undisturbed run itself is wrong"
        return [*(["a run has failed"] if any(codes) else ()), *compared(got, wanted)]

    def finish(self) -> None:
        """Feed what the last run needs."""

    def contents(self, *ledgers: Ledger) -> list[dict[str, Counter[str]]]:
        """Return the content of each application."""
        return [ledger.records() for ledger in ledgers]

    def expected(self) -> dict[str, Counter[str]]:
        """Return the content that is known from the fed records alone."""
        return expected(self.ledger.files)


def compared(
    got: dict[str, Counter[str]], wanted: dict[str, Counter[str]], *, doubled_allowed: Sequence[str] = ()
) -> list[str]:
    """Print the number of lost and doubled records by place; return those that contradict the guarantees."""
    problems = []
    for name, (lost, doubled) in differences(got, wanted).items():
        line = f"{name}: {wanted[name].total():,} records, {lost} lost, {doubled} doubled"
        print(line)
        if lost or (doubled and name not in doubled_allowed):
            problems.append(line)
    return problems
