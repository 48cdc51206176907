"""Drains a running application at random moments and looks what it left: `python -m benchmarks.drains`.

The ingress reads files by a source of Spark's own, the others topics. Half of the drains come under backlog: more is
fed than can be read before the signal. After each the last batch that a query has planned must be committed, the
queries must be down within the running batch and five seconds, and no process may be left. At the end an undisturbed
run works off the rest, and the ledger must be exact. `--seed` and a few drains at a time do it in pieces.
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

_GONE_WITHIN = 60.0


@dataclass(frozen=True)
class Drain:
    """What one drain did.

    Arguments:
        backlog: whether it came under backlog; batch: seconds of the longest batch that was running.
        seconds: from the signal to the last query's end, and to the process's end.
        uncommitted: queries whose last planned batch is not committed; left: processes that outlived the runner.
    """

    backlog: bool
    batch: float
    seconds: tuple[float, float]
    uncommitted: tuple[str, ...]
    left: int
    code: int


def drain(ledger: Ledger, dice: random.Random, *, backlog: bool) -> Drain:
    """Start the application, let it work for a while, send SIGTERM, and look."""
    ledger.feed(60 if backlog else 2)
    process = ledger.start(bounded=False)
    ledger.wait_until_up(process)
    time.sleep(dice.uniform(0.5, 8))
    if not backlog:
        ledger.feed(1)  # a batch may or may not run when the signal comes
        time.sleep(dice.uniform(0, 1.5))
    members = started_by(process.pid)
    asked = time.time()
    process.send_signal(signal.SIGTERM)
    code = process.wait()
    ended = time.time()
    events = ledger.told()
    stopped = max((e["time"] for e in events if e.get("state") == "stopped"), default=ended)
    batches = [e["seconds"] for e in events if e["event"] == "unit-progressed" and e["time"] >= asked]
    seconds, left = (stopped - asked, ended - asked), len(alive(members))
    return Drain(backlog, max(batches, default=0.0), seconds, _uncommitted(ledger), left, code)


def _uncommitted(ledger: Ledger) -> tuple[str, ...]:
    last = {streamlet: ledger.last_batch(streamlet) for streamlet in ledger.queries}
    return tuple(
        f"{streamlet}: batch {planned} planned, {committed} committed"
        for streamlet, (planned, committed) in last.items()
        if planned != committed
    )


def gone_after_a_kill(ledger: Ledger, dice: random.Random) -> float:
    """Kill the runner alone with SIGKILL in the middle of work; seconds until all that it had started is gone."""
    ledger.feed(20)
    process = ledger.start(bounded=False)
    ledger.wait_until_up(process)
    time.sleep(dice.uniform(0.5, 4))
    members = started_by(process.pid)
    process.kill()
    process.wait()
    killed = time.monotonic()
    left = left_behind(members, _GONE_WITHIN)
    assert not left, left
    return time.monotonic() - killed


def main() -> None:
    """Drain again and again, then print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--drains", type=int, default=40)
    parser.add_argument("--kills", type=int, default=5, help="times the runner alone is killed with SIGKILL")
    parser.add_argument("--isolation", choices=("none", "process"), default="none", help="as `flow run` has it")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    dice = random.Random(options.seed)
    folder = Path(tempfile.mkdtemp(prefix="drains-"))
    ledger = Ledger(folder, options=("--isolation", options.isolation))
    done = []
    for number in range(options.drains):
        one = drain(ledger, dice, backlog=number % 2 == 0)
        done.append(one)
        queries, process = one.seconds
        print(
            f"{number + 1:3} {'backlog' if one.backlog else 'idle   '}  queries down after {queries:5.2f} s, process "
            f"after {process:5.2f} s; batch {one.batch:5.2f} s; exit code {one.code}, {one.left} processes left"
            + "".join(f"; NOT COMMITTED {each}" for each in one.uncommitted),
            flush=True,
        )
    kills = [gone_after_a_kill(ledger, dice) for _ in range(options.kills)]
    code = ledger.run()
    wrong = differences(ledger.records(), expected(ledger.files))
    beyond = [one.seconds[0] - one.batch for one in done]
    uncommitted = sum(len(one.uncommitted) for one in done)
    print(f"{len(done)} drains: queries whose last batch is not committed: {uncommitted}")
    print(f"seconds beyond the running batch: median {sorted(beyond)[len(beyond) // 2]:.2f}, longest {max(beyond):.2f}")
    print(f"process ended after: longest {max(one.seconds[1] for one in done):.2f} s")
    print(f"processes left: {sum(one.left for one in done)}; exit codes {sorted({one.code for one in done})}")
    print(f"runner killed {len(kills)} times: all it had started gone after at most {max(kills, default=0):.2f} s")
    print(f"ledger of {ledger.files} files, exit code {code}: lost and doubled {wrong}")
    shutil.rmtree(folder)
    failed = uncommitted or any(one.left or one.code for one in done) or code or any(map(any, wrong.values()))
    raise SystemExit(bool(failed))


if __name__ == "__main__":
    main()
