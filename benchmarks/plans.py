"""The time to build the logic: `flow verify --plans` on an application of 12 streamlets, by part.

    python -m benchmarks.plans [--rounds 3]

Each round starts its own Spark, as the command does, and warms up the analyzer while the session starts. The bar: at
most 2 s in addition to the start of the session.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from benchmarks.processes import cpu_seconds
from blueprint.logic import BuildableApplication, BuiltLogic
from blueprint.verification.verify import verify
from streamlets.plans.logic_checker import LogicChecker
from streamlets.plans.temporary_session import spark_for_checks
from streamlets.project.catalog import ProjectCatalog

SHOP = Path(__file__).resolve().parent.parent / "tests" / "streamlets" / "plans" / "shop"
BAR = 2.0


@contextmanager
def measured(into: dict[str, tuple[float, float]], name: str, pid: int | None = None) -> Iterator[None]:
    """Measure wall time and CPU time, including that of the JVM, if any."""
    wall, cpu = time.perf_counter(), _cpu(pid)
    yield
    into[name] = (time.perf_counter() - wall, _cpu(pid) - cpu)


def _cpu(pid: int | None) -> float:
    own = time.process_time()
    if pid is None:
        return own
    return own + cpu_seconds([psutil.Process(pid)])


def measure_round() -> dict[str, tuple[float, float]]:
    """Verify the shop in a new Spark, twice; the second time Spark is warm."""
    parts: dict[str, tuple[float, float]] = {}
    built = BuiltLogic()

    def check(application: BuildableApplication) -> BuiltLogic:
        nonlocal built
        assert len(application.streamlets) == 12
        start = time.perf_counter()
        with spark_for_checks(application) as checks:
            jvm = psutil.Process(checks.spark.process.pid)
            parts["start of the session"] = (time.perf_counter() - start, cpu_seconds([jvm]))
            with measured(parts, "building, first time", jvm.pid):
                built = LogicChecker(checks.spark.session, checks.directory)(application)
            with measured(parts, "building, once more", jvm.pid):
                LogicChecker(checks.spark.session, checks.directory / "again")(application)
            start = time.perf_counter()
        parts["end of the session"] = (time.perf_counter() - start, 0.0)
        return built

    with measured(parts, "all"):
        verification = verify(
            SHOP / "blueprint.conf", catalog=ProjectCatalog(), environment={}, working_directory=Path.cwd(), logic=check
        )
    assert verification.diagnostics == (), verification.diagnostics
    inner = sum(wall for name, (wall, _) in parts.items() if name != "all")
    parts["verifying all else"] = (parts.pop("all")[0] - inner, 0.0)
    return parts


def main() -> None:
    """Print the best time of each part; exit with 1 if the bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as fresh:  # PySpark has one JVM per process.
        rounds = [fresh.apply(measure_round) for _ in range(parser.parse_args().rounds)]
    print(f"12 streamlets, best of {len(rounds)}, load {os.getloadavg()[0]:.0f}")
    print(f"{'':24}{'wall':>9}{'CPU':>9}")
    for name in rounds[0]:
        wall, cpu = min(result[name][0] for result in rounds), min(result[name][1] for result in rounds)
        print(f"{name:24}{wall:7.2f} s" + (f"{cpu:7.2f} s" if cpu else ""))
    best = min(result["building, first time"][0] for result in rounds)
    print(f"in addition to the start of the session: {best:.2f} s (bar: {BAR:.0f})")
    if best > BAR:
        sys.exit("the bar is missed")


if __name__ == "__main__":
    main()
