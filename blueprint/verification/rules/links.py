"""Missing links: unconnected ports, with the topic or ports they should probably be connected to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from blueprint.avro.model import Contract
from blueprint.avro.resolution.checking import check
from blueprint.catalog import TopicSettings
from blueprint.model.blueprint import DEAD_LETTERS, TopicEntry
from blueprint.model.draft import Draft
from blueprint.model.wiring import PortKey


@dataclass(frozen=True, slots=True)
class MissingLink:
    """An unconnected port.

    Arguments:
        port: the port.
        topic: a topic with the same records that has no other port of this direction; None when there is no such topic.
        inlets: other unconnected ports that a missing topic would connect to this outlet.
    """

    port: PortKey
    topic: str | None = None
    inlets: tuple[PortKey, ...] = ()


def missing_links(draft: Draft) -> tuple[MissingLink, ...]:
    """Return every unconnected port in one link: to omit a topic, or one side of it, is one mistake."""
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
            joined = tuple(inlet for inlet in inlets if _joins(draft, key, inlet))
            inlets = [inlet for inlet in inlets if inlet not in joined]
            yield MissingLink(key, inlets=joined)
    yield from map(MissingLink, inlets)


def is_half(entry: TopicEntry, facts: TopicSettings | None) -> bool:
    """Return whether a topic that the application manages has producers only, or consumers only."""
    return bool(entry.producers) != bool(entry.consumers) and (facts is None or facts.managed)


def _fits(draft: Draft, key: PortKey, entry: TopicEntry) -> bool:
    """Return whether a topic has ports of the other direction only, and their records fit the port."""
    paths = entry.consumers if key.role == "producer" else entry.producers
    if not paths or (entry.producers and entry.consumers):
        return False
    role = "consumer" if key.role == "producer" else "producer"
    others = [PortKey(path.streamlet, role, path.port) for path in paths]  # type: ignore[arg-type]
    if key.role == "producer":
        return any(_joins(draft, key, other) for other in others)
    return any(_joins(draft, other, key) for other in others)


def _joins(draft: Draft, outlet: PortKey, inlet: PortKey) -> bool:
    """Return whether an inlet of another streamlet can read what the outlet writes, and the record names are equal."""
    writer, reader = _contract(draft, outlet), _contract(draft, inlet)
    if writer is None or reader is None or outlet.streamlet == inlet.streamlet:
        return False
    return writer.record.name == reader.record.name and check(writer, reader, suggest=False).compatible


def _contract(draft: Draft, key: PortKey) -> Contract | None:
    port = draft.wiring.ports.get(key)
    return port.contract if port is not None else None
