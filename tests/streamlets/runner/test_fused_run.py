"""Whole runs with a topic that is fused, stored again, and killed between: no record is lost or doubled."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.kills.fused import Fused, FusedLedger
from benchmarks.kills.harness import KILL, hit
from benchmarks.kills.ledger import REPOSITORY, differences

pytestmark = [pytest.mark.spark, pytest.mark.slow]

APP = REPOSITORY / "tests" / "streamlets" / "runner" / "app"


@pytest.fixture
def fused(tmp_path: Path) -> Iterator[Fused]:
    """The application; nothing of its runs is left after the test."""
    with Fused(tmp_path, random.Random(7)) as fused:
        yield fused


def assert_exact(fused: Fused) -> None:
    """Every record is there once."""
    got, wanted = fused.ledger.records(), fused.expected()
    assert differences(got, wanted) == dict.fromkeys(wanted, (0, 0))


def test_a_topic_is_stored_fused_and_stored_again(fused: Fused) -> None:
    """Records that the topic has are read before it is fused. The parts of a fused query report their records. From
    other terminals the run shows what is fused, and a pause of one streamlet concerns the others. A kill in a batch of
    the fused query, and of the stored topic, loses and doubles nothing."""
    ledger: FusedLedger = fused.ledger
    ledger.feed(2)
    ledger.fuse = False
    assert ledger.run() == 0
    assert not ledger.fused()
    ledger.feed(1)
    ledger.fuse = True
    endless = ledger.start(bounded=False)
    ledger.wait_until_up(endless)
    assert ledger.fused()
    ledger.wait_until(endless, lambda: any(e.get("inlets") == {"in": 100} for e in ledger.run_events()))
    (part,) = [e for e in ledger.run_events() if e["event"] == "unit-progressed" and e["streamlet"] == "double"]
    assert (part["query"], part["rows_in"], part["rows_out"]) == ("out", 100, {"out": 100})
    (head,) = [e for e in ledger.run_events() if e["event"] == "unit-progressed" and e["streamlet"] == "numbers"]
    assert (head["rows_in"], head["rows_out"]) == (100, {"out": 100})
    assert "fused: double is part of the query of numbers" in ledger.flow("status", str(APP)).stdout
    assert "numbers (fused)" in ledger.flow("topics", "list", str(APP)).stdout
    assert (
        "is fused: its records pass within the query `numbers.out`" in ledger.flow("tail", "numbers", str(APP)).stderr
    )
    paused = ledger.flow("pause", "double", "--path", str(APP))
    assert paused.returncode == 0, paused.stderr
    ledger.wait_until(endless, lambda: [
        e["streamlet"] for e in ledger.run_events() if e.get("state") == "paused"].count("numbers") == 1)  # fmt: skip
    assert ledger.flow("resume", "numbers", "--path", str(APP)).returncode == 0
    ledger.feed(1)
    ledger.wait_until(endless, lambda: len([
        e for e in ledger.run_events() if e["event"] == "unit-progressed" and e["streamlet"] == "double"]) == 2)  # fmt: skip
    assert ledger.flow("stop", str(APP)).returncode == 0
    assert endless.wait() == 0
    kinds = [hit(fused, round) for round in (KILL, "after-manifest")]
    assert kinds
    fused.finish()
    assert_exact(fused)


@pytest.mark.full
def test_kills_of_fused_and_stored_topics(fused: Fused) -> None:
    """Each crash point and kills in batches, fused or stored by chance."""
    for round in fused.rounds(each=1, kills=4):
        hit(fused, round)
    fused.finish()
    assert_exact(fused)
