"""The application of the ledger on a real cluster of Spark, parts of which are killed while batches are active.

One master and three workers on loopback authenticate each other and encrypt what they send. One run goes on through all
rounds. After each kill, everything that was fed must be in all topics and files, once, without any help. A master is
started again with what it knew of its applications, or without. An executor that is stopped at its commit has been
allowed to commit by the driver: it goes on after another one has done its work.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from benchmarks.kills.harness import Target
from benchmarks.kills.ledger import REPOSITORY, Ledger, differences, expected, kill_driver
from benchmarks.processes import command_line, left_behind
from streamlets.artifacts.java import java_command
from streamlets.spark.class_archive import archive_options
from streamlets.spark.spark_home import installed_home
from tests.cluster import standalone

EXECUTOR, WORKER, RUNNER, COMMIT = "an executor", "a worker", "the runner", "an executor at its commit"
MASTER, FORGETFUL = "the master", "the master, which forgets its applications"
IDLE = "the master, which forgets an idle application"
_COMMIT = (
    "org.apache.hadoop.mapreduce.lib.output.FileOutputCommitter.commitTask"
    "(org.apache.hadoop.mapreduce.TaskAttemptContext,org.apache.hadoop.fs.Path)"
)
_PATIENCE = 900.0  # seconds until a round counts as not processed
_STOP_PATIENCE = 60.0  # seconds for an executor to come to its next commit
_POLL = 0.5
_SETTINGS = {
    "spark.executor.memory": "600m",
    "spark.executor.cores": "1",
    "spark.sql.shuffle.partitions": "3",
    "spark.network.timeout": "30s",  # after which a suspended executor is lost
    "spark.network.timeoutInterval": "10s",
    "spark.executor.heartbeatInterval": "5s",
}
_JAVA = ("-XX:TieredStopAtLevel=1", "-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:0")


class Cluster(Target):
    """The application on a cluster of three workers."""

    kills = 20

    def __init__(self, directory: Path, dice: random.Random, options: Sequence[str] = ()) -> None:
        super().__init__(directory, dice)
        home = self.directory / "cluster"
        shutil.rmtree(home, ignore_errors=True)
        self.cluster = self.resources.enter_context(
            standalone.Cluster(
                home, workers=3, memory="700m", secured=True, recovery=True, settings={"spark.worker.timeout": "20"}
            )
        )
        os.environ.update(self.cluster.environment)  # of all runs
        path = os.pathsep.join(map(str, (REPOSITORY, Ledger.modules)))
        java = " ".join((*_JAVA, *archive_options(installed_home())))
        settings = _SETTINGS | {"spark.executorEnv.PYTHONPATH": path, "spark.executor.extraJavaOptions": java}
        conf = self.cluster.conf(home / "application.conf", settings)
        on_cluster = ("--master", self.cluster.url, "--conf", str(conf), *options)
        self.ledger = self.resources.enter_context(Ledger(self.directory / "application", options=on_cluster))
        self._run: subprocess.Popen[bytes] | None = None
        self._wrong: list[str] = []

    def rounds(self, each: int, kills: int) -> list[str]:
        """Return as many kills of executors and of workers as `kills`, and half as many of everything else.

        A quarter of the kills of masters are without recovery and without a batch.
        """
        some = (kills + 1) // 2
        forgetful = some // 2
        masters = [MASTER] * (some - forgetful) + [FORGETFUL] * (forgetful - forgetful // 2) + [IDLE] * (forgetful // 2)
        return [*[EXECUTOR] * kills, *[WORKER] * kills, *masters, *[RUNNER] * some, *[COMMIT] * some]

    def play(self, round: str) -> tuple[bool, str]:
        """Feed, kill while a batch is active, and wait until everything was processed."""
        run = self._running()
        if round == IDLE:
            return self._forget_while_idle(run)
        self.ledger.feed(2)
        began = time.monotonic()
        phase = self._active(run)
        if phase is None:
            return False, f"{round}: no batch was active"
        if not (detail := self._kill(round, run)):
            return False, f"{round}: missed"
        problem = self._processed()
        self._wrong += [f"after the kill of {round}: {problem}"] if problem else []
        return True, f"{round}, {detail}; {phase}; all processed after {time.monotonic() - began:.0f} s"

    def problems(self) -> list[str]:
        """Return what was lost, doubled or not processed in the last round."""
        return self._wrong

    def settle(self) -> list[str]:
        """Drain the run, then process the rest in a bounded run, and compare."""
        if self._run is not None:
            self._run.terminate()
            self._run.wait()
            self._run = None
        code = self.ledger.run()
        got, wanted = self.ledger.records(), expected(self.ledger.files)
        problems = [] if code == 0 else [f"the last run has failed with exit code {code}"]
        for name, (lost, doubled) in differences(got, wanted).items():
            line = f"{name}: {wanted[name].total():,} records, {lost} lost, {doubled} doubled"
            print(line)
            problems += [line] if lost or doubled else []
        return problems

    def _running(self) -> subprocess.Popen[bytes]:
        """Return the run, started if there is none."""
        if self._run is None:
            self.ledger.feed(1)
            self._run = self.ledger.start(bounded=False)
            self.ledger.wait_until_up(self._run)
        self.ledger.wait_until(self._run, lambda: len(self.cluster.executors()) == len(self.cluster.workers))
        return self._run

    def _active(self, run: subprocess.Popen[bytes]) -> str | None:
        """Wait until a batch is active, and return its phase; None if all are committed before one was seen."""
        wanted, end = self.dice.choice([*self.ledger.queries]), time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            if phase := self.ledger.phase(wanted):
                time.sleep(self.dice.uniform(0, 0.5))
                return phase
            self._require(run)
            time.sleep(0.01)
        return None

    def _kill(self, round: str, run: subprocess.Popen[bytes]) -> str:
        """Kill or suspend something; return what happened, empty if it was missed."""
        if round == EXECUTOR:
            return _killed(self.dice.choice(self.cluster.executors()))
        if round == WORKER:
            worker = self.dice.choice(self.cluster.workers)
            self.cluster.kill_worker(worker)
            self._wait(lambda: not self.cluster.executors(worker))
            self.cluster.start_worker(worker)
            return f"started again as worker {worker}"
        if round == RUNNER:
            how = kill_driver(run, alone=self.dice.random() < 0.5)
            self._run = self.ledger.start(bounded=False)
            return f"{how}, and started again"
        if round == COMMIT:
            return self._stop_at_commit()
        return self._kill_master(forget=round == FORGETFUL)

    def _kill_master(self, *, forget: bool) -> str:
        self.cluster.kill_master()
        self.ledger.feed(1)  # which the executors process without a master
        detail = "alone"
        if self.dice.random() < 0.5 and (executors := self.cluster.executors()):
            detail = f"and an executor ({_killed(self.dice.choice(executors))})"
        time.sleep(self.dice.uniform(5, 15))
        if forget:
            shutil.rmtree(self.cluster.directory / "recovery")
        self.cluster.start_master()
        return f"{detail}, and started again"

    def _forget_while_idle(self, run: subprocess.Popen[bytes]) -> tuple[bool, str]:
        """Have a master forget the run after its last record, and feed it when it has executors again by itself."""
        if problem := self._processed():
            self._wrong.append(f"before the kill of {IDLE}: {problem}")
            return False, f"{IDLE}: not idle"
        ended = self.cluster.executors()
        self.cluster.kill_master()
        time.sleep(self.dice.uniform(0, 15))
        shutil.rmtree(self.cluster.directory / "recovery")
        self.cluster.start_master()
        began = time.monotonic()
        wanted = len(self.cluster.workers)
        self.ledger.wait_until(
            run, lambda: len([process for process in self.cluster.executors() if process not in ended]) == wanted
        )
        detail = f"executors again after {time.monotonic() - began:.0f} s"
        self.ledger.feed(2)
        problem = self._processed()
        self._wrong += [f"after the kill of {IDLE}: {problem}"] if problem else []
        return True, f"{IDLE}, {detail}; all processed after {time.monotonic() - began:.0f} s"

    def _stop_at_commit(self) -> str:
        """Stop an executor in a commit that the driver has allowed, and let it go on after its work was done again."""
        executor = self.dice.choice(self.cluster.executors())
        with stopped_at(executor, _COMMIT) as stopped:
            self.ledger.feed(2)
            if not stopped():
                return ""
            problem = self._processed()
            if problem:
                return f"while it was stopped: {problem}"
        gone = not left_behind([executor])
        return f"stopped until another one had done its work, then {'exited' if gone else 'continued'}"

    def _processed(self) -> str:
        """Wait until everything that was fed is in all topics and files; return what is wrong, empty if nothing is."""
        end, wanted = time.monotonic() + _PATIENCE, expected(self.ledger.files)
        while True:
            missing = {}
            with suppress(OSError):  # a file of the sink was replaced meanwhile
                found = differences(self.ledger.records(), wanted)
                if doubled := {name: counts[1] for name, counts in found.items() if counts[1]}:
                    return f"doubled records: {doubled}"
                missing = {name: counts[0] for name, counts in found.items() if counts[0]}
                if not missing:
                    return ""
            if time.monotonic() > end:
                return f"not processed after {_PATIENCE:.0f} s: {missing}"
            if self._run is not None:
                self._require(self._run)
            time.sleep(_POLL)

    def _require(self, run: subprocess.Popen[bytes]) -> None:
        if run.poll() is not None:
            raise RuntimeError(f"the run has ended with exit code {run.returncode}; see {self.ledger.out}")

    def _wait(self, reached: Callable[[], Any]) -> None:
        end = time.monotonic() + _PATIENCE
        while not reached() and time.monotonic() < end:
            time.sleep(_POLL)


def _killed(process: psutil.Process) -> str:
    with suppress(psutil.NoSuchProcess):
        process.kill()
    return f"process {process.pid}"


@contextmanager
def stopped_at(executor: psutil.Process, method: str) -> Iterator[Callable[[], bool]]:
    """Stop a Java process with a debugger when it calls a method, with all its threads; it goes on after the block.

    Arguments:
        executor: a Java process that listens to a debugger.
        method: the method, with its class.

    Yields:
        A function that waits until the process has stopped, and returns whether it has.
    """
    port = re.search(r"address: (?:\S+:)?(\d+)", (Path(executor.cwd()) / "stdout").read_text())
    if port is None:
        raise RuntimeError(f"no debugger can attach: {command_line(executor)}")
    debugger = subprocess.Popen(
        [str(Path(java_command()).with_name("jdb")), "-attach", f"127.0.0.1:{port[1]}"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0,
    )  # fmt: skip
    assert debugger.stdin is not None
    assert debugger.stdout is not None
    os.set_blocking(debugger.stdout.fileno(), False)
    heard = b""

    def hears(*words: bytes) -> bool:
        nonlocal heard
        assert debugger.stdout is not None
        end = time.monotonic() + _STOP_PATIENCE
        while time.monotonic() < end and debugger.poll() is None and not any(word in heard for word in words):
            heard += debugger.stdout.read() or b""
            time.sleep(0.02)
        return any(word in heard for word in words)

    try:
        debugger.stdin.write(f"stop in {method}\n".encode())
        if not hears(b"Set breakpoint", b"Deferring breakpoint"):
            raise RuntimeError(f"the debugger cannot stop in {method}: {heard.decode()}")
        yield lambda: hears(b"Breakpoint hit")
    finally:
        with suppress(OSError):
            debugger.stdin.write(b"exit\n")  # the process goes on
            debugger.stdin.close()
        debugger.wait()
