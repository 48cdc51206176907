"""`gate`: whether a unit may start, by what the ports of its streamlet require.

Inlets wait for their producers. When these are there, outlets wait for the channels of their topics.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from blueprint.wording import time_limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """The requirements of an inlet before its streamlet starts.

    Arguments:
        producers: the streamlets that write its topic.
        opened: how many of them must have opened: have been up in this run, or have ended.
        within: seconds after which the streamlet fails if they have not; None for never.
        sequential: whether all of them must then have ended.
    """

    producers: frozenset[str]
    opened: int = 0
    within: float | None = None
    sequential: bool = False

    def missing(self, opened: Collection[str]) -> frozenset[str]:
        """Return the producers whose opening it waits for, given those that have opened."""
        missing = self.producers.difference(opened)
        return missing if len(self.producers) - len(missing) < self.opened else frozenset()


@dataclass(frozen=True, slots=True)
class Go:
    """The unit may start."""


@dataclass(frozen=True, slots=True)
class Wait:
    """The unit waits.

    Arguments:
        opening: the streamlets whose opening it waits for, sorted.
        ending: the streamlets whose end it waits for, sorted.
        since: when it began to wait, on the clock of `now`.
        until: when it fails, on the same clock; None for never.
        channels: the topics whose channels it waits for, sorted.
    """

    opening: tuple[str, ...]
    ending: tuple[str, ...]
    since: float
    until: float | None = None
    channels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The unit has waited for too long: the names of the producers that have not opened, and the limit in seconds."""

    missing: tuple[str, ...]
    within: float

    @property
    def cause(self) -> str:
        """The reason why the unit fails."""
        return f"{', '.join(self.missing)} did not open within {time_limit(self.within)}"


@dataclass(frozen=True, slots=True)
class Refused:
    """The unit has waited for too long for the channel of a topic.

    Arguments:
        topic: the topic.
        reason: why its channel does not accept records; empty if it has not answered.
        within: the limit in seconds.
    """

    topic: str
    reason: str
    within: float

    @property
    def cause(self) -> str:
        """The reason why the unit fails."""
        reason = self.reason or "it has not answered"
        return f"the channel of {self.topic} did not accept records within {time_limit(self.within)}: {reason}"


def outlet_gate(
    limits: Mapping[str, float], refusals: Mapping[str, str], *, since: float, now: float
) -> Go | Wait | Refused:
    """Return whether a unit may start whose inlets are open.

    Arguments:
        limits: how long it waits for the channel of each topic that it writes, in seconds.
        refusals: the topics whose channels have not accepted records since it began to wait, with their reasons; an
            empty reason for a channel that has not answered.
        since: when the unit began to wait for channels, in seconds on a monotonic clock.
        now: the time on the same clock.
    """
    if not refusals:
        return Go()
    topic = min(refusals, key=lambda topic: (limits[topic], topic))
    if since + limits[topic] <= now:
        return Refused(topic, refusals[topic], limits[topic])
    return Wait((), (), since, since + limits[topic], tuple(sorted(refusals)))


def gate(
    openings: Iterable[Opening], *, opened: Collection[str], ended: Collection[str], since: float, now: float
) -> Go | Wait | TimedOut:
    """Return whether the inlets of a unit are open.

    Arguments:
        openings: the requirements of its inlets.
        opened: the streamlets that have opened.
        ended: the streamlets that have ended.
        since: when the unit began to wait, in seconds on a monotonic clock.
        now: the time on the same clock.
    """
    opening_later: set[str] = set()
    ending_later: set[str] = set()
    limits: list[float] = []
    for opening in openings:
        missing = opening.missing(opened)
        if missing and opening.within is not None:
            if since + opening.within <= now:
                return TimedOut(tuple(sorted(missing)), opening.within)
            limits.append(since + opening.within)
        opening_later |= missing
        if opening.sequential and not missing:
            ending_later |= opening.producers.difference(ended)
    if not opening_later and not ending_later:
        return Go()
    return Wait(tuple(sorted(opening_later)), tuple(sorted(ending_later)), since, min(limits, default=None))
