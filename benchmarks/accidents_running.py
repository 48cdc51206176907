"""Accidents of the machine while an application runs: `python -m benchmarks.accidents_running` (as root, on Linux).

The ledger application runs continuously on a small disk of its own, with continuous input. One after the other, its
Python workers are killed, its disk becomes full, and its topics and checkpoints become read-only. After each accident,
everything must be `running` again and the backlog processed. The status is read from another process meanwhile. After
a drain at the end, the ledger must be exact. Finally a topic's directory is deleted, and its streamlets must fail
permanently and immediately.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pyarrow.dataset as ds

from benchmarks.kills.ledger import BATCH, Ledger, differences, expected
from benchmarks.processes import alive, command_line, started_by

PATIENCE = 600.0
_DISK = "192m"
_SEEN_WITHIN = 20.0
_READER = "python_streaming_source_runner"
# There are many intended failures, so the waits must not double. The limit is a Python function.
_MORE = (
    "double.parameters.fail-at=1000000000",
    *(f"{ref}.retry.max-backoff=2s" for ref in Ledger.queries),
)


@dataclass
class Running:
    """The ledger application while it runs.

    Arguments:
        ledger: the application.
        disk: the directory with its own file system.
    """

    ledger: Ledger
    disk: Path
    process: subprocess.Popen[bytes]

    def status(self) -> dict[str, Any]:
        """Return the status as another process reads it; {} before there is one."""
        result = self.ledger.flow("status", str(self.ledger.blueprint), "--format", "json")
        return json.loads(result.stdout)["ledger"] if result.stdout else {}

    def states(self) -> dict[str, str]:
        """Return the state of each streamlet in the status, or `silent` for all."""
        status = self.status()
        assert status["alive"], status
        return {
            streamlet["ref"]: "silent" if status["silent"] else streamlet["state"] for streamlet in status["streamlets"]
        }

    def wait_until(self, reached: Callable[[], bool]) -> None:
        """Wait for a condition; raises like `Ledger.wait_until`."""
        self.ledger.wait_until(self.process, reached, seconds=PATIENCE, poll=0.5)

    def settle(self, *, feed: int = 2) -> float:
        """Feed records and wait until all are processed and everything runs; return the seconds."""
        self.ledger.feed(feed)
        begun = time.monotonic()
        self.wait_until(self._settled)
        return time.monotonic() - begun

    def _settled(self) -> bool:
        return self._archived() >= self.ledger.files * BATCH and set(self.states().values()) == {"running"}

    def _archived(self) -> int:
        """Return how many records the egress has written, according to the status."""
        with contextlib.suppress(OSError, ValueError):  # A file may be deleted or incomplete.
            return int(ds.dataset(self.ledger.directory / "out", format="parquet").count_rows())
        return 0

    def workers(self) -> list[tuple[str, psutil.Process]]:
        """Return the Python processes of Spark with their roles.

        Processes whose parent was killed continue as orphans, so they are identified by their working directory.
        """
        workers = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                command = command_line(process)
                if "pyspark." in command and "python" in process.name() and process.cwd() == str(self.ledger.directory):
                    workers.append((_role(process, command), process))
        return workers


def _role(process: psutil.Process, command: str) -> str:
    last = command.split()[-1]
    of = last.removeprefix("pyspark.sql.worker.").removeprefix("pyspark.sql.streaming.").removeprefix("pyspark.")
    parent = process.parent()
    forked = parent is not None and "pyspark.daemon" in " ".join(parent.cmdline())
    return f"{of}, forked" if forked else of


def kill_workers(running: Running, dice: random.Random, times: int) -> Counter[str]:
    """Kill Python workers, one at a time, while batches run; return their roles."""
    killed: Counter[str] = Counter()
    while killed.total() < times:
        running.ledger.feed(1)
        time.sleep(dice.uniform(0.2, 1.5))
        role, victim = _next_victim(running, killed)
        with contextlib.suppress(psutil.NoSuchProcess):
            victim.kill()
            killed[role] += 1
    return killed


def _next_victim(running: Running, killed: Counter[str]) -> tuple[str, psutil.Process]:
    """Return alternately a reader and another worker, of the role that was killed least often.

    Readers always exist; other workers exist only while a batch needs them, so this waits for them for a while.
    """
    deadline = time.monotonic() + _SEEN_WITHIN
    while True:
        workers = dict(running.workers())
        others = sorted(workers.keys() - {_READER}, key=lambda role: killed[role])
        if others and killed[_READER] > killed.total() - killed[_READER]:
            return others[0], workers[others[0]]
        if _READER in workers and (2 * killed[_READER] <= killed.total() or time.monotonic() > deadline):
            return _READER, workers[_READER]
        time.sleep(0.05)


@contextlib.contextmanager
def full_disk(running: Running) -> Iterator[None]:
    """Fill the application's disk."""
    filler = running.disk / "filler"
    with filler.open("wb", buffering=0) as file:
        with contextlib.suppress(OSError):
            while True:
                file.write(b"\0" * 2**16)
        with contextlib.suppress(OSError):
            while True:
                file.write(b"\0")
    try:
        yield
    finally:
        filler.unlink()


@contextlib.contextmanager
def read_only(running: Running) -> Iterator[None]:
    """Make topics and checkpoints read-only; open files stay writable."""
    directories = [running.ledger.home / name for name in ("topics", "checkpoints")]
    for directory in directories:
        subprocess.run(["mount", "--bind", directory, directory], check=True)
        subprocess.run(["mount", "-o", "remount,bind,ro", directory], check=True)
    try:
        yield
    finally:
        for directory in directories:
            subprocess.run(["umount", "--lazy", directory], check=True)


def outage(running: Running, accident: Callable[[Running], Any], seconds: float) -> Counter[str]:
    """Feed the application during an accident; return the states that were reported."""
    reported: Counter[str] = Counter()
    with accident(running):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            running.ledger.feed(1)
            reported.update(running.states().values())
            time.sleep(4)
    return reported


def deleted_topic(running: Running) -> dict[str, str]:
    """Delete a topic's directory; return the final states."""
    shutil.rmtree(running.ledger.home / "topics" / "doubled")
    running.ledger.feed(1)

    def failed() -> bool:
        states = running.states()
        return {states[ref] for ref in ("double", "sums", "archive")} == {"failed"}

    running.wait_until(failed)
    return running.states()


def _disk(directory: Path) -> Path:
    directory.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_DISK}", "tmpfs", directory], check=True)
    return directory


def main() -> None:
    """Cause all accidents and print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50, help="Python workers to kill")
    parser.add_argument("--seconds", type=float, default=40, help="seconds of an outage")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    dice = random.Random(options.seed)
    directory = Path(tempfile.mkdtemp(prefix="accidents-"))
    ledger = Ledger(directory, batch=50 * BATCH)
    disk = _disk(directory / "state")
    try:
        ledger.feed(2)
        running = Running(ledger, disk, ledger.start(bounded=False, more=_MORE))
        wrong = _all_of_it(running, dice, options.kills, options.seconds)
    finally:
        with contextlib.suppress(UnboundLocalError):
            running.process.kill()
            running.process.wait()
        subprocess.run(["umount", "--lazy", disk], check=False)
    shutil.rmtree(directory)
    raise SystemExit(wrong)


def _all_of_it(running: Running, dice: random.Random, kills: int, seconds: float) -> bool:
    ledger = running.ledger
    running.wait_until(lambda: bool(running.status().get("streamlets")))
    print(f"up, backlog processed after {running.settle():.0f} s", flush=True)
    killed = kill_workers(running, dice, kills)
    processed = running.settle()
    print(
        f"{killed.total()} Python workers killed: {dict(killed)}; backlog processed {processed:.0f} s later", flush=True
    )
    for name, accident in (("full disk", full_disk), ("read-only", read_only)):
        reported = outage(running, accident, seconds)
        processed = running.settle()
        print(f"{name} for {seconds:.0f} s: {dict(reported)}; backlog processed {processed:.0f} s later", flush=True)
    members = started_by(running.process.pid)
    running.process.send_signal(signal.SIGTERM)
    code = running.process.wait()
    left = len(alive(members)) + len(running.workers())
    wrong = differences(ledger.records(), expected(ledger.files))
    print(f"drained: exit code {code}, {left} processes left; ledger of {ledger.files} files, lost and doubled {wrong}")
    running.process = ledger.start(bounded=False, more=_MORE)
    running.settle()
    states = deleted_topic(running)
    running.process.send_signal(signal.SIGTERM)
    last = running.process.wait()
    print(f"a topic deleted: {states}; drained with exit code {last}")
    return bool(code or left or any(map(any, wrong.values())) or last != 1)


if __name__ == "__main__":
    main()
