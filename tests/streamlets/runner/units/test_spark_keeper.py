"""The Spark of units is started again, once for all of them, when it has exited. Here it is a small process."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import pytest

from streamlets.runner.units.spark_keeper import SparkGoneError, SparkKeeper
from streamlets.spark.failure import Failure
from streamlets.spark.session import SessionError


@dataclass(frozen=True)
class FakeSpark:
    """A process that waits to be ended."""

    process: subprocess.Popen[bytes]

    def forget(self) -> None:
        """Do nothing."""

    def stop(self) -> None:
        """End it."""
        self.process.kill()
        self.process.wait()


class Starts:
    """Starts processes, unless it is broken, and counts them."""

    def __init__(self, script: str = "input()") -> None:
        self.script = script
        self.made: list[Any] = []
        self.refused = 0
        self.broken = False

    def __call__(self) -> Any:
        if self.broken:
            self.refused += 1
            raise SessionError("there is no memory", "buy some")
        self.made.append(FakeSpark(subprocess.Popen([sys.executable, "-c", self.script], stdin=subprocess.PIPE)))
        return self.made[-1]


def test_an_exited_spark_is_reported_once_and_replaced_once(tmp_path: Path) -> None:
    """The report has the cause; concurrent calls get the same new Spark."""
    starts, failures = Starts(), SimpleQueue[Failure]()
    host = SparkKeeper(starts, failures.put, tmp_path / "jvm.log")
    assert host.spark() is starts.made[0]
    assert host.failure() is None
    starts.made[0].process.kill()
    assert failures.get(timeout=300).cause == "Spark's Java process exited (killed by signal 9)"
    assert host.failure() is not None
    with ThreadPoolExecutor(4) as pool:
        sparks = list(pool.map(lambda _: host.spark(), range(4)))
    assert set(map(id, sparks)) == {id(starts.made[1])}
    assert len(starts.made) == 2
    assert host.alive
    host.stop()
    with pytest.raises(Empty):
        failures.get(timeout=0.2)


def test_one_that_does_not_start_again_is_tried_again_later(tmp_path: Path) -> None:
    """The call that tries to start it raises the reason; the next call may succeed."""
    starts = Starts()
    host = SparkKeeper(starts, lambda lost: None, tmp_path / "jvm.log")
    starts.made[0].stop()
    starts.broken = True
    with pytest.raises(SparkGoneError, match="cannot be started again: there is no memory"):
        host.spark()
    starts.broken = False
    assert host.spark() is starts.made[1]
    assert starts.refused == 1
    host.stop()


def test_objects_of_an_exited_spark_are_renewed_before_the_next_start(tmp_path: Path) -> None:
    """Once for each exit, and not for the first start."""
    starts, renewed = Starts(), list[int]()
    host = SparkKeeper(starts, lambda lost: None, tmp_path / "jvm.log", renew=lambda: renewed.append(len(starts.made)))
    assert renewed == []
    for _ in range(2):
        host.spark().stop()
        host.spark()
    host.stop()
    assert renewed == [1, 2]


def test_the_first_one_must_start(tmp_path: Path) -> None:
    """The error of the first start is raised."""
    starts = Starts()
    starts.broken = True
    with pytest.raises(SessionError):
        SparkKeeper(starts, lambda lost: None, tmp_path / "jvm.log")


@pytest.mark.parametrize(("code", "words"), [(3, ""), (1, "java.lang.OutOfMemoryError: Java heap space")])
def test_lack_of_memory_is_said(tmp_path: Path, code: int, words: str) -> None:
    """After an exit code or a last error about memory, the cause has the setting."""
    failures = SimpleQueue[Failure]()
    (tmp_path / "jvm.log").write_text(f"{'-' * 1_000_000}\n{words}\n")
    SparkKeeper(Starts(f"raise SystemExit({code})"), failures.put, tmp_path / "jvm.log")
    assert failures.get(timeout=300).cause == (
        f"Spark's Java process exited (exit code {code}, out of memory; "
        "increase `spark.driver.memory` in `flow.runtimes.spark`)"
    )


def test_an_ended_spark_has_its_reason_as_failure_and_is_replaced(tmp_path: Path) -> None:
    """The reason is a disturbance, and the next Spark has none. A Spark that is being stopped is not ended."""
    starts, failures, ends = Starts(), SimpleQueue[Failure](), list[Any]()
    host = SparkKeeper(starts, failures.put, tmp_path / "jvm.log", observe=lambda spark, end: ends.append((spark, end)))
    spark, end = ends[0]
    assert spark is starts.made[0]
    end("a batch has waited for an executor")
    failure = failures.get(timeout=300)
    assert failure == host.failure() == Failure("a batch has waited for an executor", disturbance=True, lost=True)
    assert host.spark() is starts.made[1]
    starts.made[1].process.kill()
    assert failures.get(timeout=300).cause == "Spark's Java process exited (killed by signal 9)"
    host.spark()
    host.stop()
    ends[-1][1]("Spark has stopped")
    with pytest.raises(Empty):
        failures.get(timeout=0.2)
