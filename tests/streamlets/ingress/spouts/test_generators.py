"""Generator spouts: transactions with resume markers, stepped and as units."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from queue import Empty
from typing import Any, ClassVar

import pyarrow as pa
import pytest

from blueprint.core_settings import StreamletSettings
from blueprint.quantities import duration
from streamlets import AvroOutlet, GeneratorSpout, IntegerParameter, StreamletError
from streamlets.ingress.spouts.generator import SpoutOutput, SpoutTransaction
from streamlets.ingress.spouts.generator_unit import GeneratorUnit
from streamlets.ingress.spouts.writer import RefusedError
from streamlets.runner.events.unit_events import UnitRecovered
from streamlets.runner.supervision.facts import Ended, Hung, Progressed, Started
from streamlets.testkit import Testkit


class Numbers(GeneratorSpout):
    """Counts to nine."""

    out = AvroOutlet(schema="number long not null")
    size = IntegerParameter("The records of a transaction", default=3)

    def run(self, out: SpoutOutput, resume: Any) -> Iterator[SpoutTransaction]:
        first = resume or 0
        while first < 9:
            numbers = range(first, first + out.value(self.size))
            first = numbers.stop
            yield out.transaction([{"number": number} for number in numbers], resume=first)


class Nothing(GeneratorSpout):
    """A spout that is not complete."""

    out = AvroOutlet(schema="number long")


class Custom(GeneratorSpout):
    """Runs a function that a test sets."""

    out = AvroOutlet(schema="number long not null", on_invalid="dead-letters")
    strict = AvroOutlet(schema="number long not null")
    transactions: ClassVar[Callable[[SpoutOutput, Any], Any]]

    def run(self, out: SpoutOutput, resume: Any) -> Any:
        return type(self).transactions(out, resume)


def numbers(tap: Any) -> list[int]:
    """Return the numbers since the last call."""
    return [row["number"] for row in tap.take()]


def test_steps_and_restarts(spouts: Testkit) -> None:
    """A restart continues from the marker of the last commit."""
    spout = spouts.spout(Numbers)
    out = spout.outlet("out")
    assert [committed.records for committed in spout.step()] == [3]
    assert numbers(out) == [0, 1, 2]
    spout.restart()
    assert [committed.records for committed in spout.step(5)] == [3, 3]
    assert numbers(out) == [3, 4, 5, 6, 7, 8]
    spout.restart()
    assert spout.step() == []


def test_parameters_have_their_values(spouts: Testkit) -> None:
    """`out.value` returns them."""
    spout = spouts.spout(Numbers, parameters={"size": 4})
    spout.step()
    assert numbers(spout.outlet("out")) == [0, 1, 2, 3]


@pytest.fixture
def custom(spouts: Testkit) -> Callable[[Callable[[SpoutOutput, Any], Any]], Any]:
    """Return a function that returns a spout which runs a function."""

    def make(transactions: Callable[[SpoutOutput, Any], Any]) -> Any:
        Custom.transactions = staticmethod(transactions)
        return spouts.spout(Custom)

    return make


def test_records_of_all_kinds(custom: Any) -> None:
    """Dicts by a generator, and Arrow tables and batches; those that break the contract are dead letters."""
    table = pa.table({"number": pa.array([3, 4], pa.int64())})

    def run(out: SpoutOutput, resume: Any) -> Iterator[SpoutTransaction]:
        yield out.transaction(({"number": n} for n in (1, "x", 2)), outlet="out")
        yield out.transaction(table, outlet="out")
        yield out.transaction(table.to_batches()[0], outlet="strict")

    spout = custom(run)
    assert [(c.outlet, c.records, c.dead_letters) for c in spout.step(3)] == [
        ("out", 2, 1),
        ("out", 2, 0),
        ("strict", 2, 0),
    ]
    assert (numbers(spout.outlet("out")), numbers(spout.outlet("strict"))) == ([1, 2, 3, 4], [3, 4])
    (letter,) = spout.dead_letters.take()
    assert json.loads(letter["record"]) == {"number": "x"}


@pytest.mark.parametrize(
    ("run", "error", "message"),
    [
        (lambda out, resume: [1], StreamletError, "must be a generator, found `list`: use `yield`"),
        (lambda out, resume: iter([{"number": 1}]), StreamletError, "must yield `out.transaction"),
        (lambda out, resume: iter([out.transaction([{"number": None}], outlet="strict")]), RefusedError, "record 1"),
        (lambda out, resume: iter([out.transaction([], outlet="none")]), RefusedError, "has no outlet `none`"),
        (
            lambda out, resume: iter([out.transaction(pa.table({"number": ["x"]}), outlet="strict")]),
            RefusedError,
            "record 1, `number`: is a `str`",
        ),
        (
            lambda out, resume: iter([out.transaction(pa.table({"number": pa.nulls(1, pa.int64())}), outlet="strict")]),
            RefusedError,
            "record 1, `number`: is null",
        ),
    ],
)
def test_mistakes_of_authors(custom: Any, run: Any, error: type[Exception], message: str) -> None:
    """Each is an error, and nothing is published."""
    spout = custom(run)
    with pytest.raises(error, match=message):
        spout.step()
    assert numbers(spout.outlet("out")) == numbers(spout.outlet("strict")) == []


def test_a_class_without_run(spouts: Testkit) -> None:
    """The error says what is missing."""
    with pytest.raises(TypeError, match=r"abstract class Nothing .*run"):
        spouts.spout(Nothing)


def test_a_unit_drains_between_transactions(custom: Any) -> None:
    """The generator is closed at its `yield`, so that its `finally` is executed."""
    closed = threading.Event()

    def run(out: SpoutOutput, resume: Any) -> Iterator[SpoutTransaction]:
        try:
            while not out.wait(0.001):
                yield out.transaction([{"number": 1}], outlet="out")
        finally:
            closed.set()

    spout = custom(run)
    unit = GeneratorUnit(spout.plan, spout._resources, spout._context, lambda: spout._spout)
    unit.start(1)
    while not isinstance(spout._facts.get(timeout=300), Progressed):
        pass
    unit.drain()
    assert spout._ended(300) == Ended(unit.id, 1)
    assert closed.is_set()


def test_a_generator_that_hangs_is_abandoned(custom: Any) -> None:
    """A stop reports the end at once. What the thread yields later is not committed, and the next run goes on."""
    release = threading.Event()

    def run(out: SpoutOutput, resume: Any) -> Iterator[SpoutTransaction]:
        if resume is None:
            yield out.transaction([{"number": 1}], resume=1, outlet="out")
            release.wait()
            yield out.transaction([{"number": 2}], outlet="out")
        else:
            yield out.transaction([{"number": 3}], outlet="out")

    spout = custom(run)
    unit = GeneratorUnit(spout.plan, spout._resources, spout._context, lambda: spout._spout)
    unit.start(1)
    while not isinstance(spout._facts.get(timeout=300), Progressed):
        pass
    unit.stop()
    assert spout._ended(300) == Ended(unit.id, 1)
    unit.start(2)
    assert spout._ended(300) == Ended(unit.id, 2)
    release.set()
    for thread in threading.enumerate():
        if thread.name == f"spout-{unit.id}":
            thread.join(300)
    assert numbers(spout.outlet("out")) == [1, 3]


def test_a_generator_that_is_stopped_commits_nothing_more(custom: Any) -> None:
    """Also without another run, whose higher epoch would refuse the transaction."""
    release = threading.Event()

    def run(out: SpoutOutput, resume: Any) -> Iterator[SpoutTransaction]:
        yield out.transaction([{"number": 1}], outlet="out")
        release.wait()
        yield out.transaction([{"number": 2}], outlet="out")

    spout = custom(run)
    unit = GeneratorUnit(spout.plan, spout._resources, spout._context, lambda: spout._spout)
    before = set(threading.enumerate())
    unit.start(1)
    while not isinstance(spout._facts.get(timeout=300), Progressed):
        pass
    (thread,) = (t for t in set(threading.enumerate()) - before if t.name == f"spout-{unit.id}")
    unit.stop()
    assert spout._ended(300) == Ended(unit.id, 1)
    release.set()
    thread.join(300)
    assert numbers(spout.outlet("out")) == [1]


def _stuck(spout: Any, unit: GeneratorUnit) -> Hung:
    """Have a unit check itself, as the supervisor does, until it is stuck."""
    end = time.monotonic() + 300
    while time.monotonic() < end:
        unit.check()
        with suppress(Empty):
            fact = spout._facts.get(timeout=0.01)
            if isinstance(fact, Hung):
                return fact
    raise AssertionError("it is not stuck")


def test_a_generator_that_hangs_is_stuck(custom: Any) -> None:
    """In a call into C, here a lock. It is reported once with its line, and again when it goes on."""
    lock, entered = threading.Lock(), threading.Event()
    lock.acquire()

    def run(out: SpoutOutput, resume: Any) -> Iterator[SpoutTransaction]:
        entered.set()
        with lock:
            yield out.transaction([{"number": 1}], outlet="out")
        out.wait(300)

    spout = custom(run)
    settings = StreamletSettings(stuck_after=duration("10 ms"), on_stuck="restart")
    unit = GeneratorUnit(replace(spout.plan, settings=settings), spout._resources, spout._context, lambda: spout._spout)
    unit.start(1)
    entered.wait(300)
    hung = _stuck(spout, unit)
    unit.check()
    assert (hung.run, hung.restart, hung.event.frames[-1].rpartition(" in ")[2]) == (1, True, "run")
    assert hung.event.line.startswith(
        f"{unit.id}: stuck: no transaction, and no call of `out.wait` or look at `out.stopping`, for "
    )
    lock.release()
    while not isinstance(spout._facts.get(timeout=300), Progressed):
        pass
    _until_waiting(unit)
    unit.check()
    assert isinstance(spout._facts.get(timeout=300).event, UnitRecovered)
    unit.drain()
    assert spout._ended(300) == Ended(unit.id, 1)


def _until_waiting(unit: GeneratorUnit) -> None:
    end = time.monotonic() + 60
    while not unit._pulse._resting:
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("how", ["out.wait", "out.stopping.wait", "a loop"])
def test_a_generator_that_has_nothing_to_deliver_is_not_stuck(custom: Any, how: str) -> None:
    """It waits with `out.wait`, or looks at `out.stopping` again and again."""

    def run(out: SpoutOutput, resume: Any) -> Iterator[SpoutTransaction]:
        yield from ()
        match how:
            case "out.wait":
                out.wait(300)
            case "out.stopping.wait":
                out.stopping.wait(300)
            case _:
                while not out.stopping.is_set():
                    time.sleep(0.001)

    spout = custom(run)
    settings = StreamletSettings(stuck_after=duration("2 s" if how == "a loop" else "0 s"))
    unit = GeneratorUnit(replace(spout.plan, settings=settings), spout._resources, spout._context, lambda: spout._spout)
    unit.start(1)
    while not isinstance(spout._facts.get(timeout=300), Started):
        pass
    if how != "a loop":
        _until_waiting(unit)
    for _ in range(20):
        unit.check()
        time.sleep(0.001)
    unit.drain()
    assert spout._ended(300) == Ended(unit.id, 1)
    assert not any(isinstance(fact, Hung) for fact in _rest(spout))


def _rest(spout: Any) -> list[Any]:
    return [spout._facts.get() for _ in range(spout._facts.qsize())]


def test_the_failure_of_a_unit_has_the_authors_frames(custom: Any) -> None:
    """As with the logic of streamlets on Spark."""

    def run(out: SpoutOutput, resume: Any) -> Iterator[SpoutTransaction]:
        yield from ()
        raise ZeroDivisionError("no rate")

    spout = custom(run)
    unit = GeneratorUnit(spout.plan, spout._resources, spout._context, lambda: spout._spout)
    unit.start(1)
    ended = spout._ended(300)
    assert ended.failure.cause == "ZeroDivisionError: no rate"
    assert "in run" in ended.failure.frames[-1]
