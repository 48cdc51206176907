"""The results of a comparison of two descriptors: changes, each with a class that states what it requires."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass


class ChangeClass(enum.Enum):
    """What a change requires, from the mildest to the strongest. Allowing a class allows the milder ones."""

    SAFE = "safe"
    NEW_RECORDS = "new-records"
    READERS_FIRST = "readers-first"
    WRITERS_FIRST = "writers-first"
    DRAIN = "drain"
    UNKNOWN = "unknown"
    STATE_LOSS = "state-loss"
    BREAKING = "breaking"

    @property
    def rank(self) -> int:
        """Return the position in the order, 0 for the mildest."""
        return _ORDER.index(self)

    @property
    def words(self) -> str:
        """Return the requirement as the beginning of a sentence."""
        return _WORDS[self]


_ORDER = tuple(ChangeClass)

_WORDS = {
    ChangeClass.SAFE: "safe at any time",
    ChangeClass.NEW_RECORDS: "applies to new records only",
    ChangeClass.READERS_FIRST: "safe once the readers are upgraded",
    ChangeClass.WRITERS_FIRST: "safe once the writers are upgraded",
    ChangeClass.DRAIN: "requires a drain first",
    ChangeClass.UNKNOWN: "cannot be compared",
    ChangeClass.STATE_LOSS: "loses a checkpoint or its state",
    ChangeClass.BREAKING: "breaks readers of records already in a topic",
}


@dataclass(frozen=True, slots=True)
class Change:
    """One difference between two descriptors of an application.

    Arguments:
        code: the kind of change, as in `diagnostics.codes`.
        needs: its class.
        headline: one sentence that can be read alone, with names in back-quotes and without a full stop.
        path: its place in the newer descriptor, as keys from the root, such as `("streamlets", "join", "class")`; ()
            when it has no place there.
        before: its place in the older descriptor, likewise.
        queries: the queries that lose their checkpoint or state, as `streamlet.query`; only `streamlet` when its
            queries are not known.
        causes: the reasons for its class, one sentence each.
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
    """Return the strongest class of some changes; safe when there are none."""
    return max((change.needs for change in changes), key=lambda needs: needs.rank, default=ChangeClass.SAFE)
