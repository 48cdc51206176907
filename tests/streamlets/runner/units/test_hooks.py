"""The hooks of a logic: once per start of a streamlet, with time limits, whatever its queries do."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any

import pytest

from streamlets import StopCause
from streamlets.api.logic import SparkStreamletLogic
from streamlets.runner.events.status import UnitId
from streamlets.runner.units.hooks import HookedLogic, HookError, HookLimits
from streamlets.spark.failure import Failure

LONG = 300.0
A, B, WHOLE = UnitId("s", "a"), UnitId("s", "b"), UnitId("s")


class Logic(SparkStreamletLogic[Any]):
    """A logic that records the calls of its hooks, which may hang or fail."""

    def __init__(self, calls: list[str], on_start: Callable[[], None], on_stop: Callable[[], None]) -> None:
        context: Any = SimpleNamespace(streamlet_ref="s")
        super().__init__(None, context)
        self.calls, self._on_start, self._on_stop = calls, on_start, on_stop

    def build_streaming_queries(self) -> Any:
        """No query."""

    def on_start(self) -> None:
        """Record it."""
        self._on_start()
        self.calls.append("on_start")

    def on_stop(self, cause: StopCause) -> None:
        """Record it."""
        self._on_stop()
        self.calls.append(f"on_stop {cause}")


class Bench:
    """A streamlet whose logic records its hooks."""

    def __init__(self, *, on_start: float = LONG, on_stop: float = LONG) -> None:
        self.calls, self.logged, self.ended = list[str](), list[str](), SimpleQueue[Failure | None]()
        self.start_with: Callable[[], None] = lambda: None
        self.stop_with: Callable[[], None] = lambda: None
        self.hooked = HookedLogic(HookLimits(on_start, on_stop), lambda logic: None, self.logged.append)

    def opened(self, unit: UnitId) -> Any:
        """Have a unit build."""
        return self.hooked.opened(unit, lambda: Logic(self.calls, lambda: self.start_with(), lambda: self.stop_with()))

    def leave(self, unit: UnitId, cause: StopCause = StopCause("stopped")) -> Failure | None:  # noqa: B008 - frozen
        """Have a unit end; return the failure of its end."""
        self.hooked.leave(unit, cause, self.ended.put)
        return self.ended.get(timeout=LONG)


def test_hooks_are_called_once_for_all_queries_of_a_streamlet() -> None:
    """The second query has the same logic, also when it is restarted alone; the next start has a logic of its own."""
    bench = Bench()
    logic = bench.opened(WHOLE)
    bench.hooked.hand_over(WHOLE, [A, B])
    assert bench.leave(B, StopCause("failed", "it broke")) is None
    assert bench.opened(B) is logic
    assert bench.leave(A) is None
    assert bench.calls == ["on_start"]
    assert bench.leave(B) is None
    assert bench.calls == ["on_start", "on_stop failed: it broke"]
    assert bench.opened(A) is not logic
    assert bench.leave(A, StopCause("completed")) is None
    assert bench.calls[2:] == ["on_start", "on_stop completed"]
    bench.hooked.close(StopCause("stopped"))
    assert len(bench.calls) == 4


def test_a_failed_start_is_repeated_with_a_new_logic() -> None:
    """`on_stop` belongs to an `on_start` that has returned. The failure names the hook, and a restart may fix it."""
    bench = Bench()

    def refused() -> None:
        raise ConnectionError("refused")

    bench.start_with = refused
    with pytest.raises(HookError) as caught:
        bench.opened(A)
    failure = caught.value.failure
    assert (failure.hook, failure.cause, failure.fatal) == (
        "on_start",
        "`on_start` failed: ConnectionError: refused",
        "",
    )
    assert failure.frames[-1].endswith("in refused")
    assert "ConnectionError: refused" in bench.logged[0]
    assert bench.leave(A, StopCause("failed", failure.cause)) is None
    bench.start_with = lambda: None
    bench.opened(A)
    bench.leave(A)
    assert bench.calls == ["on_start", "on_stop stopped"]


def test_a_hook_that_does_not_return_is_a_failure() -> None:
    """The author's line is its frame. At most ten calls may hang, and what one opens late is released."""
    bench, hold = Bench(on_start=0.02), threading.Event()
    released = threading.Event()

    def hang() -> None:
        hold.wait(LONG)

    bench.start_with, bench.stop_with = hang, released.set
    with pytest.raises(HookError) as caught:
        bench.opened(A)
    assert caught.value.failure.cause == "`on_start` failed: it has not returned within 0.02 s"
    assert any(frame.endswith("in hang") for frame in caught.value.failure.frames)
    for _ in range(9):
        with pytest.raises(HookError, match="it has not returned"):
            bench.opened(A)
    with pytest.raises(HookError, match="`on_start` failed: 10 earlier calls have not returned yet"):
        bench.opened(A)
    hold.set()
    assert released.wait(LONG)


def test_a_failure_of_on_stop_is_not_repeated() -> None:
    """The queries have ended, so a restart would only read on; after a failure of a query it is only logged."""
    bench = Bench(on_stop=0.05)

    def broken() -> None:
        raise OSError("disk full")

    bench.stop_with = broken
    bench.opened(A)
    failure = bench.leave(A, StopCause("completed"))
    assert failure is not None
    assert (failure.hook, failure.cause) == ("on_stop", "`on_stop` failed: OSError: disk full")
    assert failure.fatal
    hold = threading.Event()

    def hang() -> None:
        hold.wait(LONG)

    bench.stop_with = hang
    bench.opened(A)
    hanging = bench.leave(A)
    hold.set()
    assert hanging is not None
    assert hanging.cause == "`on_stop` failed: it has not returned within 0.05 s"


def test_the_next_start_waits_for_on_stop() -> None:
    """So that a port or a lock that a streamlet holds is free again."""
    bench, hold, entered = Bench(), threading.Event(), threading.Event()

    def slow() -> None:
        entered.set()
        hold.wait(LONG)

    bench.stop_with = slow
    bench.opened(A)
    bench.hooked.leave(A, StopCause("stopped"), bench.ended.put)
    assert entered.wait(LONG)
    starting = threading.Thread(target=lambda: bench.opened(A))
    starting.start()
    assert bench.calls == ["on_start"]
    hold.set()
    starting.join(LONG)
    assert bench.calls == ["on_start", "on_stop stopped", "on_start"]


def test_a_logic_whose_units_were_lost_is_closed_before_the_next_one() -> None:
    """Units that were lost with Spark do not report their ends."""
    bench = Bench()
    first = bench.opened(A)
    bench.hooked.close(StopCause("failed", "Spark has exited"))
    assert bench.opened(A) is not first
    assert bench.calls == ["on_start", "on_stop failed: Spark has exited", "on_start"]


def test_queries_that_were_never_started_do_not_keep_on_stop_from_being_called() -> None:
    """The end of the run calls it."""
    bench = Bench()
    bench.opened(WHOLE)
    bench.hooked.hand_over(WHOLE, [A, B])
    bench.leave(A)
    bench.hooked.close(StopCause("stopped"))
    assert bench.calls == ["on_start", "on_stop stopped"]
