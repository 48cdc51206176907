"""The time of `flow verify` for the flights application, compared with a dry run of Spark's declarative pipelines.

Both are executed as by a user, cold and in turns; the pipeline has the same stages. Requires the extra `bench`.

    python -m benchmarks.verify [--small]

The bar: `flow verify` is at least 20 times faster, and takes at most half a second of CPU time.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
BAR = 20

SPEC = """\
name: flights
storage: file://{directory}/storage
libraries:
  - glob:
      include: transformations/**
"""

STAGES = """\
from pyspark import pipelines as dp
from pyspark.sql import SparkSession, functions as F

spark = SparkSession.active()


def ticks():
    return spark.readStream.format("rate").load()


@dp.table
def flights():
    return ticks().selectExpr(
        "timestamp AS hour", "'UA' AS carrier", "cast(value AS int) AS flight", "'JFK' AS origin", "'IAH' AS dest",
        "1400 AS distance", "cast(value % 60 AS int) AS departure_delay", "cast(value % 50 AS int) AS arrival_delay",
    )


@dp.table
def weather():
    return ticks().selectExpr("timestamp AS hour", "'JFK' AS origin", "10.0D AS wind", "0.0D AS rain")


@dp.table
def flown():
    return spark.readStream.table("flights").where("departure_delay IS NOT NULL AND arrival_delay IS NOT NULL")


@dp.table
def cancelled():
    return spark.readStream.table("flights").where("departure_delay IS NULL")


@dp.table
def invalid():
    return spark.readStream.table("flights").where("departure_delay IS NOT NULL AND arrival_delay IS NULL")


@dp.table
def joined():
    return spark.readStream.table("flown").join(spark.readStream.table("weather"), ["hour", "origin"])


@dp.materialized_view
def delays():
    hours = spark.read.table("joined").groupBy(F.date_trunc("hour", "hour").alias("hour"), "carrier")
    return hours.agg(F.count("*").alias("flights"), F.avg("arrival_delay").alias("arrival_delay"))


@dp.materialized_view
def archive():
    return spark.read.table("delays")


@dp.table
def grounded():
    return spark.readStream.table("cancelled")
"""


def timed(command: list[str], cwd: Path, environment: dict[str, str]) -> tuple[float, float]:
    """Return the wall and CPU seconds of a command and its children; exit if the command fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Run both and print the results; exit with 1 if the bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="one dry run instead of three")
    rounds = 1 if parser.parse_args().small else 3

    import pyspark

    scripts = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    directory = Path(tempfile.mkdtemp(prefix="flow-bench-"))
    try:
        (directory / "transformations").mkdir()
        (directory / "spark-pipeline.yml").write_text(SPEC.format(directory=directory))
        (directory / "transformations" / "flights.py").write_text(STAGES)
        ours, theirs = [], []
        for _ in range(rounds):
            ours += [
                timed([str(scripts / "flow"), "verify", "examples/flights"], REPOSITORY, environment) for _ in range(5)
            ]
            theirs.append(timed([str(scripts / "spark-pipelines"), "dry-run"], directory, environment))
    finally:
        shutil.rmtree(directory, ignore_errors=True)

    print(f"{'':28}{'best wall':>12}{'best CPU':>12}{'runs':>6}")
    for name, runs in (("flow verify", ours), ("spark-pipelines dry-run", theirs)):
        print(f"{name:28}{min(r[0] for r in runs):10.2f} s{min(r[1] for r in runs):10.2f} s{len(runs):6}")
    ratio = min(r[0] for r in theirs) / min(r[0] for r in ours)
    print(f"flow verify is {ratio:.0f} times faster (bar: {BAR})")
    if ratio < BAR:
        sys.exit("the bar is missed")


if __name__ == "__main__":
    main()
