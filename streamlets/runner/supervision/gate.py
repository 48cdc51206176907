"""`gate`: whether a unit may start, by what the inlets of its streamlet require of their producers."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass


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
    """

    opening: tuple[str, ...]
    ending: tuple[str, ...]
    since: float
    until: float | None = None


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The unit has waited for too long: the names of the producers that have not opened, and the limit in seconds."""

    missing: tuple[str, ...]
    within: float


def gate(
    openings: Iterable[Opening], *, opened: Collection[str], ended: Collection[str], since: float, now: float
) -> Go | Wait | TimedOut:
    """Return whether a unit may start.

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
