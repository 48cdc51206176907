"""`Outlets`: the waits of units for the channels of the topics that they write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from streamlets.runner.supervision.environment import Environment
from streamlets.runner.supervision.gate import Go, Refused, Wait, outlet_gate
from streamlets.runner.supervision.watched import ChannelWait, Watched

_ASK_EVERY = 1.0
"""Seconds after a refusal until the channels are asked again."""


@dataclass(frozen=True, slots=True)
class Outlets:
    """Asks the channels of outlets before units start, and again until all of them accept records.

    Arguments:
        limits: for each streamlet, the topics whose channels it waits for, with the limit of each in seconds.
        environment: has the clock, and asks the channels.
    """

    limits: Mapping[str, Mapping[str, float]]
    environment: Environment

    def gate(self, watched: Watched, now: float) -> Go | Wait | Refused:
        """Return whether a unit may start whose inlets are open; ask the channels if they have to be asked."""
        limits = self.limits.get(watched.unit.id.streamlet, {})
        if not limits or watched.accepted:
            return Go()
        if watched.channels is None:
            watched.channels = ChannelWait(since=now, refusals=dict.fromkeys(limits, ""), ask_at=now)
        wait = watched.channels
        if wait.ask_at is not None and wait.ask_at <= now and wait.refusals:
            wait.ask_at = None
            self.environment.ask_channels(watched.unit.id, tuple(wait.refusals))
        return outlet_gate(limits, wait.refusals, since=wait.since, now=now)

    def answered(self, watched: Watched, refusals: Mapping[str, str]) -> None:
        """Take the answer of channels to a unit.

        Arguments:
            refusals: the reasons of those that do not accept records, by topic.
        """
        if watched.channels is not None:
            now = self.environment.timer()
            watched.channels = ChannelWait(
                since=watched.channels.since, refusals=dict(refusals), ask_at=now + _ASK_EVERY
            )
            watched.due = now
