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

import psutil
import pyarrow.dataset as ds

from benchmarks.processes import killed_at_end
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


def _listed_files(root: Path, receiver: Receiver) -> list[int]:
    """Read the files in the log of Spark's sink of files, as Spark does."""
    logs = [path for path in (root / "out" / "_spark_metadata").glob("[0-9]*") if path.is_file()]
    entries = [json.loads(line) for path in logs for line in path.read_text().splitlines()[1:]]
    paths = sorted({entry["path"].removeprefix("file://") for entry in entries})
    return ds.dataset(paths, format="parquet").to_table()["id"].to_pylist() if paths else []


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
    **{name: Case({"path": "{root}/out"}, _files(name), _FILES) for name in ("parquet", "orc", "json", "csv")},
    "delta": Case({"path": "{root}/out"}, _delta, _TABLE),
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
    "spark-files": Case({"path": "{root}/out"}, _listed_files),
    "function": Case({"function": "saving.save", "path": "{root}/out"}, _lines, once=False),
}
"""The sinks that store records. `text` writes as `csv` does; those without crash points are only killed."""


@dataclass
class Job:
    """A job that saves numbers to sinks, each in a directory of its own.

    Arguments:
        names: the sinks.
        root: its directory.
        receiver: the server of the sink `webhook`.
    """

    names: Sequence[str]
    root: Path
    receiver: Receiver
    files: int = 0
    runs: ExitStack = field(default_factory=ExitStack)

    def __post_init__(self) -> None:
        (self.root / "in").mkdir(parents=True)
        (self.root / "saving.py").write_text(SAVE)
        statements = ["CREATE STREAM numbers (id bigint) FROM csv OPTIONS ('path' = 'in', 'maxFilesPerTrigger' = 1)"]
        for name in self.names:
            (self.root / name).mkdir()
            options = CASES[name].options.items()
            filled = [
                f"'{key}' = '{text.format(root=self.root / name, url=self.receiver.url)}'" for key, text in options
            ]
            statements.append(f"SAVE STREAM numbers TO `{name}` IDENTIFIED BY `{name}` OPTIONS ({', '.join(filled)})")
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
        command = [*_FLOW, "run", str(self.root / "kills.sql"), "--available-now", "--state-dir", str(self.root / "s")]
        environment = os.environ | {VARIABLE: crash_at, "PYTHONPATH": f"{REPOSITORY}", "no_proxy": "127.0.0.1"}
        with (self.root / "run.out").open("ab") as out:
            process = subprocess.Popen(command, env=environment, stdout=out, stderr=out, cwd=self.root)
        return self.runs.enter_context(killed_at_end(process))

    def kill(self) -> list[str]:
        """Start the job and kill it while batches are active; return the sinks of the unfinished batches."""
        chosen = random.choice(self.names)
        before, process = self._last(chosen, "offsets"), self.start()
        # The batch that the kill before interrupted is unfinished from the start: wait for one after it.
        while process.poll() is None and (self._last(chosen, "offsets") == before or chosen not in self._active()):
            time.sleep(0.005)
        time.sleep(random.uniform(0, 0.5))
        if process.poll() is None:
            everyone = [*psutil.Process(process.pid).children(recursive=True), psutil.Process(process.pid)]
            for one in everyone:
                one.kill()
        process.wait()
        return self._active()

    def _active(self) -> list[str]:
        """Return the sinks of which Spark has planned a batch and not committed it."""
        return [name for name in self.names if self._last(name, "offsets") > self._last(name, "commits")]

    def _last(self, name: str, directory: str) -> int:
        paths = (self.root / "s").glob(f"*/checkpoints/job/{name}/{directory}/[0-9]*")
        return max((int(path.name) for path in paths), default=-1)

    def problems(self, *, ended: bool) -> list[str]:
        """Return what contradicts the guarantees of the sinks."""
        found = []
        for name in self.names:
            counts = Counter(CASES[name].read(self.root / name, self.receiver))
            doubled = sum(count - 1 for count in counts.values()) if CASES[name].once else 0
            lost = sum(n not in counts for n in range(self.files * ROWS)) if ended else 0
            unknown = sum(n >= self.files * ROWS or n < 0 for n in counts)
            if doubled or lost or unknown:
                found.append(f"{name}: {doubled} doubled, {lost} lost, {unknown} unknown")
        return found


def ledger(names: Sequence[str], each: int, kills: int) -> int:
    """Kill a job repeatedly, print a line for each kill, and return the number of problems.

    Arguments:
        names: the sinks. With several, they share each run, and a crash point is that of any of them.
        each: how often at each crash point.
        kills: how often with `kill -9` while batches are active.
    """
    count, hits, reached = 0, Counter[str](), Counter[str]()

    def report(what: str, problems: Sequence[str]) -> None:
        nonlocal count
        count += len(problems)
        print(f"{', '.join(names)}: {what}: {'; '.join(problems) or 'as guaranteed'}", flush=True)

    with tempfile.TemporaryDirectory(prefix="sink-kills-") as directory, receiving() as receiver:
        job = Job(names, Path(directory).resolve(), receiver)
        with job.runs:
            points = list(dict.fromkeys(point for name in names for point in CASES[name].points))
            for number, point in enumerate(points * each):
                job.feed(2)
                code = job.start(f"{point}:{1 + number % 2}").wait()
                missed = [] if code == -signal.SIGKILL else [f"not reached (exit code {code})"]
                reached[point] += not missed
                report(f"killed {point}", [*missed, *job.problems(ended=False)])
            for _ in range(kills):
                job.feed(3)
                active = job.kill()
                hits.update(active)
                report(f"kill -9 in a batch of {', '.join(active) or 'no sink'}", job.problems(ended=False))
            job.feed(1)
            code = job.start().wait()
            failed = [f"exit code {code}\n{(job.root / 'run.out').read_text()[-2000:]}"] if code else []
            report("ran to the end", [*failed, *job.problems(ended=True)])
        repeated = len(receiver.requests) - len(receiver.taken)
    print(json.dumps({"at points": reached, "in batches": hits, "repeated requests": repeated, "problems": count}))
    return count


def main() -> None:
    """Kill the jobs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sinks", nargs="*", choices=[*CASES, []], help="default: all")
    parser.add_argument("--each", type=int, default=3, help="kills at each crash point")
    parser.add_argument("--kills", type=int, default=5, help="`kill -9` while a batch is active")
    parser.add_argument("--together", action="store_true", help="one job with all sinks, instead of a job for each")
    arguments = parser.parse_args()
    names = arguments.sinks or [*CASES]
    groups = [names] if arguments.together else [[name] for name in names]
    sys.exit(sum(ledger(group, arguments.each, arguments.kills) for group in groups) > 0)


if __name__ == "__main__":
    main()
