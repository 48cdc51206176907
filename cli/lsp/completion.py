"""Completion in a blueprint: keys, classes, ports, topics, parameters, settings and values, with their docs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from lsprotocol import types

from blueprint.catalog import ParameterDescriptor, ParameterType, StreamletDescriptor
from blueprint.core_settings import LEVELS
from blueprint.diagnostics.codes import CODES
from blueprint.known_keys import KnownKey, KnownValue, column_values
from blueprint.model.blueprint import Role
from blueprint.model.cycle_stops import STOP_KEYS
from blueprint.model.draft import Draft
from blueprint.setting import Setting, SettingNode
from cli.lsp.cursor import Cursor
from cli.lsp.schemas import column_types, title

_Kind = types.CompletionItemKind
_BLUEPRINT_KEYS = {
    "streamlets": "The streamlets by name, each with its class.",
    "topics": "The topics by id, each with the ports that it joins.",
    "allow-cycles": "Streamlets that stop cycles, and how.",
}
_STREAMLET_KEYS = {"class": "The class of the streamlet, as `module.Class`."}
_TOPIC_KEYS = {
    "producers": "The outlets that write the topic, as `streamlet.port`.",
    "consumers": "The inlets that read the topic, as `streamlet.port`.",
}


@dataclass(frozen=True, slots=True)
class Proposal:
    """A text that can be written at the cursor.

    Arguments:
        text: what is inserted.
        kind: what it is.
        detail: a few words next to it.
        doc: its documentation, as Markdown.
        first: whether it is probably meant, so that it is shown before the others.
    """

    text: str
    kind: types.CompletionItemKind
    detail: str = ""
    doc: str = ""
    first: bool = False


@dataclass(frozen=True, slots=True)
class ProjectKnowledge:
    """What only the classes of a project know; each is looked up when it is needed.

    Arguments:
        classes: returns the class paths that a blueprint may name.
        known_keys: returns the keys and values that the parameters of a streamlet may have, beyond its declarations.
    """

    classes: Callable[[], Iterable[str]]
    known_keys: Callable[[str], Iterable[KnownKey]]


def proposals(cursor: Cursor, draft: Draft | None, project: ProjectKnowledge) -> Iterator[Proposal]:
    """Yield proposals for the text at a cursor, whether or not they begin with the characters already typed.

    Arguments:
        cursor: the cursor in the blueprint, or in a file of settings.
        draft: the application as it was read last; None if it never could be read.
        project: the classes of the project.
    """
    match cursor.path, cursor.kind:
        case (), "key":
            yield Proposal("blueprint", _Kind.Module, doc="Which streamlets run, and which topics join their ports.")
            yield Proposal("flow", _Kind.Module, doc="Settings of the application, its streamlets and its topics.")
        case ("blueprint",), "key":
            yield from (Proposal(key, _Kind.Module, doc=doc) for key, doc in _BLUEPRINT_KEYS.items())
        case ("blueprint", "streamlets", _) | ("blueprint", "streamlets", _, "class"), "value":
            yield from (Proposal(path, _Kind.Class) for path in sorted(project.classes()))
        case ("blueprint", ("streamlets" | "topics") as section, _), "key":
            keys = _STREAMLET_KEYS if section == "streamlets" else _TOPIC_KEYS
            yield from (Proposal(key, _Kind.Property, doc=doc) for key, doc in keys.items())
    if draft is not None:
        yield from _of_application(cursor, draft, project)


def _of_application(cursor: Cursor, draft: Draft, project: ProjectKnowledge) -> Iterator[Proposal]:
    match cursor.path, cursor.kind:
        case ("blueprint", "allow-cycles"), "key":
            yield from _streamlets(draft)
        case ("blueprint", "allow-cycles", _), "key":
            yield from (Proposal(key, _Kind.Property, doc=doc) for key, doc in STOP_KEYS.items())
        case ("blueprint", "allow-cycles", ref, "else"), _:
            descriptor = draft.descriptor(ref)
            for port in descriptor.outlets if descriptor is not None else ():
                yield Proposal(port.name, _Kind.Interface, title(port.contract))
        case ("blueprint", "topics", _, "producers"), "item" | "value":
            yield from _ports(draft, "producer")
        case ("blueprint", "topics", _, "consumers"), "item" | "value":
            yield from _ports(draft, "consumer")
        case ("blueprint", "streamlets", _, "class"), _:
            return
        case ("blueprint", ("streamlets" | "topics") as section, name, *rest), kind:
            yield from _settings(draft, project, (section, name, *rest), values=kind != "key")
        case ("flow", *rest), kind:
            yield from _settings(draft, project, tuple(rest), values=kind != "key")


def _streamlets(draft: Draft) -> Iterator[Proposal]:
    for entry in draft.blueprint.streamlets.values():
        yield Proposal(entry.ref, _Kind.Variable, entry.class_name)


def _ports(draft: Draft, role: Role) -> Iterator[Proposal]:
    unconnected = set(draft.wiring.unconnected)
    for key, port in draft.wiring.ports.items():
        if key.role == role:
            yield Proposal(key.path, _Kind.Interface, title(port.contract), first=key in unconnected)


def _settings(draft: Draft, project: ProjectKnowledge, path: tuple[str, ...], *, values: bool) -> Iterator[Proposal]:
    """Yield the keys below a path of `flow`, or the values of the setting at the path."""
    match path:
        case "streamlets", ref, "parameters", *rest:
            descriptor = draft.descriptor(ref)
            parameters = descriptor.parameters if descriptor is not None else ()
            known = project.known_keys(ref)
            if values:
                yield from _inner_values(parameters, known, tuple(rest))
            else:
                yield from () if rest else map(_parameter, parameters)
                yield from _inner_keys(known, tuple(rest))
            return
        case "streamlets", ref, ("inlets" | "outlets") as side, port, *_ if values and _names_columns(draft, path):
            yield from map(_value, _columns(draft.descriptor(ref), side, port))
            return
        case "streamlets", ref, ("inlets" | "outlets") as side if not values:
            yield from _port_names(draft.descriptor(ref), side)
            return
        case "streamlets", ref, "volume-mounts" if not values:
            descriptor = draft.descriptor(ref)
            mounts = descriptor.volume_mounts if descriptor is not None else ()
            yield from (Proposal(mount.name, _Kind.Property, mount.access_mode) for mount in mounts)
            return
        case ("streamlets",):
            yield from _streamlets(draft)
            return
        case ("topics",):
            yield from (Proposal(id, _Kind.Variable) for id in draft.blueprint.topics)
            return
        case ("channel",) | ("topics", _, "channel") if values:
            yield from (Proposal(name, _Kind.EnumMember) for name in draft.channels)
            return
        case "verify", "rules":
            yield from (Proposal(code, _Kind.EnumMember, doc=meaning.meaning) for code, meaning in CODES.items())
            return
    node = draft.known.inner(*path)
    if node is None:
        return
    if values:
        yield from _values(path, node.setting)
    else:
        yield from (_setting(key, child) for key, child in node.children.items())


def _setting(key: str, node: SettingNode) -> Proposal:
    if node.setting is None:
        return Proposal(key, _Kind.Module)
    default = f"default: {node.setting.effect}" if node.setting.effect else ""
    return Proposal(key, _Kind.Property, default, f"{node.setting.doc}\n\nIt must be {node.setting.type.expected}.")


def _values(path: tuple[str, ...], setting: Setting | None) -> Iterator[Proposal]:
    if path[:2] == ("verify", "rules"):
        yield from (Proposal(level, _Kind.EnumMember) for level in LEVELS)
    elif setting is not None:
        yield from (Proposal(choice, _Kind.EnumMember) for choice in setting.type.choices)


def _port_names(descriptor: StreamletDescriptor | None, side: str) -> Iterator[Proposal]:
    if descriptor is not None:
        for port in descriptor.inlets if side == "inlets" else descriptor.outlets:
            yield Proposal(port.name, _Kind.Property, title(port.contract))


def _names_columns(draft: Draft, path: tuple[str, ...]) -> bool:
    node = draft.known.inner(*path)
    return node is not None and node.setting is not None and node.setting.columns


def _columns(descriptor: StreamletDescriptor | None, side: str, port: str) -> tuple[KnownValue, ...]:
    ports = () if descriptor is None else descriptor.inlets if side == "inlets" else descriptor.outlets
    contracts = (each.contract for each in ports if each.name == port and each.contract is not None)
    return tuple(value for contract in contracts for value in column_values(column_types(contract)))


def _inner_keys(known: Iterable[KnownKey], path: tuple[str, ...]) -> Iterator[Proposal]:
    """Yield the known keys of the object at a path of parameters; its own keys are not among them."""
    for key in known:
        text = key.below(path)
        if text and len(key.path) > 1:
            yield Proposal(text, _Kind.Property, key.detail, key.doc, key.required)


def _inner_values(
    parameters: Iterable[ParameterDescriptor], known: Iterable[KnownKey], path: tuple[str, ...]
) -> Iterator[Proposal]:
    for parameter in parameters:
        if (parameter.key,) == path:
            yield from _parameter_values(parameter)
    for key in known:
        if key.keys == path:
            yield from map(_value, key.values)


def _value(value: KnownValue) -> Proposal:
    return Proposal(value.text, _Kind.EnumMember, value.detail, value.doc)


def _parameter(parameter: ParameterDescriptor) -> Proposal:
    default = f", default: {parameter.default}" if parameter.default is not None else ""
    return Proposal(
        parameter.key, _Kind.Property, f"{parameter.type}{default}", parameter.description, parameter.default is None
    )


def _parameter_values(parameter: ParameterDescriptor) -> Iterator[Proposal]:
    values = ("true", "false") if parameter.type is ParameterType.BOOLEAN else parameter.choices
    yield from (Proposal(value, _Kind.EnumMember, first=value == parameter.default) for value in values)
