"""Drains a running application at random times and checks its state: `python -m benchmarks.drains`.

The ingress reads files with a source of Spark, the other streamlets read topics. Half of the drains have a backlog:
more input than can be read before the signal. After each drain, the last planned batch of every query must be
committed, the queries must end within the running batch and five seconds, and no process may remain. At the end, an
undisturbed run processes the rest, and the ledger must be exact. With `--seed` and a few drains, this can be done in
several parts.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.kill_ledger import Ledger, differences, expected
from benchmarks.processes import alive, left_behind, started_by

_EXIT_TIMEOUT = 60.0


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


def main() -> None:
    """Drain repeatedly and print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--drains", type=int, default=40)
    parser.add_argument("--kills", type=int, default=5, help="how often only the runner is killed with SIGKILL")
    parser.add_argument("--isolation", choices=("none", "process"), default="none", help="as in `flow run`")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    dice = random.Random(options.seed)
    directory = Path(tempfile.mkdtemp(prefix="drains-"))
    ledger = Ledger(directory, options=("--isolation", options.isolation))
    drains = []
    for number in range(options.drains):
        result = drain(ledger, dice, backlog=number % 2 == 0)
        drains.append(result)
        queries, process = result.seconds
        print(
            f"{number + 1:3} {'backlog' if result.backlog else 'idle   '}  queries down after {queries:5.2f} s, "
            f"process after {process:5.2f} s; batch {result.batch:5.2f} s; exit code {result.code}, "
            f"{result.left} processes left" + "".join(f"; NOT COMMITTED {batch}" for batch in result.uncommitted),
            flush=True,
        )
    kills = [exited_after_a_kill(ledger, dice) for _ in range(options.kills)]
    code = ledger.run()
    wrong = differences(ledger.records(), expected(ledger.files))
    beyond = [result.seconds[0] - result.batch for result in drains]
    uncommitted = sum(len(result.uncommitted) for result in drains)
    print(f"{len(drains)} drains: queries whose last batch is not committed: {uncommitted}")
    print(f"seconds beyond the running batch: median {sorted(beyond)[len(beyond) // 2]:.2f}, longest {max(beyond):.2f}")
    print(f"process ended after: longest {max(result.seconds[1] for result in drains):.2f} s")
    codes = sorted({result.code for result in drains})
    print(f"processes left: {sum(result.left for result in drains)}; exit codes {codes}")
    print(f"runner killed {len(kills)} times: all its processes exited within {max(kills, default=0):.2f} s")
    print(f"ledger of {ledger.files} files, exit code {code}: lost and doubled {wrong}")
    shutil.rmtree(directory)
    failed = (
        uncommitted or any(result.left or result.code for result in drains) or code or any(map(any, wrong.values()))
    )
    raise SystemExit(bool(failed))


if __name__ == "__main__":
    main()
