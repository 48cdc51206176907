"""The inbox of a run before its supervision: events are removed, and everything else stays in its order."""

from __future__ import annotations

from queue import SimpleQueue

from streamlets.runner.events.run_events import SparkUp
from streamlets.runner.inbox import Inbox, cause_of_end, take_events
from streamlets.runner.state_directory.control import request
from streamlets.runner.supervision.facts import Drain, Seen


def test_events_are_removed() -> None:
    """In the order in which they happened."""
    inbox: Inbox = SimpleQueue()
    pause, drain = request("pause", streamlet="a"), Drain("stopped by SIGTERM")
    for fact in (Seen(SparkUp(1.0, ("a",))), pause, Seen(SparkUp(2.0, ("b",))), drain):
        inbox.put(fact)
    assert [event.time for event in take_events(inbox)] == [1.0, 2.0]
    assert take_events(inbox) == []
    assert cause_of_end(inbox) == "stopped by SIGTERM"
    assert [inbox.get(), inbox.get()] == [pause, drain]
