"""A bounded run ends when no record circulates any more: the streamlets of a cycle run again until then."""

from __future__ import annotations

import random

import pytest

from streamlets.runner.supervision.facts import Drain
from streamlets.spark.failure import Failure
from tests.streamlets.runner.supervision.bench import BROKEN, Bench

CYCLE = {"b": frozenset({"to-c"}), "c": frozenset({"back"})}
PRODUCERS = {"b": ["a", "c"], "c": ["b"], "d": ["c"]}


def bench() -> Bench:
    """Return a bounded run in which `a` feeds the cycle of `b` and `c`, and `d` reads what leaves `c`."""
    return Bench("abcd", in_order=True, bounded=True, producers=PRODUCERS, cycles=[CYCLE])


def finish(run: Bench, ref: str, rows_out: dict[str, int] | None = None) -> None:
    """Let a unit run to its end, and write records."""
    run.started(ref)
    if rows_out:
        run.progressed(ref, 1, rows_out)
    run.ended(ref)


def test_a_cycle_runs_until_nothing_has_come_back() -> None:
    """Both start when `a` has ended; each that has not read the last records runs again; `d` waits for the whole."""
    run = bench()
    assert [run.units[ref].run for ref in "abcd"] == [1, 0, 0, 0]
    finish(run, "a", {"out": 5})
    assert [run.units[ref].run for ref in "abcd"] == [1, 1, 1, 0]
    finish(run, "c")
    assert run.state("c") == "completed"
    assert run.units["d"].run == 0, "`b` may still write"
    finish(run, "b", {"to-c": 5})
    assert [run.units[ref].run for ref in "bcd"] == [2, 2, 0], "`b` cannot know that it has read all"
    assert run.last("c").cause == "records have come back in its cycle"
    finish(run, "b")
    finish(run, "c", {"back": 2, "out": 3})
    assert [run.units[ref].run for ref in "bcd"] == [3, 3, 0]
    finish(run, "b", {"elsewhere": 2})
    finish(run, "c", {"out": 2})
    assert [run.units[ref].run for ref in "bcd"] == [3, 3, 1], "nothing has come back"
    finish(run, "d")
    assert run.supervisor.done
    assert run.supervisor.failed == ()


def test_a_streamlet_that_reads_what_it_writes_runs_again() -> None:
    """The shortest cycle; without records it runs once."""
    run = Bench("a", in_order=True, bounded=True, producers={"a": ["a"]}, cycles=[{"a": frozenset({"again"})}])
    for left in (3, 1, 0):
        assert not run.supervisor.done
        finish(run, "a", {"again": left, "done": 1})
    assert run.supervisor.done
    assert run.units["a"].run == 3


def test_a_repeated_batch_lets_the_others_run_again() -> None:
    """It does not report what it had written before it failed. The others end after one that fails for good."""
    run = bench()
    finish(run, "a")
    finish(run, "c")
    run.started("b")
    run.ended("b", BROKEN)
    assert run.state("b") == "backing-off"
    assert run.units["c"].run == 2
    run.passes(1)
    run.ended("b", Failure("wrong", fatal="for good"))
    finish(run, "c")
    finish(run, "c")
    assert run.state("b") == "failed"
    assert run.units["d"].run == 1


def test_a_drain_ends_a_cycle() -> None:
    """Records that are left are read in the next run."""
    run = bench()
    finish(run, "a")
    run.started("b")
    run.progressed("b", 1, {"to-c": 5})
    run.supervisor.handle(Drain())
    run.ended("b")
    run.ended("c")
    assert run.supervisor.done
    assert run.units["c"].run == 1


@pytest.mark.parametrize("seed", range(60))
def test_no_record_is_left(seed: int) -> None:
    """Records that are passed on at random, by units that end in a random order, are all read at the end."""
    dice = random.Random(seed)
    run = bench()
    finish(run, "a", {"out": 9})
    topics = {"to-c": 0, "back": 9}  # the records of both topics that are not read yet; `b` also reads the ones of `a`
    reads, writes = {"b": "back", "c": "to-c"}, {"b": "to-c", "c": "back"}
    taken = dict.fromkeys("bc", 0)
    for _ in range(400):
        for ref in "bc":  # a run reads what is there when it starts
            if run.units[ref].up and run.state(ref) == "starting":
                run.started(ref)
                taken[ref], topics[reads[ref]] = topics[reads[ref]], 0
        running = [ref for ref in "bc" if run.units[ref].up]
        if not running:
            break
        ref = dice.choice(running)
        if taken[ref] and dice.random() < 0.2:
            topics[reads[ref]] += taken[ref]  # the batch is repeated
            taken[ref] = 0
            run.ended(ref, BROKEN)
            run.passes(4000)
            continue
        passed = dice.randint(0, taken[ref])
        taken[ref] = 0
        topics[writes[ref]] += passed
        run.progressed(ref, 1, {writes[ref]: passed})
        run.ended(ref)
    assert topics == {"to-c": 0, "back": 0}
    assert [run.state(ref) for ref in "bc"] == ["completed", "completed"]
    assert run.units["d"].run == 1
