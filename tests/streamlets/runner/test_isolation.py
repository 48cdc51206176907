"""A run whose streamlets have driver processes of their own: one that dies takes no other along, and none is left."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from benchmarks.kill_ledger import Ledger, expected
from benchmarks.processes import alive, command_line, java_processes, left_behind, started_by

pytestmark = [pytest.mark.spark, pytest.mark.slow]

HEAD, TAIL = ("numbers", "double"), ("sums", "archive")


class Isolated:
    """The ledger with two drivers: `head` has the numbers and their doubles, `tail` the sums and the archive."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.process = self.start()

    def start(self) -> subprocess.Popen[bytes]:
        """Start a run."""
        groups = [f"{ref}.group={name}" for name, refs in (("head", HEAD), ("tail", TAIL)) for ref in refs]
        return self.ledger.start(bounded=False, more=groups)

    def until(self, reached: Callable[[], bool]) -> None:
        """Wait until something is so."""
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
        """Whether everything that was fed has gone through, once."""
        try:
            found = self.ledger.records()
        except (OSError, ValueError):  # some of it is not there yet
            return False
        wanted = expected(self.ledger.files)
        assert all(not found[name] - wanted[name] for name in wanted), "something was doubled"
        return bool(found == wanted)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Isolated]:
    """A run with 200 numbers; nothing of it is left after the test."""
    with Ledger(tmp_path, options=("--isolation", "process")) as ledger:
        ledger.feed(2)
        yield Isolated(ledger)


def test_a_crash_in_one_driver_leaves_the_other_running(run: Isolated) -> None:
    """Spark's Java process is killed in one driver, then the other driver's own process: each heals while the other one
    never notices. A signal drains both, no record is lost or doubled, and no process is left. Nor is one left when the
    runner itself is killed."""
    run.until(lambda: all(run.told(ref, "running") for ref in (*HEAD, *TAIL)))
    tail = run.driver("tail"), run.java("tail")
    java, driver = run.java("head"), run.driver("head")
    java.kill()
    run.until(lambda: all(len(run.told(ref, "running")) > 1 for ref in HEAD))
    assert run.driver("head") != driver, "modules in it could hold objects of the Java process that is gone"
    assert (run.driver("tail"), run.java("tail")) == tail
    head = run.driver("head"), run.java("head")
    tail[0].kill()
    run.ledger.feed(2)
    run.until(lambda: all(len(run.told(ref, "running")) > 1 for ref in TAIL))
    assert (run.driver("head"), run.java("head")) == head
    assert left_behind([java, *tail]) == []
    run.until(run.exact)
    causes = {ref: tuple(event["cause"] for event in run.told(ref, "backing-off")) for ref in (*HEAD, *TAIL)}
    assert causes == {
        **dict.fromkeys(HEAD, ("Spark's Java process exited (killed by signal 9)",)),
        **dict.fromkeys(TAIL, ("its driver process exited (killed by signal 9)",)),
    }
    members = started_by(run.process.pid)
    run.process.send_signal(signal.SIGTERM)
    assert run.process.wait() == 0
    assert java_processes(alive(members)) == []
    assert left_behind(members) == []
    assert run.exact()
    logs = run.ledger.home / "logs"
    assert sorted(each.name for each in logs.iterdir() if each.is_dir()) == ["head", "tail"]

    run.process = run.start()
    run.until(lambda: bool(java_processes(started_by(run.process.pid))))
    members = started_by(run.process.pid)
    run.process.kill()
    run.process.wait()
    assert left_behind(members) == []
