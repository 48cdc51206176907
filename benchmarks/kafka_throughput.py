"""A hop from one Kafka topic to another with contracts, compared with PySpark that was written by hand.

    python -m benchmarks.kafka_throughput [RECORDS] [--rounds N]

Both read RECORDS records of four columns, filter and change them, and write them to a topic of the same broker, one
after the other in one Spark session. The hand-written query uses `from_avro` and `to_avro` without headers and without
any check. The hop resolves the writer's schema by the header of each message, checks each row against the contract of
its outlet, counts the records, and remembers which batches it has begun. Every second round runs them in the other
order. The ratio of a round is the hop's records per second divided by those of the hand-written query: the bar is 0.9
at 10 million records.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro, to_avro

from benchmarks.chain import CONTRACT, once, timed
from benchmarks.processes import processor_time
from blueprint.catalog import SparkArtifacts
from blueprint.core_settings import InletSettings
from blueprint.plan import InletPlan, OutletPlan, TopicPlan
from streamlets.artifacts.connectors import jars_of
from streamlets.channels.base import Branch, TopicQuery, TopicResource
from streamlets.channels.kafka.channel import KafkaChannel
from streamlets.channels.kafka.connector import CONNECTOR
from streamlets.channels.kafka.sending import message, send
from streamlets.channels.kafka.topic import KafkaTopic
from streamlets.testkit.session import start_session
from tests.kafka.broker import Broker

BAR = 0.9
Cost = tuple[float, float]
"""The seconds that a hop took, and the CPU time of all processes, including that of the broker."""

_PARTITIONS = 2
_WARM_UP = 200_000  # records that both hops process before they are measured, so that Java has compiled them


def main() -> None:
    """Run the rounds and print the ratio."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("records", nargs="?", type=int, default=1_000_000)
    arguments.add_argument("--rounds", type=int, default=3)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="kafka-throughput-") as directory:
        root = Path(directory)
        with Broker(root / "broker") as broker:
            session = start_session(directory=root, settings=settings())
            try:
                hops = Hops(session, KafkaChannel(root / "topics"), broker.servers, root)
                hops.prepare(min(options.records, _WARM_UP))()
                _measure(hops, options.records, options.rounds)
            finally:
                session.stop()


def settings() -> dict[str, str]:
    """Return the settings of a Spark that can use Kafka, and whose Java compiles as that of the runner."""
    jars = ",".join(map(str, jars_of([CONNECTOR], SparkArtifacts())))
    return {"spark.jars": jars, "spark.driver.extraJavaOptions": "-XX:+TieredCompilation"}


def _measure(hops: Hops, records: int, rounds: int) -> None:
    run = hops.prepare(records)
    ratios, ratios_of_work = [], []
    for number in range(rounds):
        (bare, bare_work), (hop, hop_work) = run(hop_first=number % 2 == 1)
        ratios.append(bare / hop)
        ratios_of_work.append(bare_work / hop_work)
        print(
            f"round {number + 1}  bare {bare:6.2f} s ({bare_work:6.2f} s of CPU time)  hop {hop:6.2f} s "
            f"({hop_work:6.2f} s, {records / hop:,.0f} records a second)  ratio {ratios[-1]:.2f}",
            flush=True,
        )
    wall, work = statistics.median(ratios), statistics.median(ratios_of_work)
    print(f"\n{records:,} records, median ratio {wall:.2f}, of CPU time {work:.2f} (bar: {BAR} at 10,000,000 records)")
    print("load average", *(f"{load:.1f}" for load in os.getloadavg()))


@dataclass(frozen=True)
class Hops:
    """The two hops.

    Arguments:
        session: a Spark with Kafka's connector.
        channel: the channel of the topics.
        servers: the servers of the cluster.
        root: a directory for checkpoints.
    """

    session: SparkSession
    channel: KafkaChannel
    servers: str
    root: Path

    def prepare(self, records: int) -> Callable[..., tuple[Cost, Cost]]:
        """Fill the topics that the hops read; return a function that runs both and returns what they cost, first the
        hand-written one."""
        source, bare_source = self.filled("avro", records), self.filled("plain-avro", records)

        def run(*, hop_first: bool = False) -> tuple[Cost, Cost]:
            if hop_first:
                hop = self._cost("avro", records, lambda target: self.hop(source, target))
                return self._cost("plain-avro", records, lambda target: self._bare(bare_source, target)), hop
            bare = self._cost("plain-avro", records, lambda target: self._bare(bare_source, target))
            return bare, self._cost("avro", records, lambda target: self.hop(source, target))

        return run

    def _cost(self, format: str, records: int, hop: Callable[[KafkaTopic], None]) -> Cost:
        """Return the cost of a hop to a new topic, which must have every record afterwards."""
        target = self.topic(format)
        before = processor_time()
        seconds = timed(lambda: hop(target))
        work = processor_time() - before
        summary = target.summary()
        assert summary.records == records, f"{summary.records:,} records instead of {records:,}"
        target.cluster.ask(lambda admin: admin.delete_topics([target.name]))
        return seconds, work

    def hop(
        self,
        source: KafkaTopic,
        target: KafkaTopic,
        options: Mapping[str, object] | None = None,
        batch: int | None = None,
    ) -> None:
        """Copy a topic to a new one.

        Arguments:
            source, target: the topics.
            options: the settings of the outlet.
            batch: the maximum number of records in a batch; None for no limit.
        """
        session = self.session.newSession()
        settings = InletSettings(max_records=batch)
        inlet = InletPlan("hop", "in", None, CONTRACT, source.plan.id, settings)
        rows = _changed(source.read(session, inlet, name="in"))
        outlet = OutletPlan("hop", "out", None, CONTRACT, target.plan.id, options=options or {})
        branch: Branch[TopicResource] = Branch(outlet, lambda rows: rows, target)
        writer = self.channel.writer(rows, (branch,), None, TopicQuery(streamlet="hop", name="out"))
        once(writer, self.root / target.name, bounded=True)

    def _bare(self, source: KafkaTopic, target: KafkaTopic) -> None:
        session = self.session.newSession()
        reader = session.readStream.format("kafka").option("kafka.bootstrap.servers", self.servers)
        messages = reader.option("subscribe", source.name).option("startingOffsets", "earliest").name("in").load()
        rows = _changed(messages.select(from_avro("value", CONTRACT.json).alias("record")).select("record.*"))
        value = to_avro(F.struct("*"), CONTRACT.json)
        writer = rows.select(value.alias("value")).writeStream.format("kafka")
        writer = writer.option("kafka.bootstrap.servers", self.servers).option("topic", target.name)
        once(writer, self.root / target.name, bounded=True)

    def filled(self, format: str, records: int) -> KafkaTopic:
        """Return a new topic with the records."""
        topic = self.topic(format)
        rows = self.session.range(records, numPartitions=_PARTITIONS).select(
            F.col("id"),
            F.concat(F.lit("gauge-"), F.col("id") % 1000).alias("src"),
            F.timestamp_micros("id").alias("ts"),
            (F.col("id") * 0.37).alias("value"),
        )
        assert send(rows.select(message(topic.stored, CONTRACT, ())), topic.stored) == records
        return topic

    def topic(self, format: str) -> KafkaTopic:
        """Return a new topic."""
        name = f"t-{uuid.uuid4().hex}"
        options = {"bootstrap.servers": self.servers, "topic.partitions": _PARTITIONS, "format": format}
        topic = self.channel.topic(TopicPlan(name, name, "kafka", True, (), (), options))
        topic.create([CONTRACT])
        return topic


def _changed(rows: DataFrame) -> DataFrame:
    """Return what both hops do with the rows, so that each record is decoded and encoded."""
    return rows.where(F.col("value") >= 0).withColumn("value", F.col("value") + 1)


if __name__ == "__main__":
    main()
