"""The queries that a change affects: readers of an inlet, writers of an outlet, queries with state."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from blueprint.comparison.descriptor import DescribedQuery, DescribedStreamlet
from blueprint.comparison.stateful_operators import operator_phrases
from blueprint.spelling import listing

STATELESS_CLASSES = ("streamlets.Sink",)
"""Classes of the framework whose queries never keep state."""


def stateful(streamlet: DescribedStreamlet) -> bool | None:
    """Return whether a streamlet keeps state; None when not known."""
    return False if streamlet.class_name in STATELESS_CLASSES else streamlet.stateful


def moved(old: DescribedStreamlet, new: DescribedStreamlet) -> bool:
    """Return whether the class of a streamlet is only in another module, with the same name and ports."""
    same = old.class_name.rpartition(".")[2] == new.class_name.rpartition(".")[2]
    return same and set(old.inlets) == set(new.inlets) and set(old.outlets) == set(new.outlets)


def queries_of(ref: str, streamlet: DescribedStreamlet) -> tuple[str, ...]:
    """Return all queries of a streamlet as `streamlet.query`; only the streamlet when they are not known."""
    return _named(ref, streamlet, lambda name, query: True)


def keeping_state(ref: str, streamlet: DescribedStreamlet) -> tuple[str, ...]:
    """Return the queries of a streamlet that keep state or may do so."""
    return () if stateful(streamlet) is False else _named(ref, streamlet, lambda name, query: bool(query.operators))


def source_of(inlet: str) -> str:
    """Return the name of an inlet's source in a checkpoint unless the logic names it."""
    return inlet.replace("-", "_")


def reading(ref: str, streamlet: DescribedStreamlet, inlet: str) -> tuple[str, ...]:
    """Return the queries of a streamlet that read an inlet, or may: the logic may name its source differently."""
    source = source_of(inlet)
    named = any(source in (query.sources or ()) for query in (streamlet.queries or {}).values())
    return _named(ref, streamlet, lambda name, query: not named or query.sources is None or source in query.sources)


def writing(ref: str, streamlet: DescribedStreamlet, outlet: str) -> tuple[str, ...]:
    """Return the queries of a streamlet that are named after an outlet, the default in the logic."""
    return _named(ref, streamlet, lambda name, query: outlet in name.split("."))


def _named(ref: str, streamlet: DescribedStreamlet, selects: Callable[[str, DescribedQuery], bool]) -> tuple[str, ...]:
    if streamlet.queries is None:
        return (ref,)
    return tuple(f"{ref}.{name}" for name, query in sorted(streamlet.queries.items()) if selects(name, query))


def state_words(streamlet: DescribedStreamlet) -> str:
    """Return the stateful operators of a streamlet in words: `an aggregation and a stream-stream join`."""
    return operator_phrases([name for query in (streamlet.queries or {}).values() for name in query.operators])


def unlike(ref: str, queries: Iterable[str], old: DescribedStreamlet, new: DescribedStreamlet) -> tuple[str, ...]:
    """Return the queries that are not known to be in both versions with the same, named sources."""
    return tuple(
        query for query in queries
        if (before := _query(ref, query, old)) is None or before != _query(ref, query, new) or before.sources is None
    )  # fmt: skip


def missing(ref: str, queries: Iterable[str], new: DescribedStreamlet) -> tuple[str, ...]:
    """Return the queries that are not known to be in the newer version."""
    return tuple(query for query in queries if _query(ref, query, new) is None)


def _query(ref: str, path: str, streamlet: DescribedStreamlet) -> DescribedQuery | None:
    return (streamlet.queries or {}).get(path.removeprefix(f"{ref}."))


def names(queries: Iterable[str]) -> str:
    """Return queries in a sentence: `` `join.joined` and `join.late` ``."""
    return listing(queries)


UNKNOWN_STATE = (
    "the older descriptor does not contain whether it keeps state: one that `flow describe` writes next to the state "
    "directory of a run does"
)
"""A cause of all changes for which the worst case is assumed."""

PROCESS_FIRST = "process all available data first, with the old blueprint: `flow run --available-now`"
"""Help where unread records would be lost."""
