"""A hop from one Kafka topic to another whose outlet is exactly-once, compared with the same hop at least once.

    python -m benchmarks.kafka_guarantee [RECORDS] [--rounds N] [--batch N]

Both read RECORDS records of four columns in batches, filter and change them, and write them to a topic of the same
broker, one after the other in one Spark session; every second round in the other order. Spark's sink sends the records
of the one, and tasks of the executors those of the other, in transactions, after they were stored. A consumer of
committed messages counts both. The ratio of a round is the records per second of exactly-once divided by those of
at-least-once: the bar is 0.5.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from pathlib import Path

from benchmarks.chain import timed
from benchmarks.kafka_throughput import Cost, Hops, settings
from benchmarks.processes import processor_time
from streamlets.channels.kafka.channel import KafkaChannel
from streamlets.channels.kafka.topic import KafkaTopic
from streamlets.testkit.session import start_session
from tests.kafka.broker import Broker

BAR = 0.5
_GUARANTEES = ("at-least-once", "exactly-once")
_WARM_UP = 200_000  # records that both process before they are measured


def main() -> None:
    """Run the rounds and print the ratio."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("records", nargs="?", type=int, default=1_000_000)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--batch", type=int, default=250_000, help="the maximum number of records in a batch")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="kafka-guarantee-") as directory:
        root = Path(directory)
        with Broker(root / "broker") as broker:
            session = start_session(directory=root, settings=settings())
            try:
                hops = Hops(session, KafkaChannel(root / "topics"), broker.servers, root)
                _measured(hops, hops.filled("avro", min(options.records, _WARM_UP)), _GUARANTEES, options.batch)
                _compare(hops, options.records, options.rounds, options.batch)
            finally:
                session.stop()


def _compare(hops: Hops, records: int, rounds: int, batch: int) -> None:
    source, ratios, ratios_of_work = hops.filled("avro", records), [], []
    for number in range(rounds):
        costs = _measured(hops, source, _GUARANTEES if number % 2 == 0 else _GUARANTEES[::-1], batch)
        (least, least_work), (once, once_work) = (costs[guarantee] for guarantee in _GUARANTEES)
        ratios.append(least / once)
        ratios_of_work.append(least_work / once_work)
        print(
            f"round {number + 1}  at least once {least:6.2f} s ({least_work:6.2f} s of CPU time)  exactly once "
            f"{once:6.2f} s ({once_work:6.2f} s, {records / once:,.0f} records a second)  ratio {ratios[-1]:.2f}",
            flush=True,
        )
    wall, work = statistics.median(ratios), statistics.median(ratios_of_work)
    print(
        f"\n{records:,} records in batches of {batch:,}, median ratio {wall:.2f}, of CPU time {work:.2f} (bar: {BAR})"
    )
    print("load average", *(f"{load:.1f}" for load in os.getloadavg()))


def _measured(hops: Hops, source: KafkaTopic, guarantees: tuple[str, ...], batch: int) -> dict[str, Cost]:
    """Return the cost of a hop to a new topic with each guarantee."""
    costs = {}
    for guarantee in guarantees:
        target, before = hops.topic("avro"), processor_time()

        def hop(guarantee: str = guarantee, target: KafkaTopic = target) -> None:
            hops.hop(source, target, {"guarantee": guarantee}, batch)

        seconds = timed(hop)
        costs[guarantee] = seconds, processor_time() - before
        expected, sent = (_committed(hops, topic) for topic in (source, target))
        assert sent == expected, f"{sent:,} records instead of {expected:,}"
        target.cluster.ask(lambda admin, name=target.name: admin.delete_topics([name]))  # type: ignore[misc]
    return costs


def _committed(hops: Hops, topic: KafkaTopic) -> int:
    reader = hops.session.read.format("kafka").option("kafka.bootstrap.servers", hops.servers)
    return reader.option("kafka.isolation.level", "read_committed").option("subscribe", topic.name).load().count()


if __name__ == "__main__":
    main()
