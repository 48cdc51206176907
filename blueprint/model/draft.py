"""`Draft`: an application as far as it could be read, which the rules of verification check."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from blueprint.catalog import ChannelTraits, LoadFailure, StreamletDescriptor
from blueprint.diagnostics import Label, Span
from blueprint.hocon.values import ObjectValue, Value, key_span_of, span_of
from blueprint.model.blueprint import Blueprint
from blueprint.model.graph import ApplicationGraph
from blueprint.model.wiring import Wiring

_NOTHING = ObjectValue({}, ())


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """What the settings make of a topic, as far as rules ask.

    Arguments:
        name: its physical name; channel: what carries it; cluster: which brokers, "" for the usual ones.
        managed: whether the application creates and deletes it.
    """

    name: str
    channel: str
    managed: bool
    cluster: str = ""


@dataclass(frozen=True, slots=True)
class Draft:
    """An application under verification.

    Arguments:
        described: what the catalog said of each streamlet's class, by streamlet.
        settings: what blueprint, files and arguments together say under `flow`.
        topics: what that makes of each topic, by id.
        channels: the channels there are, by name.
        unused: finds the streamlet classes of the project that are not among those given, and where they are.
    """

    blueprint: Blueprint
    described: Mapping[str, StreamletDescriptor | LoadFailure]
    wiring: Wiring
    graph: ApplicationGraph
    settings: ObjectValue = _NOTHING
    topics: Mapping[str, TopicFacts] = field(default_factory=dict)
    channels: Mapping[str, ChannelTraits] = field(default_factory=dict)
    unused: Callable[[Collection[str]], Iterable[tuple[str, Span]]] = field(default=lambda used: ())

    def descriptor(self, ref: str) -> StreamletDescriptor | None:
        """The descriptor of a streamlet; None when its class gives none or it does not exist."""
        described = self.described.get(ref)
        return described if isinstance(described, StreamletDescriptor) else None

    def declared(self, ref: str, place: Span, message: str) -> tuple[Label, ...]:
        """A label in a streamlet's class; none in the framework's own, whose source says nothing to a user."""
        entry = self.blueprint.streamlets.get(ref)
        ours = entry is not None and entry.class_name.startswith("streamlets.")
        return () if ours else (Label(place, message),)

    def given(self, ref: str, section: str) -> Mapping[str, Value]:
        """What the settings give a streamlet in a section such as `parameters`, by key; null counts as not given."""
        value = self.settings.get("streamlets", ref, section)
        return value.fields if isinstance(value, ObjectValue) else {}

    def topic_setting(self, id: str, *path: str) -> Value | None:
        """A setting of a topic, None when it is not set."""
        return self.settings.get("topics", id, *path)

    def topic_span(self, id: str, *path: str) -> Span:
        """Where a setting of a topic stands; the topic's own place when it is not set."""
        value = self.topic_setting(id, *path)
        return span_of(value) if value is not None else self.blueprint.topics[id].key

    def topic_key(self, id: str, *path: str) -> Span:
        """Where the key of a topic's setting stands; the topic's own place when it is not set."""
        value = self.topic_setting(id, *path)
        return key_span_of(value) if value is not None else self.blueprint.topics[id].key
