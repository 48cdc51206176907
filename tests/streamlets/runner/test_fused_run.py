"""Whole runs with a topic that is fused, stored again, and killed between: no record is lost or doubled."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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


def progress_of(ledger: FusedLedger, ref: str) -> list[dict[str, Any]]:
    """Return the batches with rows that a streamlet has reported."""
    batches = [event for event in ledger.run_events() if event["event"] == "unit-progressed"]
    return [event for event in batches if event["streamlet"] == ref and event["rows_in"]]


def paused_in(ledger: FusedLedger) -> set[str]:
    """Return the streamlets that have been paused in the run."""
    return {str(event["streamlet"]) for event in ledger.run_events() if event.get("state") == "paused"}


def assert_exact(fused: Fused) -> None:
    """Every record is there once."""
    got, wanted = fused.ledger.records(), fused.expected()
    assert differences(got, wanted) == dict.fromkeys(wanted, (0, 0))


def test_a_topic_is_stored_fused_and_stored_again(fused: Fused) -> None:
    """The parts of a fused query report their records. From other terminals the run shows what is fused, and a pause of
    one streamlet concerns the others. Kills in batches of the fused query and of the stored topic, with a change
    between, lose and double nothing."""
    ledger = fused.ledger
    ledger.feed(2)
    ledger.fuse = False
    assert ledger.run() == 0
    assert not ledger.fused()
    ledger.feed(1)
    ledger.fuse = True
    endless = ledger.start(bounded=False)
    ledger.wait_until(endless, lambda: bool(progress_of(ledger, "double")))
    assert ledger.fused()
    (part,), (head,) = progress_of(ledger, "double"), progress_of(ledger, "numbers")
    assert (part["query"], part["rows_in"], part["rows_out"]) == ("out", 100, {"out": 100})
    assert (part["inlets"], head["rows_in"], head["rows_out"]) == ({"in": 100}, 100, {"out": 100})
    assert "fused: double is part of the query of numbers" in ledger.flow("status", str(APP)).stdout
    assert "numbers (fused)" in ledger.flow("topics", "list", str(APP)).stdout
    tail = ledger.flow("tail", "numbers", str(APP))
    assert "is fused: its records pass within the query `numbers.out`" in tail.stderr
    paused = ledger.flow("pause", "double", "--path", str(APP))
    assert paused.returncode == 0, paused.stderr
    ledger.wait_until(endless, lambda: {"numbers", "double"} <= paused_in(ledger))
    assert ledger.flow("resume", "numbers", "--path", str(APP)).returncode == 0
    ledger.feed(1)
    ledger.wait_until(endless, lambda: len(progress_of(ledger, "double")) == 2)
    assert ledger.flow("stop", str(APP)).returncode == 0
    assert endless.wait() == 0
    for round in (KILL, "after-manifest"):
        hit(fused, round)
    fused.finish()
    assert ledger.run() == 0
    assert_exact(fused)


@pytest.mark.full
def test_kills_of_fused_and_stored_topics(fused: Fused) -> None:
    """Each crash point and kills in batches, fused or stored by chance."""
    for round in fused.rounds(each=1, kills=4):
        hit(fused, round)
    fused.finish()
    assert fused.ledger.run() == 0
    assert_exact(fused)
