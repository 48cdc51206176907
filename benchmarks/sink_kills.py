"""Kills a job that writes to a sink, and checks what the sink guarantees: `python -m benchmarks.sink_kills`.

For each sink, a SQL job reads files of numbers, one per batch. Each round adds files, starts the job, and kills it: at
a named crash point of the sink, or with `kill -9` of all its processes while a batch is active. The next round recovers
and is killed elsewhere. The last one runs to the end. Then an exactly-once sink must have each number once, and an
at-least-once sink each number; `webhook` each number once, because the server of this benchmark knows idempotency keys.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pyarrow.dataset as ds

from benchmarks.processes import killed_at_end
from streamlets.egress.registry import SINKS
from streamlets.storage.crash import VARIABLE
from tests.streamlets.egress.receiver import Receiver, receiving

REPOSITORY = Path(__file__).resolve().parent.parent
ROWS = 200
_FLOW = (sys.executable, "-c", "from cli.main import main; main()")
_TABLE = ("after-data-files", "after-topic-commit", "before-spark-commit")
_FILES = ("after-data-files", "after-manifest", "during-rename", "before-spark-commit")

SAVE = """
from pathlib import Path

def save(rows, batch, *, path):
    Path(path).mkdir(exist_ok=True)
    numbers = [row[0] for row in rows.collect()]
    (Path(path) / f"{batch}.txt").write_text("".join(f"{n}\\n" for n in numbers))
"""


@dataclass(frozen=True)
class Case:
    """A sink.

    Arguments:
        options: its options; `{root}` stands for the directory of the job, `{url}` for the server.
        read: returns the numbers in its output, of the directory of the job and the server.
        points: the crash points of its batches.
        once: whether each number must be there once.
    """

    options: dict[str, str]
    read: Callable[[Path, Receiver], list[int]]
    points: Sequence[str] = ()
    once: bool = True


def _files(format: str) -> Callable[[Path, Receiver], list[int]]:
    def read(root: Path, receiver: Receiver) -> list[int]:
        suffix = {"orc": "orc", "parquet": "parquet"}.get(format, format)
        paths = [str(path) for path in (root / "out").glob(f"*.{suffix}")]
        rows = ds.dataset(paths, format=suffix).to_table().to_pylist() if paths else []
        return [int(row["id"]) for row in rows]

    return read


def _lines(root: Path, receiver: Receiver) -> list[int]:
    return [int(line) for path in (root / "out").glob("*.txt") for line in path.read_text().split()]


def _delta(root: Path, receiver: Receiver) -> list[int]:
    from deltalake import DeltaTable

    if not DeltaTable.is_deltatable(str(root / "out")):
        return []
    return DeltaTable(root / "out").to_pyarrow_table()["id"].to_pylist()  # type: ignore[no-any-return]


def _sqlite(root: Path, receiver: Receiver) -> list[int]:
    connection = sqlite3.connect(root / "out.db")
    try:
        return [row[0] for row in connection.execute("SELECT id FROM numbers")]
    except sqlite3.OperationalError:
        return []  # the table does not exist yet
    finally:
        connection.close()


def _iceberg(root: Path, receiver: Receiver) -> list[int]:
    from pyiceberg.catalog import load_catalog
    from pyiceberg.exceptions import NoSuchTableError

    catalog = load_catalog("default", uri=f"sqlite:///{root}/catalog.db", warehouse=f"file://{root}/warehouse")
    try:
        return catalog.load_table("lake.numbers").scan().to_arrow()["id"].to_pylist()  # type: ignore[no-any-return]
    except NoSuchTableError:
        return []


CASES = {
    **{name: Case({"path": "out"}, _files(name), _FILES) for name in ("parquet", "orc", "json", "csv")},
    "delta": Case({"path": "out"}, _delta, _TABLE),
    "iceberg": Case(
        {
            "table": "lake.numbers",
            "catalog.uri": "sqlite:///{root}/catalog.db",
            "catalog.warehouse": "file://{root}/warehouse",
        },
        _iceberg,
        _TABLE,
    ),
    "jdbc": Case({"url": "sqlite:{root}/out.db", "table": "numbers"}, _sqlite, _TABLE),
    "webhook": Case(
        {"url": "{url}", "max-records": "60"},
        lambda root, receiver: receiver.ids,
        ("after-data-files", "after-manifest", "after-topic-commit", "before-spark-commit"),
    ),
    "spark-files": Case({"path": "out"}, _files("parquet"), once=False),
    "function": Case({"function": "saving.save", "path": "{root}/out"}, _lines, once=False),
}
"""The sinks that store records. `text` writes as `csv` does; those without crash points are only killed."""


@dataclass
class Job:
    """A job that saves numbers to a sink.

    Arguments:
        name: the sink.
        root: its directory.
        receiver: the server of the sink `webhook`.
    """

    name: str
    root: Path
    receiver: Receiver
    files: int = 0
    runs: ExitStack = field(default_factory=ExitStack)

    def __post_init__(self) -> None:
        case = CASES[self.name]
        options = {k: v.format(root=self.root, url=self.receiver.url) for k, v in case.options.items()}
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
        (self.root / "in").mkdir(parents=True)
        (self.root / "saving.py").write_text(SAVE)
        (self.root / "kills.sql").write_text(
            "CREATE STREAM numbers (id bigint) FROM csv OPTIONS ('path' = 'in', 'maxFilesPerTrigger' = 1);\n"
            f"SAVE STREAM numbers TO `{self.name}` OPTIONS ({listed});\n"
        )

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
        command = [*_FLOW, "run", str(self.root / "kills.sql"), "--available-now", "--state-dir", str(self.root / "s")]
        environment = os.environ | {VARIABLE: crash_at, "PYTHONPATH": f"{REPOSITORY}", "no_proxy": "127.0.0.1"}
        with (self.root / "run.out").open("ab") as out:
            process = subprocess.Popen(command, env=environment, stdout=out, stderr=out, cwd=self.root)
        return self.runs.enter_context(killed_at_end(process))

    def kill(self) -> bool:
        """Start the job and kill it while a batch is active; return whether it was."""
        process = self.start()
        while process.poll() is None and not self._active():
            time.sleep(0.005)
        time.sleep(random.uniform(0, 0.3))
        if process.poll() is None:
            everyone = [*psutil.Process(process.pid).children(recursive=True), psutil.Process(process.pid)]
            for one in everyone:
                one.kill()
            process.wait()
        return self._active()

    def _active(self) -> bool:
        """Return whether Spark has planned a batch and not committed it."""
        (checkpoint, *_) = [*(self.root / "s").glob("*/checkpoints/job/numbers"), self.root / "none"]

        def last(directory: str) -> int:
            names = [path.name for path in (checkpoint / directory).glob("[0-9]*")]
            return max(map(int, names), default=-1)

        return last("offsets") > last("commits")

    def problem(self, *, ended: bool) -> str:
        """Return what contradicts the guarantee of the sink; "" for nothing."""
        counts = Counter(CASES[self.name].read(self.root, self.receiver))
        doubled = sum(count - 1 for count in counts.values()) if CASES[self.name].once else 0
        lost = sum(n not in counts for n in range(self.files * ROWS)) if ended else 0
        alien = sum(n >= self.files * ROWS or n < 0 for n in counts)
        return f"{doubled} doubled, {lost} lost, {alien} unknown" if doubled or lost or alien else ""


def kills(name: str, each: int, kills: int) -> dict[str, Any]:
    """Kill a job at each crash point and at random times; return the counts.

    Arguments:
        name: the sink.
        each: how often at each crash point.
        kills: how often with `kill -9` while a batch is active.
    """
    result: dict[str, Any] = {"sink": name, "guarantee": SINKS[name].traits.guarantee, "crashes": 0, "kills": 0}
    problems: list[str] = []
    with tempfile.TemporaryDirectory(prefix="sink-kills-") as directory, receiving() as receiver:
        job = Job(name, Path(directory).resolve(), receiver)
        with job.runs:
            for number, point in enumerate([point for _ in range(each) for point in CASES[name].points]):
                job.feed(2)
                code = job.start(f"{point}:{1 + number % 2}").wait()
                if code != -signal.SIGKILL:
                    problems.append(f"{point} was not reached (exit code {code})")
                result["crashes"] += code == -signal.SIGKILL
                problems += [f"after {point}: {found}" for found in [job.problem(ended=False)] if found]
            for _ in range(kills):
                for _ in range(5):  # attempts to hit a batch
                    job.feed(3)
                    if job.kill():
                        result["kills"] += 1
                        break
                problems += [f"after kill -9: {found}" for found in [job.problem(ended=False)] if found]
            job.feed(1)
            if job.start().wait():
                problems.append("the last run failed:\n" + (job.root / "run.out").read_text()[-2000:])
            problems += [f"at the end: {found}" for found in [job.problem(ended=True)] if found]
            if name == "webhook":
                result["repeated requests"] = len(receiver.requests) - len(receiver.taken)
        result["numbers"] = job.files * ROWS
    return result | {"problems": problems}


def main() -> None:
    """Kill the jobs, and print a line for each sink."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sinks", nargs="*", choices=[*CASES, []], help="default: all")
    parser.add_argument("--each", type=int, default=3, help="kills at each crash point")
    parser.add_argument("--kills", type=int, default=5, help="`kill -9` while a batch is active")
    arguments = parser.parse_args()
    failed = False
    for name in arguments.sinks or CASES:
        before = time.monotonic()
        result = kills(name, arguments.each, arguments.kills)
        failed = failed or bool(result["problems"])
        print(json.dumps(result | {"seconds": round(time.monotonic() - before)}), flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
