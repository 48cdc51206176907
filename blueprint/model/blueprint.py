"""The blueprint as data: streamlets, topics and port paths, each with the place where it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from blueprint.diagnostics import Span
from blueprint.hocon.values import ObjectValue, Value

Role = Literal["producer", "consumer"]

DEAD_LETTERS = "dead-letters"
"""The implicit outlet of a streamlet whose records may break a contract; it may stay unbound."""


def dead_letter_topic(streamlet: str) -> str:
    """The id of the topic that takes a streamlet's dead letters when the blueprint wires no other."""
    return f"{DEAD_LETTERS}.{streamlet}"


@dataclass(frozen=True, slots=True)
class PortPath:
    """An entry of `producers` or `consumers`. `streamlet` and `port` are empty when it is no `streamlet.port`."""

    text: str
    streamlet: str
    port: str
    span: Span

    @property
    def wellformed(self) -> bool:
        """Whether it names a streamlet and a port."""
        return bool(self.streamlet and self.port)


def port_path(text: str, span: Span) -> PortPath:
    """Read a port path: what stands in front of the last dot is the streamlet, what stands behind it the port."""
    parts = [part.strip() for part in text.strip().split(".")]
    if len(parts) < 2 or not all(parts):
        return PortPath(text, "", "", span)
    return PortPath(text, ".".join(parts[:-1]), parts[-1], span)


@dataclass(frozen=True, slots=True)
class StreamletEntry:
    """A streamlet of the blueprint.

    Arguments:
        ref: its name; key: where the name stands.
        class_name: its class as written; class_span: where.
        settings: what stands beside `class` in its block; None in the short form.
    """

    ref: str
    key: Span
    class_name: str
    class_span: Span
    settings: ObjectValue | None = None


@dataclass(frozen=True, slots=True)
class TopicEntry:
    """A topic of the blueprint; `settings` is what stands beside `producers` and `consumers`."""

    id: str
    key: Span
    producers: tuple[PortPath, ...]
    consumers: tuple[PortPath, ...]
    settings: ObjectValue

    @property
    def paths(self) -> tuple[tuple[Role, PortPath], ...]:
        """Producers, then consumers, with their role."""
        return (*(("producer", path) for path in self.producers), *(("consumer", path) for path in self.consumers))


@dataclass(frozen=True, slots=True)
class CycleStop:
    """An entry of `allow-cycles`: the streamlet that stops circles through it, and how, in the author's words."""

    streamlet: str
    how: str
    key: Span


@dataclass(frozen=True, slots=True)
class Blueprint:
    """A blueprint as written, as far as it can be read.

    Arguments:
        file: as the user would name it; folder: where modules and relative paths start from.
        cycle_stops: the streamlets that stop circles, by name; None when what is said of circles cannot be read, so
            that none can be told.
        settings: the `flow` section beside it.
        connections: the section of 1.x, when it is used.
        topics_broken: whether topics could not be read, so that missing connections prove nothing.
        broken: names of streamlets whose entries cannot be read; what refers to them is not questioned.
        twice: those of them that stand twice: one of the two may be the one that a path misses.
    """

    file: str
    folder: str
    streamlets: Mapping[str, StreamletEntry]
    topics: Mapping[str, TopicEntry]
    cycle_stops: Mapping[str, CycleStop] | None = field(default_factory=dict)
    settings: ObjectValue | None = None
    connections: Value | None = None
    topics_broken: bool = False
    broken: frozenset[str] = field(default_factory=frozenset)
    twice: frozenset[str] = field(default_factory=frozenset)
