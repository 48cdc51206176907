"""An application moves from the delta channel to Kafka, and continues where it was, with its state."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from benchmarks.kills.ledger import Ledger, as_text, expected
from blueprint.plan import TopicPlan
from streamlets.channels.kafka.channel import KafkaChannel
from tests.kafka.broker import Broker

pytestmark = [pytest.mark.spark, pytest.mark.full]

TOPICS = ("numbers", "doubled", "sums")


def _feed(ledger: Ledger, numbers: Iterable[int], age: int) -> None:
    """Add a file with numbers; Spark ignores files that are a week older than the newest one."""
    file = ledger.directory / "in" / f"more-{age}.json"
    file.write_text("".join(f'{{"n": {n}}}\n' for n in numbers))
    os.utime(file, (1_600_000_000 + age, 1_600_000_000 + age))


def _copy(ledger: Ledger, topic: str, *settings: str) -> str:
    own = [f"flow.streamlets.{key}={value}" for key, value in ledger.settings.items()]
    copied = ledger.flow(
        "topics", "copy", topic, str(ledger.blueprint), *own, *settings, "--from", "delta", "--readers"
    )
    assert copied.returncode == 0, copied.stderr
    return copied.stdout


def test_an_application_continues_on_kafka(kafka_broker: str, tmp_path: Path) -> None:
    """After a copy with its readers, each record is processed once, and sums continue from their state."""
    with Broker(tmp_path / "broker") as broker, Ledger(tmp_path / "ledger") as ledger:
        ledger.directory.mkdir()
        servers = f'flow.kafka.clusters.default.bootstrap.servers="{broker.servers}"'
        ledger.feed(2)
        # Half of a group of ten is in the state of the sums.
        _feed(ledger, range(400, 405), 1)
        assert ledger.run() == 0
        for topic in TOPICS:
            _copy(ledger, topic, "flow.channel=kafka", servers)
        assert "0 records copied" in _copy(ledger, "numbers", "flow.channel=kafka", servers)
        ledger.options = ("flow.channel=kafka", servers)
        ledger.feed(2)
        _feed(ledger, range(405, 410), 4)
        assert ledger.run() == 0, ledger.out.read_text()[-3000:]
        channel = KafkaChannel(ledger.home / "topics")
        records = {
            name: Counter(
                as_text(row)
                for batch in channel.topic(
                    TopicPlan(name, name, "kafka", True, (), (), {"bootstrap.servers": broker.servers})
                ).scan()
                for row in batch.to_pylist()
            )
            for name in TOPICS
        }
    numbers = [*range(410)]
    assert records["numbers"] == Counter(as_text({"n": n}) for n in numbers)
    assert records["doubled"] == Counter(as_text({"n": n, "twice": 2 * n, "ten": n // 10}) for n in numbers)
    halves = [{"ten": 40, "count": 5, "total": 4020}, {"ten": 40, "count": 10, "total": 8090}]
    assert records["sums"] == expected(4)["sums"] + Counter(map(as_text, halves))
