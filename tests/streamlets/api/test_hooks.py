"""Hooks that cannot be called are found before anything has started; a streamlet without a runner calls them."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest

from streamlets import SparkStreamlet, SparkStreamletLogic, StopCause, StreamletError


def logic(**methods: Any) -> type[SparkStreamletLogic[Any]]:
    """Return a class of a logic with these methods."""
    return type("Logic", (SparkStreamletLogic,), {"build_streaming_queries": lambda self: [], **methods})


def without_cause(self: object) -> None: ...


def with_more(self: object, cause: object, more: object) -> None: ...


def with_argument(self: object, context: object) -> None: ...


async def asynchronous(self: object) -> None: ...


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ({"on_stop": without_cause}, r"cannot be called \(too many .*\): define it as `def on_stop\(self, cause\)`"),
        ({"on_stop": with_more}, r"missing a required argument: 'more'.*`def on_stop\(self, cause\)`"),
        ({"on_start": with_argument}, r"missing a required argument: 'context'.*`def on_start\(self\)`"),
        ({"on_start": asynchronous}, "`on_start` is `async`, so nothing would run it: define it with `def`"),
    ],
)  # fmt: skip
def test_a_hook_that_cannot_be_called_is_found_when_the_logic_is_created(methods: Any, message: str) -> None:
    """`flow verify --plans` creates it."""
    context: Any = SimpleNamespace()
    with pytest.raises(StreamletError, match=message):
        logic(**methods)(None, context)


class Query:
    """A query that has ended, or not yet."""

    def __init__(self, error: Exception | None, *, active: bool) -> None:
        self.isActive, self.runId, self._error = active, "r", error

    def exception(self) -> Exception | None:
        """The failure."""
        return self._error

    def stop(self) -> None:
        """It ends."""
        self.isActive = False


@pytest.mark.parametrize(
    ("query", "cause"),
    [
        (Query(ValueError("it broke"), active=False), StopCause("failed", "it broke")),
        (Query(None, active=True), StopCause("stopped")),
    ],
    ids=["failed", "stopped"],
)
def test_a_streamlet_without_a_runner_calls_its_hooks(query: Any, cause: StopCause) -> None:
    """`on_stop` before the end is reported."""
    calls: list[object] = []
    own = logic(
        on_start=lambda self: calls.append("on_start"),
        build=lambda self: (query,),
        on_stop=lambda self, cause: calls.append(cause),
    )

    class Streamlet(SparkStreamlet):
        Logic = own

    context: Any = SimpleNamespace()
    execution = Streamlet().run(context)
    ended: Future[None] = execution.stop() if query.isActive else execution.completed
    assert str(ended.exception(60) or "") == cause.error
    assert calls == ["on_start", cause]
