"""What a change does to a streamlet's queries: which read an inlet, which write an outlet, which keep state."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from blueprint.comparison.descriptor import DescribedQuery, DescribedStreamlet
from blueprint.comparison.stateful_operators import operator_phrases
from blueprint.spelling import listing

STATELESS_CLASSES = ("streamlets.Sink",)
"""Classes of the framework whose queries never keep state."""


def stateful(streamlet: DescribedStreamlet) -> bool | None:
    """Return whether a streamlet keeps state; None when that is not known."""
    return False if streamlet.class_name in STATELESS_CLASSES else streamlet.stateful


def queries_of(ref: str, streamlet: DescribedStreamlet) -> tuple[str, ...]:
    """Return all its queries as `streamlet.query`; the streamlet alone where they are not known."""
    return _named(ref, streamlet, lambda name, query: True)


def keeping_state(ref: str, streamlet: DescribedStreamlet) -> tuple[str, ...]:
    """Its queries that keep state, or may."""
    return () if stateful(streamlet) is False else _named(ref, streamlet, lambda name, query: bool(query.operators))


def source_of(inlet: str) -> str:
    """Return what an inlet's source is called in a checkpoint unless the logic says otherwise."""
    return inlet.replace("-", "_")


def reading(ref: str, streamlet: DescribedStreamlet, inlet: str) -> tuple[str, ...]:
    """Its queries that read an inlet, or may: the logic may call its source otherwise."""
    source = source_of(inlet)
    told = any(source in (query.sources or ()) for query in (streamlet.queries or {}).values())
    return _named(ref, streamlet, lambda name, query: not told or query.sources is None or source in query.sources)


def writing(ref: str, streamlet: DescribedStreamlet, outlet: str) -> tuple[str, ...]:
    """Its queries that are named after an outlet, as they are unless the logic names them otherwise."""
    return _named(ref, streamlet, lambda name, query: outlet in name.split("."))


def _named(ref: str, streamlet: DescribedStreamlet, wanted: Callable[[str, DescribedQuery], bool]) -> tuple[str, ...]:
    if streamlet.queries is None:
        return (ref,)
    return tuple(f"{ref}.{name}" for name, query in sorted(streamlet.queries.items()) if wanted(name, query))


def state_words(streamlet: DescribedStreamlet) -> str:
    """Return what its state is for: `an aggregation and a stream-stream join`."""
    return operator_phrases([name for query in (streamlet.queries or {}).values() for name in query.operators])


def unlike(ref: str, queries: Iterable[str], old: DescribedStreamlet, new: DescribedStreamlet) -> tuple[str, ...]:
    """Return those of some queries that are not known to be in both, with the same sources, where they are named."""
    return tuple(
        query for query in queries
        if (before := _query(ref, query, old)) is None or before != _query(ref, query, new) or before.sources is None
    )  # fmt: skip


def gone(ref: str, queries: Iterable[str], new: DescribedStreamlet) -> tuple[str, ...]:
    """Return those of some queries that are not known to be there still."""
    return tuple(query for query in queries if _query(ref, query, new) is None)


def _query(ref: str, path: str, streamlet: DescribedStreamlet) -> DescribedQuery | None:
    return (streamlet.queries or {}).get(path.removeprefix(f"{ref}."))


def names(queries: Iterable[str]) -> str:
    """Queries in a sentence: `` `join.joined` `` or `` `join` and its queries``."""
    return listing(queries)


UNKNOWN_STATE = (
    "whether it keeps state is not known to the older descriptor: one that `flow describe` writes beside the state "
    "folder of a run tells"
)
"""A cause wherever a change is judged for the worst case."""
