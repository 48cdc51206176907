"""Read YAML into the same tree as HOCON, with the same places.

Plain scalars have the values of HOCON's unquoted text: JSON numbers, `true`, `false` and `null` (also an empty value
and `~` for null). So `no`, `1:30` and `012` are strings, which typed settings read as in HOCON. Plain keys are paths
(`bootstrap.servers`), quoted ones are not. `${...}` is a plain string: YAML has its own anchors and merge keys, and no
substitutions. Source: YAML 1.2, "JSON schema"; merge keys as in YAML 1.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from blueprint.diagnostics import Diagnostic, Label, Span
from blueprint.diagnostics.codes import finding
from blueprint.hocon import lexer
from blueprint.hocon.source import MAX_DEPTH, Source, too_deep
from blueprint.hocon.tree import Definition, Layer, ListNode, Node, ObjectNode, ScalarNode
from blueprint.hocon.values import Origin

_MAX_NODES = 300_000
_TAG = "tag:yaml.org,2002:"
_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_TAGS = frozenset(_TAG + name for name in ("str", "int", "float", "bool", "null", "map", "seq"))


def parse_yaml(source: Source) -> Layer:
    """Read one YAML document whose root is a mapping.

    Arguments:
        source: the text to read.

    Returns:
        The layer. Its findings are the first syntax error or unknown tag (such as one for Python objects), and the
        duplicate keys of mappings.
    """
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    reader = _Reader(source, yaml.parse(source.text, Loader=loader))
    try:
        root = reader.document()
    except _Stop as stop:
        return Layer(source.file, reader.empty(), (*reader.findings, stop.diagnostic))
    except yaml.YAMLError as error:
        return Layer(source.file, reader.empty(), (*reader.findings, reader.syntax(error)))
    return Layer(source.file, root, tuple(reader.findings))


class _Stop(Exception):  # noqa: N818  # it carries a finding, it is not an error of this project
    def __init__(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic


@dataclass(slots=True, eq=False)
class _Mapping:
    """A mapping as written: its entries in order, and the mappings of its merge keys."""

    entries: list[_Entry] = field(default_factory=list)
    merged: list[_Mapping] = field(default_factory=list)
    span: Span | None = None


@dataclass(slots=True, eq=False)
class _Entry:
    path: tuple[str, ...]
    key: Span
    value: _Written


@dataclass(slots=True, eq=False)
class _Sequence:
    items: list[_Written]
    span: Span


_Written = ScalarNode | _Sequence | _Mapping


class _Reader:
    """Builds the written values from the parser's events, and the tree from these. Reading events does not recurse."""

    def __init__(self, source: Source, events: Iterator[Any]) -> None:
        self.source = source
        self.events = events
        self.findings: list[Diagnostic] = []
        self.anchors: dict[str, _Written | None] = {}
        self.nodes = 0

    def empty(self) -> ObjectNode:
        return ObjectNode(origins=[Origin(self.source.span(0, 0))])

    def document(self) -> ObjectNode:
        event = next(self.events)
        while isinstance(event, yaml.StreamStartEvent | yaml.DocumentStartEvent):
            event = next(self.events)
        if isinstance(event, yaml.StreamEndEvent):
            return self.empty()
        root, _ = self._written(event, 0)
        if isinstance(root, ScalarNode) and root.value is None:
            return self.empty()
        if not isinstance(root, _Mapping):
            raise _Stop(finding("syntax", "the root of a configuration must be a mapping", root.span))
        next(self.events)
        after = next(self.events)
        if isinstance(after, yaml.DocumentStartEvent):
            at = self._place(after)
            raise _Stop(finding("syntax", "expected one YAML document, found a second one", at))
        node = self._node(root)
        assert isinstance(node, ObjectNode)
        return node

    def syntax(self, error: yaml.YAMLError) -> Diagnostic:
        """Return the finding for an error of the YAML parser."""
        mark: Any = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
        context = getattr(error, "context", None)
        headline = f"invalid YAML: {problem}" + (f" ({context})" if context else "")
        at: int = mark.index if mark is not None else getattr(error, "position", 0)
        first: Any = getattr(error, "context_mark", None)
        also = []
        if first is not None and first.index != at:
            also = [Label(self.source.span(first.index, first.index + 1), "it began here")]
        end = min(at + 1, len(self.source.text))
        return finding("syntax", headline, self.source.span(min(at, end), end), also=also)

    def _place(self, event: Any) -> Span:
        return self.source.span(_start(event), _end(event))

    # From events to written values

    def _written(self, event: Any, depth: int) -> tuple[_Written, int]:
        """Return the value that begins with `event`, and the offset of its end."""
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event), _end(event)
        self._check_tag(event)
        if isinstance(event, yaml.ScalarEvent):
            scalar = self._scalar(event)
            if event.anchor:
                self.anchors[event.anchor] = scalar
            return scalar, _end(event)
        if depth == MAX_DEPTH:
            raise _Stop(too_deep(self.source, _start(event)))
        if event.anchor:
            self.anchors[event.anchor] = None
        value: _Written
        if isinstance(event, yaml.SequenceStartEvent):
            value, end = self._sequence(event, depth)
        else:
            value, end = self._mapping(event, depth)
        if event.anchor:
            self.anchors[event.anchor] = value
        return value, end

    def _sequence(self, start: Any, depth: int) -> tuple[_Sequence, int]:
        items, end = [], _end(start)
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            item, end = self._written(event, depth + 1)
            items.append(item)
        end = _end(event) if start.flow_style else end
        return _Sequence(items, self.source.span(_start(start), end)), end

    def _mapping(self, start: Any, depth: int) -> tuple[_Mapping, int]:
        mapping, end = _Mapping(), _end(start)
        seen: dict[tuple[str, ...], Span] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            path, key = self._key(event)
            value, end = self._written(next(self.events), depth + len(path))
            if path == ("<<",) and event.implicit[0]:
                mapping.merged += self._merged(value, key)
                continue
            if path in seen:
                text = self.source.text[_start(event) : _end(event)]
                self.findings.append(
                    finding("duplicate-key", f"duplicate key `{text}`", key,
                            also=[Label(seen[path], "first defined here")], help=["remove one of them"])
                )  # fmt: skip
            seen[path] = key
            mapping.entries.append(_Entry(path, key, value))
        end = _end(event) if start.flow_style else end
        mapping.span = self.source.span(_start(start), end)
        return mapping, end

    def _key(self, event: Any) -> tuple[tuple[str, ...], Span]:
        at = self._place(event)
        if isinstance(event, yaml.AliasEvent) or not isinstance(event, yaml.ScalarEvent):
            raise _Stop(finding("syntax", "a key must be a plain or quoted string", at))
        parts = tuple(event.value.split(".")) if event.implicit[0] else (event.value,)
        if "" in parts and event.implicit[0]:
            raise _Stop(finding("syntax", "empty key in a path", at, help=["put the key in quotes"]))
        return parts, at

    def _merged(self, value: _Written, key: Span) -> list[_Mapping]:
        """Return the mappings of a merge key in ascending order of precedence."""
        mappings = value.items if isinstance(value, _Sequence) else [value]
        if not all(isinstance(mapping, _Mapping) for mapping in mappings):
            raise _Stop(finding("syntax", "the value of `<<` must be a mapping or a list of mappings", key))
        return [mapping for mapping in reversed(mappings) if isinstance(mapping, _Mapping)]

    def _alias(self, event: Any) -> _Written:
        value = self.anchors.get(event.anchor)
        if value is not None:
            return value
        at = self._place(event)
        if event.anchor in self.anchors:
            raise _Stop(finding("syntax", f"the alias `*{event.anchor}` is inside its own anchor", at))
        raise _Stop(finding("syntax", f"undefined anchor `&{event.anchor}`", at))

    def _check_tag(self, event: Any) -> None:
        if event.tag not in (None, "!") and event.tag not in _TAGS:
            at = self._place(event)
            raise _Stop(finding("syntax", f"unsupported YAML tag `{event.tag}`", at, help=["remove the tag"]))

    def _scalar(self, event: Any) -> ScalarNode:
        span = self._place(event)
        text, tag = event.value, (event.tag or "").removeprefix(_TAG)
        if tag == "str" or (not tag and not event.implicit[0]) or tag == "!":
            return ScalarNode(text, text, True, span)
        if text in _NULLS:
            return ScalarNode(None, text, False, span)
        if text in _BOOLEANS:
            return ScalarNode(_BOOLEANS[text], text, False, span)
        return ScalarNode(lexer.meaning(text), text, False, span)

    # From written values to the tree

    def _node(self, written: _Written, depth: int = 0) -> Node:
        """Return the tree of a written value. Each alias is a copy, so copies count against the limit of values."""
        self.nodes += 1
        if self.nodes > _MAX_NODES:
            raise _Stop(finding("too-large", f"aliases expand to more than {_MAX_NODES:,} values",
                                self.source.span(0, 0)))  # fmt: skip
        if depth > MAX_DEPTH:
            raise _Stop(too_deep(self.source, 0))
        if isinstance(written, ScalarNode):
            return written
        if isinstance(written, _Sequence):
            return ListNode([self._node(item, depth + 1) for item in written.items], written.span)
        assert written.span is not None
        node = ObjectNode(origins=[Origin(written.span)])
        for mapping in written.merged:
            merged = self._node(mapping, depth + 1)
            assert isinstance(merged, ObjectNode)
            for key, definitions in merged.fields.items():
                node.fields[key] = definitions
        keys: set[str] = set()
        for entry in written.entries:
            if entry.path[0] not in keys:
                node.fields.pop(entry.path[0], None)
            keys.add(entry.path[0])
            self._set(node, entry, depth)
        return node

    def _set(self, node: ObjectNode, entry: _Entry, depth: int) -> None:
        for key in entry.path[:-1]:
            node.add(key, Definition(entry.key, ObjectNode(origins=[Origin(entry.key, entry.key)])))
            last = node.fields[key][-1].node
            assert isinstance(last, ObjectNode)
            node = last
        value = self._node(entry.value, depth + len(entry.path))
        if isinstance(value, ObjectNode):
            value.origins = [Origin(origin.span, entry.key) for origin in value.origins]
        node.add(entry.path[-1], Definition(entry.key, value))


def _start(event: Any) -> int:
    return int(event.start_mark.index)


def _end(event: Any) -> int:
    return int(event.end_mark.index)
