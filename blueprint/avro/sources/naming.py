"""The names of a schema's types: definitions, checks of names, and suggestions for unknown names.

Avro specification 1.12, "Names".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from blueprint.avro.model import PRIMITIVES, Definition, namespace_of, short_name
from blueprint.avro.sources.attributes import Attributes, is_full_name
from blueprint.diagnostics import Label, Span
from blueprint.hocon.values import ListValue, ObjectValue, Scalar, Value, plain, span_of

_DEFINED = ("record", "enum", "fixed")
_COMPLEX = (*_DEFINED, "array", "map")


@dataclass(slots=True)
class Naming(Attributes):
    """The names in a schema and in the files that it uses.

    Arguments:
        names: every definition so far, by full name.
        opened: records whose fields are being read, with their locations.
        later: all definitions of the schema, with their locations; for suggestions.
        broken: names with an invalid definition, which has already been reported.
    """

    names: dict[str, Definition] = field(default_factory=dict)
    opened: dict[str, Span] = field(default_factory=dict)
    later: dict[str, Span] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)

    def full_name(self, value: ObjectValue, kind: str, namespace: str) -> str | None:
        """Return the full name of a definition; None, with a finding, if it is invalid or already defined.

        Arguments:
            value: the definition.
            kind: record, enum or fixed.
            namespace: the namespace around it.
        """
        name = value.fields.get("name")
        if name is None:
            self.missing(value, "name", f"the {kind}")
            return None
        text = plain(name)
        own = value.fields.get("namespace")
        space = namespace if own is None else plain(own)
        if own is not None and not (space == "" or (isinstance(space, str) and is_full_name(space))):
            self.bad_name(own, f"the namespace of the {kind}")
            space = ""
        if not isinstance(text, str) or not is_full_name(text):
            self.bad_name(name, f"the {kind}")
            return None
        full = text if "." in text or not space else f"{space}.{text}"
        if short_name(full) in PRIMITIVES or full in _COMPLEX:
            self.bad("schema-bad-name", f"`{full}` is a built-in Avro type and cannot be redefined", name)
            return None
        first = self.opened.get(full) or (self.names[full].span if full in self.names else None)
        if first is not None:
            headline = f"`{full}` is defined twice"
            advice = [f'define it once, and refer to it as "{full}" elsewhere']
            also = [Label(first, "first defined here")]
            self.bad("schema-duplicate-name", headline, name, also=also, help=advice)
            return None
        return full

    def type_aliases(self, value: ObjectValue, name: str) -> tuple[str, ...]:
        """Return the aliases of a named type, as full names."""
        space = namespace_of(name)
        aliases = []
        for text, at in self.texts(value, "aliases", f"`{name}`"):
            if is_full_name(text):
                aliases.append(text if "." in text or not space else f"{space}.{text}")
            else:
                self.bad_name(at, f"an alias of `{name}`", text)
        return tuple(aliases)

    def unknown(self, name: str, candidates: list[str], value: Scalar) -> None:
        """Add a finding about an unknown name, with a suggestion.

        Arguments:
            name: the name as it was written.
            candidates: the full names that it may stand for.
            value: where it was written.
        """
        import difflib

        later = next((full for full in candidates if full in self.later), None)
        also = []
        if later:
            also = [Label(self.later[later], "defined here")]
            advice = f"move the definition of `{later}` to its first use"
        elif name in _COMPLEX:
            advice = f'write {{"type": "{name}", ...}} with its other attributes'
        else:
            known = [*PRIMITIVES, *self.names, *self.opened, *map(short_name, self.names)]
            near = difflib.get_close_matches(name, known, n=1)
            looked = " or ".join(f"`{full}.avsc`" for full in candidates)
            advice = f"did you mean `{near[0]}`?" if near else f"define it here, or in {looked} in the same directory"
        self.bad("schema-unknown-type", f"unknown type `{name}`", value, also=also, help=[advice])

    def mark_broken(self, name: str | None) -> None:
        """Record that a definition is invalid, so that uses of its name are not reported."""
        if name is not None:
            self.broken.add(name)


def definitions(value: Value, namespace: str = "") -> Iterable[tuple[str, Span]]:
    """Yield every full name that a schema seems to define, with its location; for suggestions only."""
    if isinstance(value, ListValue):
        for item in value.items:
            yield from definitions(item, namespace)
    elif isinstance(value, ObjectValue):
        keys = ("type", "name", "namespace")
        kind, name, own = (plain(value.fields[key]) if key in value.fields else None for key in keys)
        if kind in _DEFINED and isinstance(name, str):
            space = own if isinstance(own, str) else namespace
            full = name if "." in name or not space else f"{space}.{name}"
            namespace = namespace_of(full)
            yield full, span_of(value)
        for part in value.fields.values():
            yield from definitions(part, namespace)
