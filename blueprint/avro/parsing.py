"""A schema as JSON values with places becomes a `Schema`, or findings at those places; all of them in one pass.

Avro specification 1.12, "Schema Declaration". Which files a name may come from is the caller's matter (`Files`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from blueprint.avro.attributes import NAME
from blueprint.avro.defaults import why_not
from blueprint.avro.model import (
    NO_DEFAULT,
    PRIMITIVES,
    Array,
    Definition,
    Enum,
    Field,
    Fixed,
    Map,
    Named,
    Primitive,
    Record,
    Schema,
    Union,
    namespace_of,
)
from blueprint.avro.naming import Naming, definitions
from blueprint.diagnostics import Diagnostic, Label, Span
from blueprint.diagnostics.codes import finding
from blueprint.hocon.values import ListValue, ObjectValue, Scalar, Value, plain, span_of

Files = Callable[[str], "Value | Diagnostic | None"]
"""What a file says of a full name that the schema itself does not define; None when there is no such file."""

_MOST_BYTES = 2**31 - 1
"""Of a fixed: what Java's Avro and Arrow can hold."""


@dataclass(slots=True)
class _Default:
    """A default to check when every name is known."""

    record: str
    field: str
    value: Value
    schema: Schema


@dataclass(slots=True)
class Parser(Naming):
    """One schema and everything it names.

    Arguments:
        files: asked for names that are defined nowhere before their use.
        names: every definition, by full name; complete after `parse`.
    """

    files: Files = lambda name: None
    _defaults: list[_Default] = field(default_factory=list)

    def parse(self, value: Value) -> Schema | None:
        """The schema of `value`; None when something is wrong with it that leaves no schema."""
        self.later = dict(definitions(value))
        schema = self._type(value, "")
        for default in self._defaults:
            self._check_default(default)
        return schema

    # Types

    def _type(self, value: Value, namespace: str) -> Schema | None:
        match value:
            case Scalar(value=str(name)):
                return self._named(name, value, namespace)
            case ListValue():
                return self._union(value, namespace)
            case ObjectValue():
                return self._object(value, namespace)
        self.bad("schema-bad-type", f"`{value.text}` is no Avro type", value)
        return None

    def _object(self, value: ObjectValue, namespace: str) -> Schema | None:
        kind = value.fields.get("type")
        if kind is None:
            self.missing(value, "type", "a schema")
            return None
        if not isinstance(kind, Scalar) or not isinstance(kind.value, str):
            return self._type(kind, namespace)
        match kind.value:
            case "record":
                return self._record(value, namespace)
            case "enum":
                return self._enum(value, namespace)
            case "fixed":
                return self._fixed(value, namespace)
            case "array":
                items = self._part(value, "items", "an array", namespace)
                return None if items is None else Array(items, span_of(value))
            case "map":
                values = self._part(value, "values", "a map", namespace)
                return None if values is None else Map(values, span_of(value))
            case primitive if primitive in PRIMITIVES:
                return Primitive(primitive, self.logical(value, primitive), span_of(value))
        return self._type(kind, namespace)

    def _named(self, name: str, value: Scalar, namespace: str) -> Schema | None:
        if name in PRIMITIVES:
            return Primitive(name, None, span_of(value))
        # Within a namespace a bare name means one of that namespace; Java's fall-back to a name without one is kept.
        candidates = [f"{namespace}.{name}", name] if namespace and "." not in name else [name]
        for full in candidates:
            if full in self.names or full in self.opened:
                return Named(full, span_of(value))
            if full in self.broken:  # defined, but wrongly, which has been said
                return None
        for full in candidates:
            if all(NAME.fullmatch(part) for part in full.split(".")) and (found := self.files(full)) is not None:
                return self._from_file(full, found, value)
        self.unknown(name, candidates, value)
        return None

    def _from_file(self, full: str, found: Value | Diagnostic, use: Scalar) -> Schema | None:
        if isinstance(found, Diagnostic):
            self.problems.append(replace(found, secondary=(*found.secondary, Label(span_of(use), "named here"))))
            self.give_up(full)
            return None
        before = len(self.problems)
        schema = self._type(found, "")
        if full in self.names:
            return schema if isinstance(schema, Definition) else Named(full, span_of(use))
        self.give_up(full)
        if len(self.problems) == before:
            headline = f"the file beside the schema does not define `{full}`"
            self.bad("schema-wrong-file", headline, found, also=[Label(span_of(use), "named here")])
        return None

    def _union(self, value: ListValue, namespace: str) -> Schema | None:
        branches: list[Schema] = []
        seen: dict[str, Value] = {}
        before = self.errors()
        for item in value.items:
            if isinstance(item, ListValue):
                self.bad("schema-bad-union", "a union stands directly in a union", item)
                continue
            branch = self._type(item, namespace)
            if branch is None:
                continue
            kind = _branch_name(branch)
            if isinstance(branch, Union):
                self.bad("schema-bad-union", "a union stands directly in a union", item)
            elif kind in seen:
                first = Label(span_of(seen[kind]), "the first")
                self.bad("schema-bad-union", f"a union has `{kind}` twice", item, also=[first])
            else:
                seen[kind] = item
                branches.append(branch)
        if not value.items:
            self.bad("schema-bad-union", "a union has no branch", value)
        return Union(tuple(branches), span_of(value)) if self.errors() == before else None

    # Named types

    def _record(self, value: ObjectValue, namespace: str) -> Schema | None:
        name = self.full_name(value, "record", namespace)
        fields = value.fields.get("fields")
        if not isinstance(fields, ListValue):
            self.missing(value, "fields", f"record `{name or '?'}`", "a list of fields")
            self.give_up(name)
            return None
        if name is None:
            for item in fields.items:  # what is wrong inside is said all the same
                self._field(item, "?", namespace)
            return None
        self.opened[name] = span_of(value)
        found = [self._field(item, name, namespace_of(name)) for item in fields.items]
        del self.opened[name]
        self._check_field_names(name, found)
        aliases = self.type_aliases(value, name)
        doc = self.doc(value)
        record = Record(name, tuple(one for one in found if one is not None), aliases, doc, span_of(value))
        self.names[name] = record
        return record

    def _field(self, value: Value, record: str, namespace: str) -> Field | None:
        if not isinstance(value, ObjectValue):
            self.bad("schema-bad-attribute", f"a field of record `{record}` is no object", value)
            return None
        name = value.fields.get("name")
        kind = value.fields.get("type")
        if name is None:
            self.missing(value, "name", f"a field of record `{record}`")
        elif not (isinstance(name, Scalar) and isinstance(name.value, str) and NAME.fullmatch(name.value)):
            self.bad_name(name, f"a field of record `{record}`")
            name = None
        if kind is None:
            label = f"field `{plain(name)}`" if name else "a field"
            self.missing(value, "type", f"{label} of record `{record}`")
        schema = None if kind is None else self._type(kind, namespace)
        if schema is None or name is None:
            return None
        field_name = str(plain(name))
        default = value.fields.get("default")
        if default is not None:
            self._defaults.append(_Default(record, field_name, default, schema))
        return Field(
            name=field_name,
            schema=schema,
            default=NO_DEFAULT if default is None else plain(default),
            aliases=tuple(text for text, _ in self.texts(value, "aliases", f"field `{field_name}`")),
            doc=self.doc(value),
            span=span_of(name),
        )

    def _check_field_names(self, record: str, fields: Iterable[Field | None]) -> None:
        seen: dict[str, Field] = {}
        for one in fields:
            if one is None:
                continue
            for text in (one.name, *one.aliases):
                other = seen.setdefault(text, one)
                if other is not one and one.span and other.span:
                    code = "schema-duplicate-field" if text == one.name == other.name else "schema-ambiguous-alias"
                    what = "field" if code == "schema-duplicate-field" else "name or alias"
                    headline = f"record `{record}` has the {what} `{text}` twice"
                    self.problems.append(finding(code, headline, one.span, also=[Label(other.span, "the first")]))

    def _enum(self, value: ObjectValue, namespace: str) -> Schema | None:
        name = self.full_name(value, "enum", namespace)
        owner = f"enum `{name or '?'}`"
        if "symbols" not in value.fields:
            self.missing(value, "symbols", owner)
            self.give_up(name)
            return None
        symbols: dict[str, Span] = {}
        for text, at in self.texts(value, "symbols", owner):
            if not NAME.fullmatch(text):
                self.bad_name(at, f"a symbol of {owner}", text)
            elif text in symbols:
                also = [Label(symbols[text], "the first")]
                self.bad("schema-bad-attribute", f"{owner} has the symbol `{text}` twice", at, also=also)
            else:
                symbols[text] = at
        default = value.fields.get("default")
        taken = default.text if isinstance(default, Scalar) and default.value in symbols else None
        if default is not None and taken is None:
            self.bad("schema-bad-default", f"the default of {owner} is none of its symbols", default)
        if name is None:
            return None
        aliases = self.type_aliases(value, name)
        enum = Enum(name, tuple(symbols), taken, aliases, self.doc(value), span_of(value))
        self.names[name] = enum
        return enum

    def _fixed(self, value: ObjectValue, namespace: str) -> Schema | None:
        name = self.full_name(value, "fixed", namespace)
        size = value.fields.get("size")
        number = size.value if isinstance(size, Scalar) and type(size.value) is int else None
        known = number is not None and 0 <= number <= _MOST_BYTES
        if size is None:
            self.missing(value, "size", f"fixed `{name or '?'}`")
        elif not known:
            headline = f"the size of fixed `{name or '?'}` is no whole number from 0 to {_MOST_BYTES}"
            self.bad("schema-bad-attribute", headline, size)
        if name is None or number is None or not known:
            self.give_up(name)
            return None
        logical = self.logical(value, "fixed", number)
        fixed = Fixed(name, number, self.type_aliases(value, name), logical, span_of(value))
        self.names[name] = fixed
        return fixed

    def _check_default(self, default: _Default) -> None:
        try:
            wrong = why_not(plain(default.value), default.schema, lambda named: self.names[named.name])
        except KeyError:
            return  # a type inside was defined wrongly, which has been said
        if wrong:
            headline = f"the default of field `{default.field}` of record `{default.record}` does not fit: {wrong}"
            self.bad("schema-bad-default", headline, default.value)

    def _part(self, value: ObjectValue, key: str, owner: str, namespace: str) -> Schema | None:
        if key not in value.fields:
            self.missing(value, key, owner)
            return None
        return self._type(value.fields[key], namespace)


def _branch_name(schema: Schema) -> str:
    """What must be unique within a union: the full name, or the type."""
    match schema:
        case Record() | Enum() | Fixed() | Named():
            return schema.name
        case Primitive():
            return schema.type
    return type(schema).__name__.lower()
