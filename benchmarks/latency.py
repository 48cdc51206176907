"""The time that a record needs for two hops, over topics and over Parquet files by hand.

    python -m benchmarks.latency [--seconds 60] [--rounds 2]

1,000 records a second arrive in the first topic, 100 at a time. Two queries with the default trigger pass them on: to a
second topic, and to a third. The time of a record is the time between its commits in the first and in the third topic.
The other side does the same with Spark's file source and sink, where a file in `_spark_metadata` commits a batch. Both
run in turns in one Spark session on two cores.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from benchmarks.chain import CONTRACT, SCHEMA, spark
from benchmarks.processes import processor_time
from blueprint.plan import InletPlan, OutletPlan, TopicPlan
from streamlets.channels.base import Branch, TopicQuery, TopicResource
from streamlets.channels.delta.channel import DeltaChannel
from streamlets.contract.types import arrow_schema

RECORDS, INTERVAL = 100, 0.1
WARM = 10.0
"""Seconds whose records do not count: queries compile and Java warms up."""


def main() -> None:
    """Run both sides in turns, and print their medians."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seconds", type=float, default=60)
    arguments.add_argument("--rounds", type=int, default=2)
    options = arguments.parse_args()
    session = spark()
    medians: dict[str, list[float]] = {"files": [], "delta": []}
    with tempfile.TemporaryDirectory(prefix="latency-") as directory:
        for number in range(options.rounds):
            for name, side in (("files", Files), ("delta", Topics)):
                worked = processor_time()
                times = run(side(session.newSession(), Path(directory, f"{name}-{number}")), options.seconds)
                worked = processor_time() - worked
                medians[name].append(statistics.median(times))
                high = statistics.quantiles(times, n=100)[98]
                print(
                    f"round {number + 1}  {name:5}  median {medians[name][-1] * 1000:.0f} ms, 99 % {high * 1000:.0f} ms"
                    f"  {worked:.1f} s of CPU time  load {os.getloadavg()[0]:.1f}",
                    flush=True,
                )
    best = {name: min(found) for name, found in medians.items()}
    ratio = best["delta"] / best["files"]
    print(f"best medians: files {best['files']:.3f} s, delta {best['delta']:.3f} s; ratio {ratio:.2f}")
    session.stop()


def run(side: Any, seconds: float) -> list[float]:
    """Feed a side, and return the times of its records in seconds."""
    side.append(records(0), 0)
    arrived = {0: time.time()}
    queries = side.start()
    begun, number = time.time() - INTERVAL, 1
    while time.time() - begun < seconds:
        time.sleep(max(0.0, begun + number * INTERVAL - time.time()))
        side.append(records(number * RECORDS), number)
        arrived[number] = time.time()
        number += 1
    deadline = time.monotonic() + 60
    while side.count() < number * RECORDS and time.monotonic() < deadline:
        time.sleep(0.2)
    for query in queries:
        query.stop()
    passed = dict(side.passed())
    assert sorted(passed) == list(range(number * RECORDS)), f"{len(passed)} of {number * RECORDS} records"
    late = arrived[1] + WARM
    return [passed[id] - arrived[id // RECORDS] for id in passed if arrived[id // RECORDS] > late]


def records(first: int) -> pa.RecordBatch:
    """Return the next records."""
    now = int(time.time() * 1_000_000)
    rows = [
        {"id": id, "src": f"gauge-{id % 10}", "ts": now, "value": id * 0.37} for id in range(first, first + RECORDS)
    ]
    kind = arrow_schema(CONTRACT)
    columns = [pa.array([row[field.name] for row in rows]).cast(field.type) for field in kind]
    return pa.RecordBatch.from_arrays(columns, schema=kind)


class Topics:
    """Three topics of the delta channel."""

    def __init__(self, session: SparkSession, root: Path) -> None:
        self.session, self.root = session, root
        self.channel = DeltaChannel(root / "topics")
        self.channel.prepare(session)
        names = ("first", "second", "third")
        self.topics = [self.channel.topic(TopicPlan(name, name, "delta", True, (), (), {})) for name in names]
        for topic in self.topics:
            topic.create()
        self.appender = self.topics[0].appender(CONTRACT, writer="feeder")

    def append(self, batch: pa.RecordBatch, number: int) -> None:
        """Append records to the first topic."""
        self.appender.append([batch], number)

    def start(self) -> list[Any]:
        """Start both queries."""
        return [self._hop(number).start() for number in (0, 1)]

    def _hop(self, number: int) -> Any:
        inlet = InletPlan(f"hop{number}", "in", None, CONTRACT, self.topics[number].plan.id)
        rows = self.topics[number].read(self.session, inlet, name="in")
        outlet = OutletPlan(f"hop{number}", "out", None, CONTRACT, self.topics[number + 1].plan.id)
        branches: tuple[Branch[TopicResource], ...] = (Branch(outlet, lambda frame: frame, self.topics[number + 1]),)
        writer = self.channel.writer(rows, branches, None, TopicQuery(streamlet=f"hop{number}", name="out"))
        return writer.option("checkpointLocation", str(self.root / f"checkpoint{number}"))

    def count(self) -> int:
        """Return the number of records in the third topic."""
        return self.topics[2].lag(None).records

    def passed(self) -> Iterator[tuple[int, float]]:
        """Yield the id and the time of each record in the third topic."""
        for batch in self.topics[2].scan(metadata=True):
            times = batch.column("_meta").field("timestamp").cast(pa.int64()).to_pylist()
            yield from zip(batch.column("id").to_pylist(), (at / 1e6 for at in times), strict=True)


class Files:
    """Three directories of Parquet files, with Spark's source and sink."""

    def __init__(self, session: SparkSession, root: Path) -> None:
        self.session, self.root = session, root
        self.paths = [root / name for name in ("first", "second", "third")]
        self.paths[0].mkdir(parents=True)

    def append(self, batch: pa.RecordBatch, number: int) -> None:
        """Add a file to the first directory."""
        file = self.root / f"{number}.parquet"
        pq.write_table(pa.Table.from_batches([batch]), file)
        file.rename(self.paths[0] / file.name)

    def start(self) -> list[Any]:
        """Start both queries, the second one after the first batch of the first one."""
        first = self._hop(0).start()
        while not (
            self.paths[1] / "_spark_metadata" / "0"
        ).exists():  # without it, the source reads what is not committed
            time.sleep(0.05)
        return [first, self._hop(1).start()]

    def _hop(self, number: int) -> Any:
        rows: DataFrame = self.session.readStream.schema(SCHEMA).name("in").parquet(str(self.paths[number]))
        writer = rows.writeStream.format("parquet").option("path", str(self.paths[number + 1]))
        return writer.option("checkpointLocation", str(self.root / f"checkpoint{number}"))

    def _committed(self) -> dict[Path, float]:
        """Return the files of the third directory, with the times of their commits.

        Each ten batches, a log repeats the files of all before; the time of a file is in the first one.
        """
        times: dict[Path, float] = {}
        for log in (self.paths[2] / "_spark_metadata").glob("[0-9]*"):
            for line in log.read_text().splitlines()[1:]:
                path = Path(json.loads(line)["path"].removeprefix("file://"))
                times[path] = min(times.get(path, log.stat().st_mtime), log.stat().st_mtime)
        return times

    def count(self) -> int:
        """Return the number of records in the third directory."""
        return sum(pq.read_metadata(path).num_rows for path in self._committed())

    def passed(self) -> Iterator[tuple[int, float]]:
        """Yield the id and the time of each record in the third directory."""
        for path, at in self._committed().items():
            yield from ((id, at) for id in pq.read_table(path).column("id").to_pylist())


if __name__ == "__main__":
    main()
