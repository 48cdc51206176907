"""A pass-through chain of three streamlets over two Delta topics, compared with plain PySpark and Parquet files.

A third side has the first topic fused, and a fourth is the query that one would write by hand for the two streamlets
before the second topic, with a topic behind it.

    python -m benchmarks.chain [ROWS] [--rounds N] [--parts]

Each round runs both, one after the other, in one Spark session. The ratio is that of the best rounds, for the wall
time and for the CPU time of all processes (which depends less on the load of the machine). Every stage is one bounded
query: the first writes ROWS records of four columns, the others pass them on, the last one to Parquet files in both
cases. `--parts` prints the time of each stage.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.processes import processor_time
from blueprint.avro.sources.loading import parse_contract
from blueprint.plan import InletPlan, OutletPlan, TopicPlan
from streamlets.channels.base import Branch, TopicQuery
from streamlets.channels.delta.channel import DeltaChannel
from streamlets.channels.fused import passed_on
from streamlets.testkit.session import start_session

FIELDS: list[dict[str, Any]] = [
    {"name": "id", "type": "long"},
    {"name": "src", "type": "string"},
    {"name": "ts", "type": {"type": "long", "logicalType": "timestamp-micros"}},
    {"name": "value", "type": "double"},
]
RECORD = {"type": "record", "name": "Reading", "fields": FIELDS}
CONTRACT = parse_contract(json.dumps(RECORD))


def main() -> None:
    """Run the rounds and print the ratio."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("rows", nargs="?", type=int, default=1_000_000)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--parts", action="store_true")
    options = arguments.parse_args()
    session = spark()
    best: dict[str, float] = {}
    least: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="chain-") as directory:
        for round_ in range(options.rounds):
            for name, chain in SIDES.items():
                root = Path(directory) / f"{name}-{round_}"
                started, worked = time.perf_counter(), processor_time()
                stages = chain(session.newSession(), root, options.rows)
                took, worked = time.perf_counter() - started, processor_time() - worked
                best[name] = min(best.get(name, took), took)
                least[name] = min(least.get(name, worked), worked)
                parts = "  ".join(f"{seconds:6.2f}" for seconds in stages) if options.parts else ""
                print(
                    f"round {round_ + 1}  {name:5}  {took:7.2f} s  {worked:7.2f} s of CPU time  {parts}",
                    flush=True,
                )
                check(session, root / "out", options.rows)
                shutil.rmtree(root)
    print(f"\n{options.rows:,} rows, best of {options.rounds}")
    for name in SIDES:
        ratios = f"{best[name] / best['files']:.2f} of files, of CPU time {least[name] / least['files']:.2f}"
        print(f"{name:5}  wall time {best[name]:.2f} s, CPU time {least[name]:.2f} s; {ratios}")
    session.stop()


def spark() -> SparkSession:
    """Return a session on two cores, with the settings of the runner."""
    return start_session(settings={"spark.driver.memory": "4g", "spark.driver.extraJavaOptions": ""})


def readings(session: SparkSession, rows: int) -> DataFrame:
    """Return a stream with one batch of `rows` records."""
    source = session.readStream.format("rate-micro-batch").option("rowsPerBatch", rows).option("numPartitions", 2)
    return (
        source.name("source")
        .load()
        .select(
            F.col("value").alias("id"),
            F.concat(F.lit("gauge-"), F.col("value") % 1000).alias("src"),
            F.col("timestamp").alias("ts"),
            (F.col("value") * 0.37).alias("value"),
        )
    )


def files_chain(session: SparkSession, root: Path, rows: int) -> list[float]:
    """Run the chain in plain PySpark, with file sink and file source; return the seconds of each stage."""

    def pass_on(source: DataFrame, stage: str) -> Any:
        return source.writeStream.format("parquet").option("path", str(root / stage))

    def read(stage: str) -> DataFrame:
        return session.readStream.schema(SCHEMA).name(stage).parquet(str(root / stage))

    return [
        timed(lambda: once(pass_on(readings(session, rows), "first"), root / "c0")),
        timed(lambda: once(pass_on(read("first"), "second"), root / "c1", bounded=True)),
        timed(lambda: once(pass_on(read("second"), "out"), root / "c2", bounded=True)),
    ]


def delta_chain(session: SparkSession, root: Path, rows: int, *, first_as: str = "topic") -> list[float]:
    """Run the chain over two topics of the delta channel; return the seconds of each stage.

    Arguments:
        first_as: `topic`, `fused` (as `flow.topics.first.durable = false`), or `nothing` (as in a query by hand).
    """
    channel = DeltaChannel(root / "topics")
    channel.prepare(session)
    first, second = (channel.topic(TopicPlan(n, n, "delta", True, (), (), {})) for n in ("first", "second"))
    first.create()
    second.create()

    def write(source: DataFrame, streamlet: str, topic: Any) -> Any:
        outlet = OutletPlan(streamlet, "out", None, CONTRACT, topic.plan.id)
        query = TopicQuery(streamlet=streamlet, name="out")
        return channel.writer(source, (Branch(outlet, lambda d: d, topic),), None, query)

    def read(topic: Any, streamlet: str) -> DataFrame:
        rows: DataFrame = topic.read(session, InletPlan(streamlet, "in", None, CONTRACT, topic.plan.id), name="in")
        return rows

    def head() -> DataFrame:
        outlet, inlet = OutletPlan("a", "out", None, CONTRACT, "first"), InletPlan("b", "in", None, CONTRACT, "first")
        return passed_on(readings(session, rows), outlet, inlet) if first_as == "fused" else readings(session, rows)

    sink = read(second, "c").writeStream.format("parquet").option("path", str(root / "out"))
    if first_as != "topic":
        return [
            timed(lambda: once(write(head(), "b", second), root / "c0")),
            timed(lambda: once(sink, root / "c2", bounded=True)),
        ]
    return [
        timed(lambda: once(write(readings(session, rows), "a", first), root / "c0")),
        timed(lambda: once(write(read(first, "b"), "b", second), root / "c1", bounded=True)),
        timed(lambda: once(sink, root / "c2", bounded=True)),
    ]


def once(writer: Any, checkpoint: Path, *, bounded: bool = False) -> None:
    """Run a bounded query to its end, or an unbounded one for its first batch with rows."""
    writer = writer.option("checkpointLocation", str(checkpoint))
    if bounded:
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        return
    query = writer.trigger(processingTime="1 hour").start()
    while not any(progress["numInputRows"] for progress in query.recentProgress):
        if query.exception() is not None:
            raise query.exception()
        time.sleep(0.01)
    query.stop()


def timed(run: Callable[[], None]) -> float:
    """Return the seconds that a function takes."""
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def check(session: SparkSession, out: Path, rows: int) -> None:
    """Check that the output has every row once."""
    totals = session.read.parquet(str(out)).agg(F.count("*"), F.sum("id")).first()
    assert totals is not None and tuple(totals) == (rows, rows * (rows - 1) // 2), totals


SIDES: dict[str, Callable[[SparkSession, Path, int], list[float]]] = {
    "files": files_chain,
    "delta": delta_chain,
    "fused": partial(delta_chain, first_as="fused"),
    "hand": partial(delta_chain, first_as="nothing"),
}
SCHEMA = "id long, src string, ts timestamp, value double"

if __name__ == "__main__":
    main()
