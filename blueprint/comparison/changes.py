"""What a comparison of two descriptors finds: changes, each of a class that says what it takes to make it."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass


class ChangeClass(enum.Enum):
    """What a change takes, the mildest first; allowing one allows those before it."""

    SAFE = "safe"
    READERS_FIRST = "readers-first"
    WRITERS_FIRST = "writers-first"
    DRAIN = "drain"
    STATE_LOSS = "state-loss"
    BREAKING = "breaking"

    @property
    def rank(self) -> int:
        """0 for the mildest."""
        return _ORDER.index(self)

    @property
    def words(self) -> str:
        """Return what it takes, as a sentence begins."""
        return _WORDS[self]


_ORDER = tuple(ChangeClass)

_WORDS = {
    ChangeClass.SAFE: "safe at any time",
    ChangeClass.READERS_FIRST: "safe once the readers are upgraded",
    ChangeClass.WRITERS_FIRST: "safe once the writers are upgraded",
    ChangeClass.DRAIN: "needs a drain before it",
    ChangeClass.STATE_LOSS: "loses a checkpoint or its state",
    ChangeClass.BREAKING: "breaks readers of records already in a topic",
}


@dataclass(frozen=True, slots=True)
class Change:
    """One difference between two descriptors of an application.

    Arguments:
        code: what kind of change, as in `diagnostics.codes`.
        needs: its class.
        headline: one sentence that can be read alone; names stand in back-quotes; no full stop.
        path: where it is in the newer descriptor: keys from its root, such as `("streamlets", "join", "class")`;
            () when it has no place there.
        before: where it was in the older one, likewise.
        queries: the queries that lose their checkpoint or state, as `streamlet.query`; only `streamlet` where its
            queries are not known.
        causes: why it is of its class, one sentence each.
        help: what to do, one sentence each.
    """

    code: str
    needs: ChangeClass
    headline: str
    path: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    help: tuple[str, ...] = ()


def worst(changes: Iterable[Change]) -> ChangeClass:
    """Return the class of the change that takes most; safe when there is none."""
    return max((change.needs for change in changes), key=lambda needs: needs.rank, default=ChangeClass.SAFE)
