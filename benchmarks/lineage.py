"""The lineage of columns: how many of the logics with known answers are right, and the time for each streamlet.

    python -m benchmarks.lineage [--small]

All cases are built in one Spark; the first is not measured. The bar: all are right. `--small` omits the application.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from blueprint.logic import BuildableApplication, BuiltLogic
from blueprint.verification.verify import verify
from streamlets.lineage.streamlet_lineage import lineage_of
from streamlets.plans import check_logic
from streamlets.plans.built_streamlet import BuiltStreamlet
from streamlets.project.catalog import ProjectCatalog
from tests.streamlets.lineage.cases import CASES, SQL
from tests.streamlets.lineage.checks import Checker

SHOP = Path(__file__).resolve().parent.parent / "tests" / "streamlets" / "plans" / "shop"


def cases() -> tuple[int, list[float]]:
    """Return how many cases are wrong, and the seconds for each; wrong ones are printed."""
    from pyspark.sql import SparkSession

    builder = SparkSession.Builder().master("local[1]").config("spark.ui.enabled", "false")
    session = builder.config("spark.log.level", "OFF").getOrCreate()
    wrong, seconds = 0, []
    with tempfile.TemporaryDirectory() as directory:
        checker = Checker(session, Path(directory))
        checker.differences(CASES[0])
        for case in CASES:
            start = time.perf_counter()
            differences = checker.differences(case)
            seconds.append(time.perf_counter() - start)
            if differences:
                wrong += 1
                print(f"{case.name}: {differences}")
    session.stop()
    return wrong, seconds


def streamlets() -> list[float]:
    """Return the seconds for the lineage of each streamlet of the shop, beyond building its logic."""
    seconds: list[float] = []

    def observe(built: BuiltStreamlet) -> None:
        start = time.perf_counter()
        assert lineage_of(built).outputs
        seconds.append(time.perf_counter() - start)

    def check(application: BuildableApplication) -> BuiltLogic:
        return check_logic(application, observe)

    verify(
        SHOP / "blueprint.conf",
        catalog=ProjectCatalog(),
        environment=os.environ,
        working_directory=Path.cwd(),
        logic=check,
    )
    return seconds


def main(arguments: list[str]) -> int:
    """Measure, print, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lineage")
    parser.add_argument("--small", action="store_true", help="the cases only")
    options = parser.parse_args(arguments)
    if not options.small:
        times = [1000 * each for each in streamlets()]
        print(f"{len(times)} streamlets: {statistics.median(times):.0f} ms each (median), {max(times):.0f} ms at most")
    wrong, seconds = cases()
    milliseconds = [1000 * each for each in seconds]
    print(f"{len(CASES) - wrong} of {len(CASES)} logics right, {len(SQL)} of them SQL; "
          f"{statistics.median(milliseconds):.0f} ms each with building (median)")  # fmt: skip
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
