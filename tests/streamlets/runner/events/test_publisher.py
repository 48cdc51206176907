"""Events on their way to the views of a run."""

from __future__ import annotations

from dataclasses import replace

from streamlets.runner.events.event import Event
from streamlets.runner.events.publisher import Publisher
from streamlets.runner.events.record_events import RowsLate
from streamlets.runner.events.run_events import RunStarted
from streamlets.runner.events.status import RunStatus, UnitId
from streamlets.runner.events.unit_events import UnitChanged, UnitProgressed
from streamlets.runner.events.view import View

UNIT = UnitId("mean", "out")


class Recorder(View):
    """Keeps what it takes."""

    def __init__(self) -> None:
        self.taken: list[tuple[Event, RunStatus]] = []

    def event(self, event: Event, status: RunStatus) -> None:
        """Keep an event and the status after it."""
        self.taken.append((event, status))


def _masked(event: Event) -> Event:
    return replace(event, cause=event.cause.replace("hunter2", "***")) if isinstance(event, UnitChanged) else event


def test_all_views_take_the_same_status() -> None:
    """It is the status after the event, without secrets, and other threads can read it."""
    views = [Recorder(), Recorder()]
    publisher = Publisher(views, _masked)
    publisher.publish(RunStarted(1.0, "plant", ("mean",)))
    publisher.publish(UnitChanged(2.0, UNIT, "failed", "the password hunter2 is wrong"))
    first, second = (view.taken[-1] for view in views)
    assert first[1] is second[1] is publisher.status
    assert isinstance(first[0], UnitChanged)
    assert first[0].cause == publisher.status.units[UNIT].cause == "the password *** is wrong"
    assert [status.sequence for _, status in views[0].taken] == [1, 2]


def test_late_rows_are_reported_before_their_batch() -> None:
    """The views get the report as an event of its own."""
    view = Recorder()
    publisher = Publisher([view])
    publisher.publish(RunStarted(1.0, "plant", ("mean",)))
    publisher.publish(UnitProgressed(2.0, UNIT, 0, 10, late=3))
    assert [type(event) for event, _ in view.taken] == [RunStarted, RowsLate, UnitProgressed]
