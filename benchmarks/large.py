"""A run of many streamlets without Spark, so that only the runner costs: `python -m benchmarks.large`.

Each streamlet is a spout in Python that delivers a record at its start and one each minute. The output has the time
until all of them are up, the processor time and memory of the runner, what an idle second costs, how long `flow
status` and `flow pause` take, and the processor time of the runner for one more change of a unit: while streamlets are
paused and resumed, beside the idle time before.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from benchmarks.processes import cpu_seconds, events, killed_at_end, wait_until

BAR_CHANGE = 0.05
"""Seconds of processor time that a change of a unit may cost."""

BAR_MEMORY = 300
"""MiB of the runner."""

_MODULE = """
from streamlets import AvroOutlet, GeneratorSpout

class Numbers(GeneratorSpout):
    out = AvroOutlet(schema="number long")

    def run(self, out, resume):
        while True:
            yield out.transaction([{"number": 1}])
            if not out.wait(60):
                return
"""


def application(directory: Path, count: int) -> None:
    """Write an application of spouts."""
    (directory / "numbers_app.py").write_text(_MODULE)
    names = [f"source-{number}" for number in range(count)]
    streamlets = "\n".join(f"    {name} = numbers_app.Numbers" for name in names)
    topics = "\n".join(f"    of-{name}.producers = [{name}.out]" for name in names)
    text = f"blueprint {{\n  streamlets {{\n{streamlets}\n  }}\n  topics {{\n{topics}\n  }}\n}}\n"
    (directory / "blueprint.conf").write_text(text)


def measure(directory: Path, count: int, changes: int, seconds: float) -> bool:
    """Run an application, print its measurements, and return whether they meet the bars."""
    application(directory, count)
    out = directory / "run.out"
    begun = time.monotonic()
    command = [sys.executable, "-m", "cli.main", "run", "--format", "json"]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    with out.open("wb") as output, killed_at_end(
        subprocess.Popen(command, cwd=directory, env=environment, stdout=output, stderr=output)
    ) as process:  # fmt: skip
        runner = psutil.Process(process.pid)
        wait_until(process, out, lambda: _changes(out, "running") >= count, seconds=1200, poll=1.0)
        up, used = time.monotonic() - begun, cpu_seconds([runner])
        print(f"{count} streamlets are up after {up:.1f} s, {used:.1f} s of processor time", flush=True)

        idle = _spent(runner, seconds)
        known, since, used = _changes(out), time.monotonic(), cpu_seconds([runner])
        print(f"idle: {idle / seconds:.3f} cores, {_memory(runner):.0f} MiB", flush=True)
        names = [f"source-{number}" for number in range(changes)]
        for order in ("pause", "resume"):
            asked = time.monotonic()
            _flow(directory, order, *names)
            print(f"flow {order} of {changes}: {time.monotonic() - asked:.1f} s", flush=True)
        time.sleep(2.0)
        passed = time.monotonic() - since
        changed = _changes(out) - known
        cost = (cpu_seconds([runner]) - used - idle / seconds * passed) / changed
        print(f"{changed} changes of units: {cost * 1e3:.1f} ms of processor time each", flush=True)

        asked = time.monotonic()
        _flow(directory, "status")
        print(f"flow status: {time.monotonic() - asked:.1f} s", flush=True)
        memory = _memory(runner)
        asked = time.monotonic()
        process.send_signal(signal.SIGTERM)
        code = process.wait()
        print(
            f"ended after {time.monotonic() - asked:.1f} s with exit code {code}; {memory:.0f} MiB before", flush=True
        )
    return cost < BAR_CHANGE and memory < BAR_MEMORY and code == 0


def _changes(out: Path, state: str = "") -> int:
    changes = (event for event in events(out) if event.get("event") == "unit-changed")
    return sum(not state or event["state"] == state for event in changes)


def _spent(runner: psutil.Process, seconds: float) -> float:
    before = cpu_seconds([runner])
    time.sleep(seconds)
    return cpu_seconds([runner]) - before


def _memory(runner: psutil.Process) -> float:
    return float(runner.memory_info().rss) / 2**20


def _flow(directory: Path, *arguments: str) -> None:
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    subprocess.run(
        [sys.executable, "-m", "cli.main", *arguments], cwd=directory, env=environment, check=True,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streamlets", type=int, default=1000)
    parser.add_argument("--changes", type=int, default=20, help="streamlets that are paused and resumed")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long the idle run is measured")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        met = measure(Path(directory), options.streamlets, options.changes, options.seconds)
    raise SystemExit(not met)


if __name__ == "__main__":
    main()
