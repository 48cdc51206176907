"""What a place of a blueprint names: a streamlet, its class, a port, a topic or a setting."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from blueprint.diagnostics import Span
from blueprint.hocon.values import ObjectValue, Value
from cli.lsp.positions import Place

if TYPE_CHECKING:
    from blueprint.model.blueprint import PortPath, Role, StreamletEntry, TopicEntry
    from blueprint.model.draft import Draft


@dataclass(frozen=True, slots=True)
class StreamletName:
    """The name of a streamlet, where it is defined or in a port path."""

    ref: str
    span: Span


@dataclass(frozen=True, slots=True)
class ClassPath:
    """The class of a streamlet."""

    entry: StreamletEntry
    span: Span


@dataclass(frozen=True, slots=True)
class PortName:
    """The port of a port path."""

    path: PortPath
    role: Role
    span: Span


@dataclass(frozen=True, slots=True)
class TopicName:
    """The id of a topic, where it is defined."""

    topic: TopicEntry
    span: Span


@dataclass(frozen=True, slots=True)
class SettingValue:
    """A setting below `flow`, or in the block of a streamlet or topic: its keys, its value, and one of its places."""

    path: tuple[str, ...]
    value: Value
    span: Span


Target = StreamletName | ClassPath | PortName | TopicName | SettingValue


def target_at(draft: Draft, place: Place) -> Target | None:
    """Return the target at a place, None if the place has no meaning; a setting only if it is nothing else."""
    names = (target for target in _names(draft) if place.within(target.span))
    settings = (target for target in settings_of(draft.settings) if place.within(target.span))
    return next(names, None) or next(settings, None)


def _names(draft: Draft) -> Iterator[Target]:
    for entry in draft.blueprint.streamlets.values():
        yield StreamletName(entry.ref, entry.key)
        yield ClassPath(entry, entry.class_span)
    for topic in draft.blueprint.topics.values():
        yield TopicName(topic, topic.key)
        for role, path in topic.paths:
            if path.wellformed:
                streamlet, port = parts(path)
                yield StreamletName(path.streamlet, streamlet)
                yield PortName(path, role, port)


def parts(path: PortPath) -> tuple[Span, Span]:
    """Return the places of the streamlet and of the port in a port path."""
    span = path.span
    quotes = max(span.end_column - span.column - len(path.text), 0) // 2
    begin = span.column + quotes + len(path.text) - len(path.text.lstrip())
    dot = begin + path.text.strip().rindex(".")
    name = Span(span.file, span.line, begin, span.line, begin + len(path.streamlet))
    return name, Span(span.file, span.line, dot + 1, span.end_line, span.end_column - quotes)


def settings_of(value: ObjectValue, path: tuple[str, ...] = ()) -> Iterator[SettingValue]:
    """Yield every key that sets something, innermost last, with each of its places: first the keys, then the values."""
    for key, inner in value.fields.items():
        for origin in inner.origins:
            if origin.key is not None:
                yield SettingValue((*path, key), inner, origin.key)
            if not isinstance(inner, ObjectValue):
                yield SettingValue((*path, key), inner, origin.span)
        if isinstance(inner, ObjectValue):
            yield from settings_of(inner, (*path, key))
