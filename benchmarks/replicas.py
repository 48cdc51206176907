"""The throughput of a Python function on two cores with one replica and with two: `python -m benchmarks.replicas`.

The function keeps a core busy for some time for each record. Queries with one and with two replicas read the same
topic in turns, each with a new checkpoint. Measured are the records per second of their batches, without the start of a
query; the result is the ratio of the medians.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from benchmarks.chain import spark
from streamlets.channels.base import Branch, TopicQuery, TopicResource
from streamlets.channels.delta.channel import DeltaChannel
from streamlets.spark.session import active
from tests.streamlets.channels.topics import add, inlet, outlet, topic_plan

_BAR = 1.7
"""The ratio on two cores."""

_WARM_UP = 200
"""The records of a batch that is not measured, in which the workers start."""


def busy(milliseconds: float) -> Any:
    """Return a function that needs so much processor time for each record."""

    def work(number: int) -> int:
        end = time.thread_time() + milliseconds / 1000
        while time.thread_time() < end:
            number = (number * 31 + 7) % 1_000_003
        return number

    return F.udf(work, "bigint")


def measured(session: SparkSession, channel: DeltaChannel, replicas: int, milliseconds: float, name: str) -> float:
    """Read the topic with so many replicas; return the records per second of the second batch."""
    with active(session):
        channel.prepare(session)
        source = channel.topic(topic_plan("in"))
        rows = source.read(session, inlet("in", max_records=1), name="in_", replicas=replicas)
        target = channel.topic(topic_plan(name))
        target.create()
        worked = rows.select(busy(milliseconds)("id").alias("id"), "src")
        branch: Branch[TopicResource] = Branch(outlet(name), lambda frame: frame, target)
        writer = channel.writer(worked, (branch,), None, TopicQuery(streamlet="writer", name="q"))
        checkpoint = str(target.path.parent.parent / "checkpoints" / name)
        query = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        query.awaitTermination()
    batch = next(report for report in query.recentProgress if report["numInputRows"] > _WARM_UP)
    return float(batch["numInputRows"]) * 1000 / float(batch["durationMs"]["addBatch"])


def main() -> None:
    """Measure and print; exit with 1 if the bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=4000)
    parser.add_argument("--milliseconds", type=float, default=2.0, help="processor time for each record")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="replicas-"))
    session = spark()
    try:
        channel = DeltaChannel(directory / "topics")
        topic = channel.topic(topic_plan("in"))
        topic.create()
        add(topic, 0, range(_WARM_UP))
        add(topic, 1, range(options.records))
        rates: dict[int, list[float]] = {1: [], 2: []}
        for turn in range(options.rounds):
            for replicas, known in rates.items():
                name = f"out-{turn}-{replicas}"
                known.append(measured(session.newSession(), channel, replicas, options.milliseconds, name))
                print(f"replicas {replicas}: {known[-1]:7.0f} records/s", flush=True)
    finally:
        session.stop()
        shutil.rmtree(directory, ignore_errors=True)
    ratio = statistics.median(rates[2]) / statistics.median(rates[1])
    print(f"2 replicas beside 1: {ratio:.2f} (bar: {_BAR}), load {os.getloadavg()[0]:.0f}")
    raise SystemExit(ratio < _BAR)


if __name__ == "__main__":
    main()
