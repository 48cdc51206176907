"""A small version of `benchmarks/kafka_kills.py`: one kill of each kind."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.kafka_kills import BROKER, POINTS, KafkaLedger, outcome, play
from tests.kafka.broker import Broker

pytestmark = [pytest.mark.spark, pytest.mark.full]


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
