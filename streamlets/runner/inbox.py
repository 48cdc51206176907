"""The inbox of a run: facts about its units and requests of other terminals, in the order in which they came."""

from __future__ import annotations

from queue import SimpleQueue

from streamlets.runner.events.event import Event
from streamlets.runner.state_directory.control import Request
from streamlets.runner.supervision.facts import Drain, Fact, Seen, StopNow

Inbox = SimpleQueue[Fact | Request]

ENDING = ("stop", "stop-now", "upgrade")
"""The requests that end a run."""


def cause_of_end(inbox: Inbox, *, requests: bool = True) -> str:
    """Return why a run is to end that has not looked at its inbox, empty if it is not. The inbox keeps everything.

    Arguments:
        requests: whether requests of other terminals count, not only signals.
    """
    waiting = _taken(inbox)
    for fact in waiting:
        inbox.put(fact)
    signals = (fact.cause for fact in waiting if isinstance(fact, (Drain, StopNow)))
    ending = (fact.cause for fact in waiting if isinstance(fact, Request) and fact.command in ENDING)
    return next(signals, "") or (next(ending, "") if requests else "")


def take_events(inbox: Inbox) -> list[Event]:
    """Remove the events from an inbox, which keeps everything else, and return them."""
    waiting = _taken(inbox)
    for fact in waiting:
        if not isinstance(fact, Seen):
            inbox.put(fact)
    return [fact.event for fact in waiting if isinstance(fact, Seen)]


def _taken(inbox: Inbox) -> list[Fact | Request]:
    waiting: list[Fact | Request] = []
    while not inbox.empty():
        waiting.append(inbox.get())
    return waiting
