"""The rule about 1.x blueprints: the section `connections` must be rewritten as `topics`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from blueprint.diagnostics import Diagnostic, Edit, Fix, FixKind, Span, finding
from blueprint.hocon.values import ListValue, ObjectValue, Scalar, Value, key_span_of, span_of
from blueprint.model.draft import Draft

_BARE = re.compile(r"[A-Za-z0-9_-]+")

_Wire = tuple[str, list[str]]
"""The path of an outlet, and the paths of the inlets that it is connected to."""


def connections(draft: Draft) -> Iterator[Diagnostic]:
    """Blueprints of 1.x have their wiring in `connections`; the finding shows it as `topics`."""
    value = draft.blueprint.connections
    if value is None:
        return
    wires = [
        (_full(draft, outlet, "producer"), [_full(draft, inlet, "consumer") for inlet in inlets])
        for outlet, inlets in _wires(value, ())
    ]
    topics = _rewritten(wires)
    key = key_span_of(value)
    yield finding(
        "connections-section",
        "the section `connections` of 1.x blueprints is not supported: `topics` connect streamlets",
        key,
        help=(f"replace it with:\n{topics}",),
        fix=_fix(draft, value, topics) if _joins_free_ports(draft, value, wires) else None,
    )


def _fix(draft: Draft, value: Value, topics: str) -> Fix | None:
    """Return the fix that replaces the section; None when it is set in several places, or there are topics."""
    if len(value.origins) != 1 or draft.blueprint.topics:
        return None
    key, span = key_span_of(value), span_of(value)
    if key.file != span.file or not key.file.endswith(".conf"):  # the replacement is HOCON
        return None
    indent = "\n" + " " * (key.column - 1)
    whole = Span(key.file, key.line, key.column, span.end_line, span.end_column)
    return Fix(FixKind.REWRITE_CONNECTIONS, "write `topics`", (Edit(whole, topics.replace("\n", indent)),))


def _joins_free_ports(draft: Draft, value: Value, wires: Sequence[_Wire]) -> bool:
    """Return whether every connection connects an outlet to inlets of the application, and no port is named twice."""
    outlets = {key.path for key in draft.wiring.ports if key.role == "producer"}
    inlets = {key.path for key in draft.wiring.ports if key.role == "consumer"}
    named = [path for outlet, joined in wires for path in (outlet, *joined)]
    return (
        _only_texts(value)
        and len(set(named)) == len(named)
        and len({id for id, _, _ in _topics(wires)}) == len(wires)
        and all(outlet in outlets and joined and inlets.issuperset(joined) for outlet, joined in wires)
    )


def _only_texts(value: Value) -> bool:
    """Return whether there are only port paths: a rewritten section would lack everything else."""
    if isinstance(value, ObjectValue):
        return all(map(_only_texts, value.fields.values()))
    items = value.items if isinstance(value, ListValue) else (value,)
    return all(isinstance(item, Scalar) and isinstance(item.value, str) for item in items)


def _topics(wires: Sequence[_Wire]) -> Iterator[tuple[str, str, list[str]]]:
    """Yield id, outlet and inlets of each connection's topic; the id is the outlet's name if no other outlet has it."""
    ports = [outlet.rpartition(".")[2] for outlet, _ in wires]
    for outlet, inlets in wires:
        streamlet, _, port = outlet.rpartition(".")
        yield (
            port if ports.count(port) == 1 and _BARE.fullmatch(port) else f"{streamlet}-{port}",
            outlet,
            inlets,
        )


def _rewritten(wires: Sequence[_Wire]) -> str:
    lines = [
        f"  {_quoted(id)} {{ producers = [{outlet}], consumers = [{', '.join(inlets)}] }}"
        for id, outlet, inlets in _topics(wires)
    ]
    return "\n".join(["topics {", *lines, "}"])


def _wires(value: Value, path: tuple[str, ...]) -> Iterator[_Wire]:
    """Yield outlet paths (keys, nested by their dots) with the inlet paths of their lists."""
    if isinstance(value, ObjectValue):
        for key, inner in value.fields.items():
            yield from _wires(inner, (*path, key))
    elif path:
        items = value.items if isinstance(value, ListValue) else (value,)
        yield ".".join(path), [item.text for item in items if isinstance(item, Scalar)]


def _full(draft: Draft, path: str, role: str) -> str:
    """Return a path with its port, which 1.x blueprints omit when the streamlet has a single port."""
    if "." in path:
        return path
    descriptor = draft.descriptor(path)
    ports = (descriptor.outlets if role == "producer" else descriptor.inlets) if descriptor is not None else ()
    if len(ports) == 1:
        return f"{path}.{ports[0].name}"
    return f"{path}.{'out' if role == 'producer' else 'in'}"


def _quoted(id: str) -> str:
    return id if _BARE.fullmatch(id) else f'"{id}"'
