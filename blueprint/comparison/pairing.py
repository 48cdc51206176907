"""Match the streamlets, ports and topics of an older and a newer descriptor, by name or similarity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from blueprint.comparison.descriptor import ApplicationDescriptor, DescribedStreamlet, Port

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Pairing:
    """The streamlets, ports and topics that are in both descriptors.

    Arguments:
        old: the older descriptor.
        new: the newer descriptor.
        streamlets: the newer name by the older one.
        topics: the newer id by the older one.
        inlets: by the older name of a streamlet, the newer names of its inlets by the older ones.
        outlets: likewise, the names of its outlets.
    """

    old: ApplicationDescriptor
    new: ApplicationDescriptor
    streamlets: Mapping[str, str]
    topics: Mapping[str, str]
    inlets: Mapping[str, Mapping[str, str]]
    outlets: Mapping[str, Mapping[str, str]]

    @property
    def old_topics(self) -> Mapping[str, str]:
        """Return the older ids of topics by the newer ones."""
        return {now: before for before, now in self.topics.items()}

    @property
    def kept(self) -> Iterable[tuple[str, DescribedStreamlet, DescribedStreamlet]]:
        """Return the streamlets that are in both under the same name: name, older, newer."""
        return [
            (ref, self.old.streamlets[ref], self.new.streamlets[ref])
            for ref, now in sorted(self.streamlets.items())
            if ref == now
        ]

    def same_topic(self, before: str, now: str) -> bool:
        """Return whether a topic of the older descriptor is matched with a topic of the newer one."""
        return self.topics.get(before) == now


def paired(old: ApplicationDescriptor, new: ApplicationDescriptor) -> Pairing:
    """Match two descriptors.

    Equal names match first. Of the rest, topics match by place or by ports, streamlets by class or wiring, and ports of
    a streamlet by topic.
    """
    topics = _alike(
        old.topics,
        new.topics,
        (
            lambda before, now: old.topics[before].place == new.topics[now].place,
            lambda before, now: _ports(old, before) == _ports(new, now) != set(),
        ),
    )
    streamlets = _alike(
        old.streamlets,
        new.streamlets,
        (
            lambda before, now: (
                old.streamlets[before].class_name == new.streamlets[now].class_name
                and _wiring(old.streamlets[before], topics) == _wiring(new.streamlets[now], None)
            ),
            lambda before, now: old.streamlets[before].class_name == new.streamlets[now].class_name,
            lambda before, now: (
                bool(_wiring(old.streamlets[before], topics))
                and _wiring(old.streamlets[before], topics) == _wiring(new.streamlets[now], None)
            ),
        ),
    )
    inlets, outlets = {}, {}
    for before, now in streamlets.items():
        inlets[before] = _paired_ports(old.streamlets[before].inlets, new.streamlets[now].inlets, topics)
        outlets[before] = _paired_ports(old.streamlets[before].outlets, new.streamlets[now].outlets, topics)
    return Pairing(old, new, streamlets, topics, inlets, outlets)


def _paired_ports(old: Mapping[str, Port], new: Mapping[str, Port], topics: Mapping[str, str]) -> dict[str, str]:
    return _alike(old, new, (lambda before, now: topics.get(old[before].topic) == new[now].topic,))


def _alike(old: Iterable[str], new: Iterable[str], tests: Iterable[Callable[[str, str], bool]]) -> dict[str, str]:
    """Match equal names, then, for each test in turn, the remaining names that pass it with exactly one other."""
    removed, added = set(old), set(new)
    pairs = {name: name for name in removed & added}
    removed, added = removed - added, added - removed
    for test in tests:
        matches = [(before, now) for before in sorted(removed) for now in sorted(added) if test(before, now)]
        befores, nows = Counter(before for before, _ in matches), Counter(now for _, now in matches)
        for before, now in matches:
            if befores[before] == nows[now] == 1:
                pairs[before] = now
                removed.discard(before)
                added.discard(now)
    return pairs


def _ports(descriptor: ApplicationDescriptor, topic: str) -> set[tuple[str, str, str]]:
    readers = {("in", ref, name) for ref, name in descriptor.inlets_of(topic)}
    return readers | {("out", ref, name) for ref, name in descriptor.outlets_of(topic)}


def _wiring(streamlet: DescribedStreamlet, topics: Mapping[str, str] | None) -> set[tuple[str, str, str | None]]:
    """Return the ports with their topics, by the ids of the newer descriptor."""
    sides = (("in", streamlet.inlets), ("out", streamlet.outlets))
    return {
        (side, name, port.topic if topics is None else topics.get(port.topic))
        for side, ports in sides
        for name, port in ports.items()
    }
