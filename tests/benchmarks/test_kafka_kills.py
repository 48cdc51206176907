"""A small version of `benchmarks/kills/kafka.py`, and a broker that is away for a minute."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from benchmarks.kills.harness import KILL, hit
from benchmarks.kills.kafka import BROKER, POINTS, Deduplicated, Kafka
from benchmarks.kills.kafka_once import KafkaOnce
from tests.kafka.broker import Broker

pytestmark = [pytest.mark.spark, pytest.mark.full]

_AWAY = 60.0


@pytest.fixture(autouse=True)
def _kafka(kafka_broker: str) -> None:
    """Skip these tests like those of `kafka_broker`; each has a broker of its own."""


@pytest.mark.parametrize("kill", [*POINTS, KILL, BROKER])
def test_no_record_is_lost(kill: str, tmp_path: Path) -> None:
    """After a kill, topics have each record at least once, and the table with keys exactly once."""
    with Kafka(tmp_path, random.Random(1)) as target:
        hit(target, kill)
        assert target.settle() == []


@pytest.mark.parametrize("kill", ["after-topic-commit", KILL])
def test_deduplicating_inlets_read_each_record_once(kill: str, tmp_path: Path) -> None:
    """After a kill, a table without keys has each record exactly once, too."""
    with Deduplicated(tmp_path, random.Random(1)) as target:
        hit(target, kill)
        assert target.settle() == []


def test_a_run_survives_a_minute_without_its_broker(tmp_path: Path) -> None:
    """Queries wait or are restarted, and the run ends as if nothing had happened."""

    def restart_later(broker: Broker) -> None:
        time.sleep(_AWAY)
        broker.start()

    with Kafka(tmp_path, random.Random(1)) as target:
        while not target.play(BROKER, restart_later)[0]:
            pass
        assert target.settle() == []


@pytest.mark.parametrize("kill", ["after-share-sent", "after-share-commit", KILL, BROKER])
def test_a_chain_of_exactly_once_outlets_has_each_record_once(kill: str, tmp_path: Path) -> None:
    """After a kill, a plain consumer of committed messages gets each record of both topics once."""
    with KafkaOnce(tmp_path, random.Random(1)) as target:
        hit(target, kill)
        assert target.settle() == []
