"""The blueprint as data: streamlets, topics and port paths, each with its place in the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from blueprint.diagnostics import Span
from blueprint.hocon.values import ObjectValue, Scalar, Value

Role = Literal["producer", "consumer"]

DEAD_LETTERS = "dead-letters"
"""The implicit outlet of a streamlet whose records may break a contract; it need not be connected to a topic."""


def dead_letter_topic(streamlet: str) -> str:
    """Return the id of the topic of a streamlet's dead letters, unless the blueprint connects them to another."""
    return f"{DEAD_LETTERS}.{streamlet}"


def task_topic(streamlet: str) -> str:
    """Return the id of the topic of the tasks of a batch source."""
    return f"tasks.{streamlet}"


@dataclass(frozen=True, slots=True)
class PortPath:
    """An entry of `producers` or `consumers`. `streamlet` and `port` are empty unless it is `streamlet.port`."""

    text: str
    streamlet: str
    port: str
    span: Span

    @property
    def wellformed(self) -> bool:
        """Whether the path has a streamlet and a port."""
        return bool(self.streamlet and self.port)


def port_path(text: str, span: Span) -> PortPath:
    """Parse a port path: the part before the last dot is the streamlet, the part after it the port."""
    parts = [part.strip() for part in text.strip().split(".")]
    if len(parts) < 2 or not all(parts):
        return PortPath(text, "", "", span)
    return PortPath(text, ".".join(parts[:-1]), parts[-1], span)


@dataclass(frozen=True, slots=True)
class StreamletEntry:
    """A streamlet of the blueprint.

    Arguments:
        ref: its name.
        key: the place of the name.
        class_name: its class as written.
        class_span: the place of the class.
        settings: the other keys of its block; None in the short form.
    """

    ref: str
    key: Span
    class_name: str
    class_span: Span
    settings: ObjectValue | None = None


@dataclass(frozen=True, slots=True)
class TopicEntry:
    """A topic of the blueprint; `settings` has the keys of its block other than `producers` and `consumers`."""

    id: str
    key: Span
    producers: tuple[PortPath, ...]
    consumers: tuple[PortPath, ...]
    settings: ObjectValue

    @property
    def paths(self) -> tuple[tuple[Role, PortPath], ...]:
        """The paths of producers, then of consumers, with their role."""
        return (*(("producer", path) for path in self.producers), *(("consumer", path) for path in self.consumers))


@dataclass(frozen=True, slots=True)
class CycleStop:
    """An entry of `allow-cycles`: a streamlet that stops cycles.

    Arguments:
        streamlet: its name.
        how: how it stops a cycle, as the author describes it.
        key: the place of the name.
        records: the condition under which its records return into the cycle, a SQL expression; None without one.
        otherwise: the name of the outlet for the other records; None for the dead letters.
    """

    streamlet: str
    how: str
    key: Span
    records: Scalar | None = None
    otherwise: Scalar | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Blueprint:
    """A blueprint as written, without the parts that cannot be read.

    Arguments:
        file: its name in findings.
        directory: the directory that modules and relative paths start from.
        streamlets: by name.
        topics: by id.
        cycle_stops: the streamlets that stop cycles, by name; None when `allow-cycles` cannot be read, so that cycles
            cannot be reported.
        settings: the `flow` section of the same tree.
        connections: the section `connections` of 1.x, if there is one.
        topics_broken: whether some topics could not be read, so that missing connections prove nothing.
        broken: names of streamlets whose entries cannot be read; references to them are not checked.
        twice: names that are defined twice: a path may refer to either.
    """

    file: str
    directory: str
    streamlets: Mapping[str, StreamletEntry]
    topics: Mapping[str, TopicEntry]
    cycle_stops: Mapping[str, CycleStop] | None = field(default_factory=dict)
    settings: ObjectValue | None = None
    connections: Value | None = None
    topics_broken: bool = False
    broken: frozenset[str] = field(default_factory=frozenset)
    twice: frozenset[str] = field(default_factory=frozenset)
