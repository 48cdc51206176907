"""Which streamlet, port and topic of the older descriptor is which of the newer one, when names have changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from blueprint.comparison.descriptor import ApplicationDescriptor, DescribedStreamlet, Port

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Pairing:
    """What is the same thing in both.

    Arguments:
        streamlets: the newer name by the older one.
        topics: likewise, by id.
        inlets, outlets: by the older name of the streamlet, its ports, the newer name by the older one.
    """

    old: ApplicationDescriptor
    new: ApplicationDescriptor
    streamlets: Mapping[str, str]
    topics: Mapping[str, str]
    inlets: Mapping[str, Mapping[str, str]]
    outlets: Mapping[str, Mapping[str, str]]

    @property
    def old_topics(self) -> Mapping[str, str]:
        """Return the older id of a topic by the newer one."""
        return {now: before for before, now in self.topics.items()}

    @property
    def kept(self) -> Iterable[tuple[str, DescribedStreamlet, DescribedStreamlet]]:
        """Streamlets that are in both under one name: name, older, newer."""
        return [
            (ref, self.old.streamlets[ref], self.new.streamlets[ref])
            for ref, now in sorted(self.streamlets.items())
            if ref == now
        ]

    def same_topic(self, before: str, now: str) -> bool:
        """Return whether a topic of the older descriptor is that of the newer one, whatever it is called."""
        return self.topics.get(before) == now


def paired(old: ApplicationDescriptor, new: ApplicationDescriptor) -> Pairing:
    """Pair what has one name; of the rest what is alike: topics of one place or with the same ports, streamlets of one
    class, ports of one streamlet on one topic."""
    topics = _alike(
        old.topics,
        new.topics,
        (
            lambda one, other: old.topics[one].place == new.topics[other].place,
            lambda one, other: _ports(old, one) == _ports(new, other) != set(),
        ),
    )
    streamlets = _alike(
        old.streamlets,
        new.streamlets,
        (
            lambda one, other: (
                old.streamlets[one].class_name == new.streamlets[other].class_name
                and _wiring(old.streamlets[one], topics) == _wiring(new.streamlets[other], None)
            ),
            lambda one, other: old.streamlets[one].class_name == new.streamlets[other].class_name,
            lambda one, other: (
                bool(_wiring(old.streamlets[one], topics))
                and _wiring(old.streamlets[one], topics) == _wiring(new.streamlets[other], None)
            ),
        ),
    )
    inlets, outlets = {}, {}
    for before, now in streamlets.items():
        one, other = old.streamlets[before], new.streamlets[now]
        inlets[before] = _paired_ports(one.inlets, other.inlets, topics)
        outlets[before] = _paired_ports(one.outlets, other.outlets, topics)
    return Pairing(old, new, streamlets, topics, inlets, outlets)


def _paired_ports(old: Mapping[str, Port], new: Mapping[str, Port], topics: Mapping[str, str]) -> dict[str, str]:
    return _alike(old, new, (lambda one, other: topics.get(old[one].topic) == new[other].topic,))


def _alike(old: Iterable[str], new: Iterable[str], tests: Iterable[Callable[[str, str], bool]]) -> dict[str, str]:
    """Names in both, then for each test in turn those left that pass it with one other only."""
    left, right = set(old), set(new)
    pairs = {name: name for name in left & right}
    left, right = left - right, right - left
    for test in tests:
        found = [(one, other) for one in sorted(left) for other in sorted(right) if test(one, other)]
        for one, other in found:
            alone = sum(one == each for each, _ in found) == 1 and sum(other == each for _, each in found) == 1
            if alone:
                pairs[one] = other
                left.discard(one)
                right.discard(other)
    return pairs


def _ports(descriptor: ApplicationDescriptor, topic: str) -> set[tuple[str, str, str]]:
    readers = {("in", ref, name) for ref, name in descriptor.inlets_of(topic)}
    return readers | {("out", ref, name) for ref, name in descriptor.outlets_of(topic)}


def _wiring(streamlet: DescribedStreamlet, topics: Mapping[str, str] | None) -> set[tuple[str, str, str | None]]:
    """Ports with their topics, called as in the newer descriptor."""
    sides = (("in", streamlet.inlets), ("out", streamlet.outlets))
    return {
        (side, name, port.topic if topics is None else topics.get(port.topic))
        for side, ports in sides
        for name, port in ports.items()
    }
