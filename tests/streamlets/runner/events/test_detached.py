"""A view in a thread of its own can neither delay a run nor end it."""

from __future__ import annotations

import threading

import pytest

from streamlets.runner.events import detached
from streamlets.runner.events.detached import Detached
from streamlets.runner.events.event import Event
from streamlets.runner.events.publisher import Publisher
from streamlets.runner.events.run_events import RunEnded, RunStarted, SparkUp
from streamlets.runner.events.status import RunStatus
from streamlets.runner.events.view import View


class Recorder(View):
    """Keeps what it shows; it shows nothing until it is let go, and fails at Spark's start."""

    def __init__(self) -> None:
        self.shown: list[Event] = []
        self.go = threading.Event()
        self.left = False

    def __exit__(self, *error: object) -> None:
        self.left = True

    def event(self, event: Event, status: RunStatus) -> None:
        """Keep the event."""
        self.go.wait()
        if isinstance(event, SparkUp):
            raise OSError("no space left")
        self.shown.append(event)


STARTED, ENDED = RunStarted(1.0, "plant", ()), RunEnded(2.0, 0)


def test_the_run_does_not_wait_for_a_slow_view() -> None:
    """It shows all events before it is left."""
    view = Recorder()
    with Detached(view, lambda error: None) as shown:
        publisher = Publisher([shown])
        publisher.publish(STARTED)
        publisher.publish(ENDED)
        assert view.shown == []
        view.go.set()
    assert view.shown == [STARTED, ENDED]
    assert view.left


def test_the_run_goes_on_without_a_view_that_fails() -> None:
    """The failure is reported once, and later events are dropped."""
    view = Recorder()
    failures: list[Exception] = []
    view.go.set()
    with Detached(view, failures.append) as shown:
        publisher = Publisher([shown])
        for event in (STARTED, SparkUp(1.5, ()), ENDED):
            publisher.publish(event)
    assert [str(failure) for failure in failures] == ["no space left"]
    assert view.shown == [STARTED]
    assert publisher.status.exit_code == 0


def test_a_view_that_hangs_is_left_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Events beyond those that may wait are dropped."""
    view = Recorder()
    monkeypatch.setattr(detached, "_PATIENCE", 0.01)
    monkeypatch.setattr(detached, "_MOST_WAITING", 2)
    with Detached(view, lambda error: None) as shown:
        for _ in range(9):
            shown.event(STARTED, RunStatus())
    view.go.set()
    assert view.left
