"""Missing links: ports bound to no topic, with what they were most probably meant to be joined to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from blueprint.catalog import PortDescriptor
from blueprint.model import DEAD_LETTERS, TopicEntry
from blueprint.rules.draft import Draft, TopicFacts
from blueprint.wiring import PortKey


@dataclass(frozen=True, slots=True)
class MissingLink:
    """A port bound to no topic.

    Arguments:
        topic: one without that side, which carries the port's records; None when there is none.
        inlets: further unbound ports that one missing topic would join to this outlet.
    """

    port: PortKey
    topic: str | None = None
    inlets: tuple[PortKey, ...] = ()


def missing_links(draft: Draft) -> tuple[MissingLink, ...]:
    """Every unbound port in one link: it is one mistake to leave out a topic, or one side of it."""
    if draft.blueprint.topics_broken:
        return ()
    free = [key for key in draft.wiring.unconnected if key.port != DEAD_LETTERS]
    return tuple(_links(draft, free)) if free else ()


def _links(draft: Draft, free: list[PortKey]) -> Iterator[MissingLink]:
    halves = [entry for entry in draft.blueprint.topics.values() if is_half(entry, draft.topics.get(entry.id))]
    lone: list[PortKey] = []
    for key in free:
        topic = next((entry.id for entry in halves if _fits(draft, key, entry)), None)
        if topic is not None:
            yield MissingLink(key, topic)
        else:
            lone.append(key)
    inlets = [key for key in lone if key.role == "consumer"]
    for key in lone:
        if key.role == "producer":
            joined = tuple(inlet for inlet in inlets if _same_record(draft, key, inlet))
            inlets = [inlet for inlet in inlets if inlet not in joined]
            yield MissingLink(key, inlets=joined)
    yield from map(MissingLink, inlets)


def is_half(entry: TopicEntry, facts: TopicFacts | None) -> bool:
    """Whether a topic of the application has one side only."""
    return bool(entry.producers) != bool(entry.consumers) and (facts is None or facts.managed)


def _fits(draft: Draft, key: PortKey, entry: TopicEntry) -> bool:
    """Whether a topic lacks the port's side, and its other side has the same records."""
    paths = entry.consumers if key.role == "producer" else entry.producers
    if not paths or (entry.producers and entry.consumers):
        return False
    role = "consumer" if key.role == "producer" else "producer"
    others = [PortKey(path.streamlet, role, path.port) for path in paths]  # type: ignore[arg-type]
    return any(_same_record(draft, key, other) for other in others)


def _same_record(draft: Draft, one: PortKey, two: PortKey) -> bool:
    first, second = _record(draft.wiring.ports.get(one)), _record(draft.wiring.ports.get(two))
    return first is not None and first == second


def _record(port: PortDescriptor | None) -> str | None:
    return port.contract.record.name if port is not None and port.contract is not None else None
