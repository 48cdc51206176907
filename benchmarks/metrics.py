"""The cost of metrics: the processor time of a run with and without them, in turns, and of one scrape of 50 streamlets.

The run is a spout with 20 transactions a second, without Spark, so that nothing hides the cost. It is scraped every
second, which is 15 times as often as usual.

    python -m benchmarks.metrics --seconds 30 --rounds 3
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from statistics import median
from urllib.request import urlopen

from streamlets.metrics.collector import Exposition
from streamlets.metrics.family import Scene
from streamlets.runner.events.event import fold
from streamlets.runner.events.run_events import RunStarted
from streamlets.runner.events.status import RunStatus, UnitId
from streamlets.runner.events.unit_events import UnitChanged, UnitProgressed
from streamlets.runner.samples.view import SampleView
from streamlets.runner.state_directory.directory import StateDirectory

STREAMLETS = 50
BAR = 0.01  # of a core, for 50 streamlets

_MODULE = """
import time

from streamlets import AvroOutlet, GeneratorSpout

class Numbers(GeneratorSpout):
    out = AvroOutlet(schema="number long")

    def run(self, out, resume):
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            yield out.transaction([{"number": 1}])
            time.sleep(0.05)
"""
_BLUEPRINT = "blueprint { streamlets.source = numbers_app.Numbers, topics.numbers.producers = [source.out] }"


def run(seconds: float, *, metrics: bool) -> float:
    """Return the processor time of a run, in seconds."""
    with tempfile.TemporaryDirectory() as directory, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        app = Path(directory)
        (app / "numbers_app.py").write_text(_MODULE.replace("SECONDS", str(seconds)))
        (app / "blueprint.conf").write_text(_BLUEPRINT)
        view = ["--view", f"metrics={port}"] if metrics else []
        command = [sys.executable, "-m", "cli.main", "run", *view]
        environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
        process = subprocess.Popen(command, cwd=app, env=environment, stdout=subprocess.DEVNULL)
        while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
            time.sleep(1.0)
            if metrics:
                with suppress(OSError), urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
                    answer.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"the run has failed with exit code {process.returncode}")
        return usage.ru_utime + usage.ru_stime


def status_of(streamlets: int) -> RunStatus:
    """Return the status of a run in which each streamlet has a query that has run for a while."""
    refs = tuple(f"streamlet-{number}" for number in range(streamlets))
    status = fold(RunStatus(), RunStarted(0.0, "plant", refs))
    for ref in refs:
        unit = UnitId(ref, "out")
        status = fold(status, UnitChanged(1.0, unit, "running"))
        for number in range(60):
            batch = UnitProgressed(
                float(number), unit, number, 100, {"out": 100}, inlets={"in": 100}, backlog={"in": 5}, seconds=0.5,
                phases={"planning": 0.1, "executing": 0.4}, watermark="2026-01-01T00:00:00.000Z",
            )  # fmt: skip
            status = fold(status, batch)
    return status


def milliseconds(work: Callable[[], object], times: int = 100) -> float:
    """Return the processor time of a call."""
    begun = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - begun) / times * 1000


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0, help="how long a run takes")
    parser.add_argument("--rounds", type=int, default=3, help="runs with metrics, and as many without")
    options = parser.parse_args()

    status = status_of(STREAMLETS)
    exposition = Exposition(lambda: Scene(status, 60.0), timer=iter(range(10**9)).__next__)
    scrape = milliseconds(exposition.render)
    with tempfile.TemporaryDirectory() as directory:
        view = SampleView(StateDirectory(Path(directory), "plant"), timer=(5.0 * n for n in range(10**9)).__next__)
        view.event(RunStarted(0.0, "plant", ()), status)
        sample = milliseconds(view.take)
    share = scrape / 1000 / 15 + sample / 1000 / 5
    print(f"{STREAMLETS} streamlets: {len(exposition.render()):,} bytes in {scrape:.1f} ms of processor time; a sample")
    print(f"takes {sample:.2f} ms. A scrape in 15 s and a sample in 5 s are {share:.2%} of a core (bar: {BAR:.0%})")

    without, with_metrics = [], []
    for _ in range(options.rounds):
        without.append(run(options.seconds, metrics=False))
        with_metrics.append(run(options.seconds, metrics=True))
    more = (median(with_metrics) - median(without)) / options.seconds
    print(f"a run of {options.seconds:g} s without Spark: {median(without):.2f} s of processor time without metrics,")
    print(f"{median(with_metrics):.2f} s with a scrape in a second: {more:.2%} of a core more")
    raise SystemExit(share > BAR)


if __name__ == "__main__":
    main()
