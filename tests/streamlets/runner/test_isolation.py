"""A run with driver processes: the exit of one does not affect the others, and no process remains at the end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from benchmarks.kills.ledger import Ledger, expected
from benchmarks.processes import command_line, java_processes, left_behind, started_by

pytestmark = [pytest.mark.spark, pytest.mark.slow]

HEAD, TAIL = ("numbers", "double"), ("sums", "archive")


class Isolated:
    """The ledger with two drivers: `head` has the numbers and their doubles, `tail` the sums and the archive."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        groups = [f"{ref}.group={name}" for name, refs in (("head", HEAD), ("tail", TAIL)) for ref in refs]
        self.process = ledger.start(bounded=False, more=groups)

    def until(self, reached: Callable[[], bool]) -> None:
        """Wait until a condition is reached."""
        self.ledger.wait_until(self.process, reached, poll=0.5)

    def driver(self, name: str) -> psutil.Process:
        """The process of a driver."""
        children = psutil.Process(self.process.pid).children()
        (driver,) = [child for child in children if command_line(child).split(" ")[-1] == name]
        return driver

    def java(self, name: str) -> psutil.Process:
        """The Java process of a driver."""
        (java,) = java_processes(self.driver(name).children())
        return java

    def told(self, streamlet: str, state: str) -> list[dict[str, Any]]:
        """The events of a streamlet's queries entering a state."""
        events = [e for e in self.ledger.run_events() if e.get("streamlet") == streamlet and e.get("query")]
        return [event for event in events if event.get("state") == state]

    def exact(self) -> bool:
        """Return whether all numbers were processed exactly once."""
        try:
            records = self.ledger.records()
        except (OSError, ValueError):  # not all topics have records yet
            return False
        wanted = expected(self.ledger.files)
        assert all(not records[name] - wanted[name] for name in wanted), "a record is duplicated"
        return bool(records == wanted)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Isolated]:
    """A run with 200 numbers; nothing of it is left after the test."""
    with Ledger(tmp_path, options=("--isolation", "process")) as ledger:
        ledger.feed(2)
        yield Isolated(ledger)


def test_a_crash_in_one_driver_leaves_the_other_running(run: Isolated) -> None:
    """Spark's Java process is killed in one driver, then the process of the other driver: each recovers without an
    effect on the other one, and no record is lost or duplicated. A requested number of replicas reaches the driver, and
    a new process of it, too. When the runner itself is killed, no process remains. `test_kinds.py` drains one."""
    run.until(lambda: all(run.told(ref, "running") for ref in (*HEAD, *TAIL)))
    tail = run.driver("tail"), run.java("tail")
    java, driver = run.java("head"), run.driver("head")
    java.kill()
    run.until(lambda: all(len(run.told(ref, "running")) > 1 for ref in HEAD))
    assert run.driver("head") != driver, "its modules could have objects of the exited Java process"
    assert (run.driver("tail"), run.java("tail")) == tail
    head = run.driver("head"), run.java("head")
    tail[0].kill()
    run.ledger.feed(2)
    run.until(lambda: all(len(run.told(ref, "running")) > 1 for ref in TAIL))
    assert (run.driver("head"), run.java("head")) == head
    assert left_behind([java, *tail]) == []
    run.until(run.exact)

    replicas = (os.cpu_count() or 1) + 1
    scaled = run.ledger.flow("scale", "double", str(replicas), "--path", str(run.ledger.blueprint))
    assert scaled.returncode == 0, scaled.stdout + scaled.stderr
    assert f"double: {replicas} replicas in this run" in scaled.stdout
    run.driver("head").kill()
    run.ledger.feed(2)
    run.until(run.exact)
    warned = [e for e in run.ledger.run_events() if e["event"] == "unit-warned" and e["streamlet"] == "double"]
    assert [f"it has {replicas} replicas" in event["what"] for event in warned] == [True, True], "before and after"
    killed = "its driver process exited (killed by signal 9)"
    causes = {ref: tuple(event["cause"] for event in run.told(ref, "backing-off")) for ref in (*HEAD, *TAIL)}
    assert causes == {
        **dict.fromkeys(HEAD, ("Spark's Java process exited (killed by signal 9)", killed)),
        **dict.fromkeys(TAIL, (killed,)),
    }
    assert all(event["lost"] for ref in (*HEAD, *TAIL) for event in run.told(ref, "backing-off"))
    logs = run.ledger.home / "logs"
    assert sorted(entry.name for entry in logs.iterdir() if entry.is_dir()) == ["head", "tail"]

    members = started_by(run.process.pid)
    run.process.kill()
    run.process.wait()
    assert left_behind(members) == []
