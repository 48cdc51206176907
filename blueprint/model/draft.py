"""`Draft`: the parts of an application that could be read. The rules of verification check it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from blueprint.catalog import ChannelTraits, LoadFailure, StreamletDescriptor, TopicSettings
from blueprint.diagnostics import Diagnostic, Label, Span
from blueprint.hocon.values import ObjectValue, Value, key_span_of, span_of
from blueprint.model.blueprint import Blueprint
from blueprint.model.graph import ApplicationGraph
from blueprint.model.wiring import Wiring
from blueprint.setting import SettingNode

_NOTHING = ObjectValue({}, ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """An application under verification.

    Arguments:
        blueprint: as written.
        described: the catalog's description of each streamlet's class, by streamlet.
        wiring: the port paths, resolved.
        graph: of streamlets and topics.
        settings: the `flow` section, merged from blueprint, files and arguments.
        topics: the settings of the blueprint's topics, by id.
        dead_letters: the settings of the dead-letter topics that the blueprint does not connect, by streamlet.
        channels: the traits of all channels, by name.
        known: the settings that the application may have, as a tree.
        misfits: what is wrong with the keys and types of settings; rules that need valid settings are silent if there
            is anything.
        state_root: the directory of `--state-dir`; None for the one next to the blueprint.
        secrets: the values of the secrets in the configuration.
        unused: returns the streamlet classes of the project that are not in a collection, and their places.
    """

    blueprint: Blueprint
    described: Mapping[str, StreamletDescriptor | LoadFailure]
    wiring: Wiring
    graph: ApplicationGraph
    settings: ObjectValue = _NOTHING
    topics: Mapping[str, TopicSettings] = field(default_factory=dict)
    dead_letters: Mapping[str, TopicSettings] = field(default_factory=dict)
    channels: Mapping[str, ChannelTraits] = field(default_factory=dict)
    known: SettingNode = field(default_factory=SettingNode)
    misfits: tuple[Diagnostic, ...] = ()
    state_root: Path | None = None
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    unused: Callable[[Collection[str]], Iterable[tuple[str, Span]]] = field(default=lambda used: ())

    def descriptor(self, ref: str) -> StreamletDescriptor | None:
        """Return the descriptor of a streamlet; None when it does not exist or its class cannot be described."""
        described = self.described.get(ref)
        return described if isinstance(described, StreamletDescriptor) else None

    def descriptors(self) -> Iterator[tuple[str, StreamletDescriptor]]:
        """Yield the streamlets whose classes can be described, in the order of the blueprint."""
        for ref, described in self.described.items():
            if isinstance(described, StreamletDescriptor):
                yield ref, described

    def classes(self) -> Iterator[tuple[StreamletDescriptor, tuple[str, ...]]]:
        """Yield a descriptor of each class, and the streamlets that are instances of it."""
        instances: dict[str, tuple[StreamletDescriptor, list[str]]] = {}
        for ref, descriptor in self.descriptors():
            instances.setdefault(descriptor.class_name, (descriptor, []))[1].append(ref)
        for descriptor, refs in instances.values():
            yield descriptor, tuple(refs)

    def declared(self, ref: str, place: Span, message: str) -> tuple[Label, ...]:
        """Return a label in a streamlet's class; none in a class of the framework, whose source users do not know."""
        entry = self.blueprint.streamlets.get(ref)
        in_framework = entry is not None and entry.class_name.startswith("streamlets.")
        return () if in_framework else (Label(place, message),)

    def section(self, ref: str, name: str) -> Mapping[str, Value]:
        """Return a section of a streamlet's settings, such as `parameters`, by key."""
        value = self.settings.get("streamlets", ref, name)
        return value.fields if isinstance(value, ObjectValue) else {}

    def topic_setting(self, id: str, *path: str) -> Value | None:
        """Return a setting of a topic, None when it is not set."""
        return self.settings.get("topics", id, *path)

    def topic_span(self, id: str, *path: str) -> Span:
        """Return the place of a topic's setting; the place of the topic if it is not set."""
        value = self.topic_setting(id, *path)
        return span_of(value) if value is not None else self.blueprint.topics[id].key

    def topic_key(self, id: str, *path: str) -> Span:
        """Return the place of the key of a topic's setting; the place of the topic if it is not set."""
        value = self.topic_setting(id, *path)
        return key_span_of(value) if value is not None else self.blueprint.topics[id].key
