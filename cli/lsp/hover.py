"""What a place of a blueprint means, as Markdown: classes, schemas, and the effective values of settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from blueprint.catalog import StreamletDescriptor
from blueprint.diagnostics import Sources, Span
from blueprint.hocon.values import Scalar, Value
from blueprint.known_keys import KnownKey
from blueprint.model.blueprint import TopicEntry
from blueprint.model.draft import Draft
from blueprint.model.wiring import PortKey
from blueprint.settings.secrets import shown_default
from blueprint.settings.setting_sources import SettingSource, setting_sources
from cli.lsp.positions import Place
from cli.lsp.schemas import table, title
from cli.lsp.targets import ClassPath, PortName, SettingValue, StreamletName, TopicName, target_at


def hover_at(
    draft: Draft, sources: Sources, place: Place, known_keys: Callable[[str], Iterable[KnownKey]]
) -> tuple[str, Span] | None:
    """Return the description of the target at a place as Markdown, and the target's span.

    Arguments:
        draft: the application.
        sources: the texts that its places point into.
        place: the place.
        known_keys: returns the keys and values that the parameters of a streamlet may have, beyond its declarations.
    """
    target = target_at(draft, place)
    match target:
        case None:
            return None
        case StreamletName(ref):
            lines = [*_streamlet(draft, ref), *_values(draft, sources, ("streamlets", ref))]
        case ClassPath(entry):
            lines = list(_streamlet(draft, entry.ref))
        case PortName(path, role):
            port = draft.wiring.ports.get(PortKey(path.streamlet, role, path.port))
            noun = "outlet" if role == "producer" else "inlet"
            lines = [f"**{path.streamlet}.{path.port}**, {noun}", "", table(port.contract if port else None)]
        case TopicName(topic):
            lines = [*_topic(draft, topic), *_values(draft, sources, ("topics", topic.id))]
        case SettingValue(path, value):
            lines = list(_setting(draft, sources, path))
            if path[0] == "streamlets" and path[2:3] == ("parameters",):
                lines[1:1] = _inner(known_keys(path[1]), path[3:], value)
    return "\n".join(lines), target.span


def _streamlet(draft: Draft, ref: str) -> Iterator[str]:
    descriptor = draft.descriptor(ref)
    entry = draft.blueprint.streamlets.get(ref)
    yield f"**{ref}**, streamlet of the class `{entry.class_name if entry else '?'}`"
    if descriptor is None:
        return
    yield f"\n{descriptor.description}\n"
    for noun, ports in (("inlet", descriptor.inlets), ("outlet", descriptor.outlets)):
        yield from (f"* {noun} `{port.name}`: {title(port.contract) or 'no schema'}" for port in ports)


def _topic(draft: Draft, topic: TopicEntry) -> Iterator[str]:
    yield f"**{topic.id}**, topic\n"
    for noun, paths in (("written by", topic.producers), ("read by", topic.consumers)):
        yield from (f"* {noun} `{path.text}`" for path in paths)
    ports = (draft.wiring.ports.get(PortKey(path.streamlet, role, path.port)) for role, path in topic.paths)
    contract = next((port.contract for port in ports if port is not None and port.contract is not None), None)
    if contract is not None:
        yield f"\n{table(contract)}"


def _setting(draft: Draft, sources: Sources, path: tuple[str, ...]) -> Iterator[str]:
    yield f"**flow.{'.'.join(path)}**\n"
    match path:
        case "streamlets", ref, "parameters", key, *_:
            yield from _parameter(draft.descriptor(ref), key)
        case _:
            node = draft.known.inner(*path)
            setting = node.setting if node is not None else None
            if setting is not None:
                yield f"{setting.doc} It must be {setting.type.expected}."
                yield f"\nDefault: {setting.default}" if setting.default else ""
    yield from _values(draft, sources, path)


def _inner(keys: Iterable[KnownKey], path: tuple[str, ...], value: Value) -> Iterator[str]:
    """Yield the documentation of a key inside the parameters, and of its value."""
    for key in keys:
        if key.keys == path:
            if key.doc:
                yield f"{key.doc}\n"
            yield f"{key.detail}\n" if key.detail else ""
            written = value.text if isinstance(value, Scalar) else None
            yield from (f"`{known.text}`: {known.doc}\n" for known in key.values if known.text == written and known.doc)


def _parameter(descriptor: StreamletDescriptor | None, key: str) -> Iterator[str]:
    for parameter in descriptor.parameters if descriptor is not None else ():
        if parameter.key == key:
            yield f"{parameter.description}\n\nType: {parameter.type}"
            yield (
                f"\nDefault: `{shown_default(parameter.key, parameter.default)}`"
                if parameter.default is not None
                else ""
            )


def _values(draft: Draft, sources: Sources, path: tuple[str, ...]) -> Iterator[str]:
    """Yield the effective values of the settings at or below a path, as `flow config` shows them: without secrets."""
    prefix = ".".join(("flow", *path))
    values = {
        key: places
        for key, places in _effective(draft, sources).items()
        if key == prefix or key.startswith(f"{prefix}.")
    }
    if values:
        yield "\n```hocon"
        yield from (f"{key} = {places[-1].text}{_origin(places[-1])}" for key, places in values.items())
        yield "```"


def _origin(source: SettingSource) -> str:
    place = f"{source.span.file}:{source.span.line}" if source.span is not None else ""
    return f"  # {', '.join(filter(None, (source.note, place)))}"


def _effective(draft: Draft, sources: Sources) -> Mapping[str, list[SettingSource]]:
    described = {ref: each for ref, each in draft.described.items() if isinstance(each, StreamletDescriptor)}
    return setting_sources(draft.settings, draft.known, described, sources)
