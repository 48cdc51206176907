"""Where a name is defined: from a blueprint to Python and schema files, and back to the blueprint."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from blueprint.catalog import PortDescriptor, StreamletDescriptor
from blueprint.diagnostics import Span
from blueprint.hocon.values import Scalar
from blueprint.model.draft import Draft
from blueprint.model.wiring import PortKey
from cli.lsp.positions import Place, is_file
from cli.lsp.targets import ClassPath, PortName, SettingValue, StreamletName, TopicName, target_at

_SCHEMA_FILE = re.compile(r"""["']([^"']+\.avsc)["']""")


def definitions_at(draft: Draft, place: Place, line: str) -> tuple[Span, ...]:
    """Return the places that define what is at a place; for a definition in Python or Avro, where it is used.

    Arguments:
        draft: the application.
        place: in a blueprint, a file of settings, a module or a schema file.
        line: the text of the line.
    """
    if place.file.suffix == ".avsc":
        spans = _users_of(draft, place.file)
    elif place.file.suffix == ".py":
        spans = _from_python(draft, place, line)
    else:
        spans = _from_blueprint(draft, place)
    return tuple(dict.fromkeys(span for span in spans if is_file(span)))


def _from_blueprint(draft: Draft, place: Place) -> Iterator[Span]:
    match target_at(draft, place):
        case StreamletName(ref, span):
            entry, descriptor = draft.blueprint.streamlets.get(ref), draft.descriptor(ref)
            if entry is not None and entry.key != span:
                yield entry.key
            elif descriptor is not None:
                yield descriptor.declared
        case ClassPath(entry):
            if (descriptor := draft.descriptor(entry.ref)) is not None:
                yield descriptor.declared
        case PortName(path, role):
            port = draft.wiring.ports.get(PortKey(path.streamlet, role, path.port))
            if port is not None:
                yield port.declared
        case TopicName(topic):
            yield from (path.span for _, path in topic.paths)
        case SettingValue(("streamlets", ref, "parameters", key, *_)):
            descriptor = draft.descriptor(ref)
            parameters = descriptor.parameters if descriptor is not None else ()
            yield from (parameter.declared for parameter in parameters if parameter.key == key)
        case SettingValue(_, Scalar(text=text), span) if text.endswith(".avsc"):
            yield from _file(Path(span.file).absolute().parent / text)


def _from_python(draft: Draft, place: Place, line: str) -> Iterator[Span]:
    for match in _SCHEMA_FILE.finditer(line):
        if match.start() < place.column <= match.end() + 1:
            yield from _file(place.file.parent / match[1])
    for ref, descriptor in _descriptors(draft):
        if place.within(descriptor.declared):
            yield draft.blueprint.streamlets[ref].key
    for binding in draft.wiring.bindings:
        if binding.port is not None and place.within(binding.port.declared):
            yield binding.path.span


def _users_of(draft: Draft, file: Path) -> Iterator[Span]:
    """Yield the ports whose schema is in a file."""
    for _, descriptor in _descriptors(draft):
        for port in (*descriptor.inlets, *descriptor.outlets):
            if _schema_file(port) == file:
                yield port.declared


def _schema_file(port: PortDescriptor) -> Path | None:
    file = port.contract.file if port.contract is not None else None
    return Path(file).resolve() if file is not None else None


def _descriptors(draft: Draft) -> Iterator[tuple[str, StreamletDescriptor]]:
    for ref in draft.blueprint.streamlets:
        if (descriptor := draft.descriptor(ref)) is not None:
            yield ref, descriptor


def _file(path: Path) -> Iterator[Span]:
    if path.is_file():
        yield Span(str(path.resolve()), 1, 1, 1, 1)
