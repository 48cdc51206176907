"""The application of the ledger, which is drained at random times.

The ingress reads files with a source of Spark, the other streamlets read topics. Half of the drains have a backlog:
more input than can be read before the signal. After each drain, the last planned batch of every query must be
committed, and no process may remain. With `kill -9` only the runner is killed, and its processes must exit. At the end,
an undisturbed run processes the rest, and the ledger must be exact.
"""

from __future__ import annotations

import random
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.kills.harness import KILL, Target
from benchmarks.kills.ledger import Ledger, compared, expected
from benchmarks.processes import alive, left_behind, started_by

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_EXIT_TIMEOUT = 60.0
_BACKLOG, _IDLE = "drain with a backlog", "drain"


@dataclass(frozen=True)
class Drain:
    """The result of a drain.

    Arguments:
        backlog: whether there was a backlog.
        batch: seconds of the longest running batch.
        seconds: from the signal to the end of the last query, and to the end of the process.
        uncommitted: queries whose last planned batch is not committed.
        left: number of processes that outlived the runner.
        code: the exit code of the runner.
    """

    backlog: bool
    batch: float
    seconds: tuple[float, float]
    uncommitted: tuple[str, ...]
    left: int
    code: int


def drain(ledger: Ledger, dice: random.Random, *, backlog: bool) -> Drain:
    """Run the application for a while, send SIGTERM, and return the result."""
    ledger.feed(60 if backlog else 2)
    process = ledger.start(bounded=False)
    ledger.wait_until_up(process)
    time.sleep(dice.uniform(0.5, 8))
    if not backlog:
        ledger.feed(1)  # a batch may or may not be running at the signal
        time.sleep(dice.uniform(0, 1.5))
    members = started_by(process.pid)
    signalled = time.time()
    process.send_signal(signal.SIGTERM)
    code = process.wait()
    ended = time.time()
    events = ledger.run_events()
    stopped = max((e["time"] for e in events if e.get("state") == "stopped"), default=ended)
    batches = [e["seconds"] for e in events if e["event"] == "unit-progressed" and e["time"] >= signalled]
    seconds, left = (stopped - signalled, ended - signalled), len(alive(members))
    return Drain(backlog, max(batches, default=0.0), seconds, _uncommitted(ledger), left, code)


def _uncommitted(ledger: Ledger) -> tuple[str, ...]:
    last = {streamlet: ledger.last_batch(streamlet) for streamlet in ledger.queries}
    return tuple(
        f"{streamlet}: batch {planned} planned, {committed} committed"
        for streamlet, (planned, committed) in last.items()
        if planned != committed
    )


def exited_after_a_kill(ledger: Ledger, dice: random.Random) -> float:
    """Kill only the runner with SIGKILL while it works; return the seconds until all its processes have exited."""
    ledger.feed(20)
    process = ledger.start(bounded=False)
    ledger.wait_until_up(process)
    time.sleep(dice.uniform(0.5, 4))
    members = started_by(process.pid)
    process.kill()
    process.wait()
    killed = time.monotonic()
    left = left_behind(members, _EXIT_TIMEOUT)
    assert not left, left
    return time.monotonic() - killed


class Drains(Target):
    """The application, and its drains."""

    kills = 5

    def __init__(self, directory: Path, dice: random.Random, options: Sequence[str] = ()) -> None:
        super().__init__(directory, dice)
        self._ledger = self.resources.enter_context(Ledger(directory, options=options))
        self._beyond: list[float] = []  # seconds of each drain after the end of its longest batch
        self._problems: list[str] = []

    def rounds(self, each: int, kills: int) -> list[str]:
        """Return `each` drains with a backlog, `each` without one, and kills of the runner."""
        return [_BACKLOG, _IDLE] * each + [KILL] * kills

    def play(self, round: str) -> tuple[bool, str]:
        """Drain, or kill the runner, once."""
        if round == KILL:
            seconds = exited_after_a_kill(self._ledger, self.dice)
            return True, f"kill -9 of the runner, all processes have exited after {seconds:.1f} s"
        result = drain(self._ledger, self.dice, backlog=round == _BACKLOG)
        queries, process = result.seconds
        self._beyond.append(queries - result.batch)
        self._problems = [f"not committed: {batch}" for batch in result.uncommitted]
        self._problems += [f"{result.left} processes left"] * bool(result.left)
        self._problems += [f"exit code {result.code}"] * bool(result.code)
        return (
            True,
            f"{round}, queries down in {queries:.2f} s, process in {process:.2f} s, batch {result.batch:.2f} s",
        )

    def problems(self) -> list[str]:
        """Return what was wrong with the last drain."""
        return self._problems

    def settle(self) -> list[str]:
        """Run to the end, and compare."""
        self._ledger.require_success(self._ledger.run())
        if beyond := sorted(self._beyond):
            print(f"seconds after the running batch: median {beyond[len(beyond) // 2]:.2f}, longest {beyond[-1]:.2f}")
        return compared(self._ledger.records(), expected(self._ledger.files))
