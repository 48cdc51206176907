"""A chain of two streamlets on Kafka whose outlets are exactly-once: the run or the broker is killed.

Both topics must have each record once for a plain consumer of committed messages, which does not use Streamlets. Their
format is JSON. The driver sends the batches of the first streamlet, and two tasks of the executors those of the second.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import ClassVar

from confluent_kafka import Consumer, TopicPartition

from benchmarks.kills.kafka import Kafka, KafkaLedger, expected
from benchmarks.kills.ledger import BATCH, as_text, compared

POINTS = (
    "after-batch-begun", "after-staging", "after-shared-out", "after-share-sent", "after-share-commit",
    "after-topic-commit", "before-spark-commit", "after-staged-removal",
)  # fmt: skip

_BLUEPRINT = """\
blueprint {
  streamlets { numbers = ledger.Numbers, double = small_shares.Double }
  topics {
    numbers { producers = [numbers.out], consumers = [double.in], topic.partitions = 2, format = json }
    doubled { producers = [double.out], topic.partitions = 2, format = json }
  }
}
flow {
  application = ledger
  streamlets.numbers.outlets.out { guarantee = exactly-once, partition-by = [n] }
  streamlets.double.outlets.out.guarantee = exactly-once
}
"""
_SMALL_SHARES = """\
from ledger import Double as Doubling
from streamlets.channels.kafka import exactly_once

exactly_once._SMALL_MESSAGES = 20  # so that executors send


class Double(Doubling):
    pass
"""
_PATIENCE = 60.0


class OnceLedger(KafkaLedger):
    """The application, in its own directory, with a broker of its own."""

    queries: ClassVar[dict[str, str]] = {"numbers": "out", "double": "out"}
    passages: ClassVar[int] = 2
    tables: ClassVar[tuple[str, ...]] = ()
    text: ClassVar[str] = _BLUEPRINT

    def __init__(self, directory: Path, servers: str) -> None:
        super().__init__(directory, servers)
        (directory / "small_shares.py").write_text(_SMALL_SHARES, encoding="utf-8")

    @property
    def settings(self) -> dict[str, object]:
        """Settings of streamlets."""
        return {"numbers.parameters.directory": self.directory / "in", "double.inlets.in.max-records": self.batch}

    def records(self) -> dict[str, Counter[str]]:
        """Return how often each record is in each topic for a consumer of committed messages."""
        return {topic: self._committed(topic) for topic in self.topics}

    def _committed(self, topic: str) -> Counter[str]:
        consumer = Consumer(
            {
                "bootstrap.servers": self.servers, "group.id": "plain", "isolation.level": "read_committed",
                "enable.auto.commit": False, "enable.partition.eof": True,
            }
        )  # fmt: skip
        partitions = consumer.list_topics(topic, _PATIENCE).topics[topic].partitions
        consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
        counts, ended = Counter[str](), set[int | None]()
        while len(ended) < len(partitions):
            message = consumer.poll(_PATIENCE)
            assert message is not None, f"the topic `{topic}` does not end"
            if message.error() is not None:
                ended.add(message.partition())
            else:
                counts[as_text(json.loads(message.value() or b""))] += 1
        consumer.close()
        return counts


class KafkaOnce(Kafka):
    """The application and its broker."""

    points: ClassVar[tuple[str, ...]] = POINTS
    application: ClassVar[type[KafkaLedger]] = OnceLedger

    def settle(self) -> list[str]:
        """Run to the end, and compare with the expected records."""
        self.ledger.require_success(self.ledger.run())
        print(f"{self.ledger.files * BATCH:,} records fed")
        return compared(self.ledger.records(), expected(self.ledger))
