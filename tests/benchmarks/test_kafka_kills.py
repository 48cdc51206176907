"""A small version of `benchmarks/kafka_kills.py`, and a broker that is away for a minute."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.kafka_kills import BROKER, POINTS, DeduplicatingLedger, KafkaLedger, kill_broker, outcome, play
from tests.kafka.broker import Broker

pytestmark = [pytest.mark.spark, pytest.mark.full]

_AWAY = 60.0


@pytest.fixture
def broker(kafka_broker: str, tmp_path: Path) -> Iterator[Broker]:
    """Give a broker of this test alone; skipped like `kafka_broker`."""
    with Broker(tmp_path / "broker") as broker:
        yield broker


@pytest.mark.parametrize("kill", [*POINTS, "", BROKER], ids=[*POINTS, "run", BROKER])
def test_no_record_is_lost(kill: str, broker: Broker, tmp_path: Path) -> None:
    """After a kill, topics have each record at least once, and the table with keys exactly once."""
    with KafkaLedger(tmp_path / "ledger", broker.servers) as ledger:
        dice = random.Random(1)
        while not play(ledger, broker, kill, dice)[0]:
            pass
        holds, wrong = outcome(ledger)
    assert holds, wrong


@pytest.mark.parametrize("kill", ["after-topic-commit", ""], ids=["after-topic-commit", "run"])
def test_deduplicating_inlets_read_each_record_once(kill: str, broker: Broker, tmp_path: Path) -> None:
    """After a kill, a table without keys has each record exactly once, too."""
    with DeduplicatingLedger(tmp_path / "ledger", broker.servers) as ledger:
        dice = random.Random(1)
        while not play(ledger, broker, kill, dice)[0]:
            pass
        holds, wrong = outcome(ledger)
    assert holds, wrong


def test_a_run_survives_a_minute_without_its_broker(broker: Broker, tmp_path: Path) -> None:
    """Queries wait or are restarted, and the run ends as if nothing had happened."""

    def restart_later(broker: Broker) -> None:
        time.sleep(_AWAY)
        broker.start()

    with KafkaLedger(tmp_path / "ledger", broker.servers) as ledger:
        dice = random.Random(1)
        ledger.feed(2)
        while not kill_broker(ledger, broker, dice, restart_later)[0]:
            ledger.feed(2)
        holds, wrong = outcome(ledger)
    assert holds, wrong
