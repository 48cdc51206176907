"""`Executors`: the executors of a Spark of a run, as part of the status."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Executors:
    """The executors of a Spark on a cluster; all times are in seconds since the epoch.

    Arguments:
        streamlets: the streamlets whose tasks run on them.
        number: how many exist.
        cores: the number of tasks that run on all of them at the same time.
        lost: how many were lost since this Spark was started.
        missing_since: since when none exists; None if one does.
        master_lost_since: since when the master does not answer; None if it does, or if that is not known.
    """

    streamlets: tuple[str, ...]
    number: int = 0
    cores: int = 0
    lost: int = 0
    missing_since: float | None = None
    master_lost_since: float | None = None


def of_streamlets(all: Iterable[Executors], streamlets: tuple[str, ...]) -> Executors:
    """Return the executors of some streamlets, which have the same Spark."""
    known = (executors for executors in all if executors.streamlets == streamlets)
    return next(known, Executors(streamlets=streamlets))


def with_executors(all: Iterable[Executors], changed: Executors) -> tuple[Executors, ...]:
    """Return the executors of all Sparks after a change of one of them."""
    return (*without(all, changed.streamlets), changed)


def without(all: Iterable[Executors], streamlets: Iterable[str]) -> tuple[Executors, ...]:
    """Return the executors of all Sparks, without the Spark of some streamlets, which has exited."""
    ended = set(streamlets)
    return tuple(executors for executors in all if not ended & set(executors.streamlets))
