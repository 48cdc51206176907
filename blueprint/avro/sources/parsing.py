"""Parser of schemas: from JSON values with locations to a `Schema`, or to all findings in one pass.

Avro specification 1.12, "Schema Declaration". The caller decides where files with named types are (`Files`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

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
from blueprint.avro.sources.attributes import NAME
from blueprint.avro.sources.naming import Naming, definitions
from blueprint.diagnostics import Diagnostic, Label, Span
from blueprint.diagnostics.codes import finding
from blueprint.hocon.values import ListValue, ObjectValue, Scalar, Value, plain, span_of

Files = Callable[[str], "Value | Diagnostic | None"]
"""Returns the value of the file for a full name that the schema does not define; None when there is no such file."""

_MOST_BYTES = 2**31 - 1
"""The maximum size of a fixed in Avro's Java implementation and in Arrow."""


@dataclass(slots=True)
class _Default:
    """A default, which is checked when every name is known."""

    record: str
    field: str
    value: Value
    schema: Schema


@dataclass(slots=True)
class Parser(Naming):
    """Parses one schema and the files that it uses.

    Arguments:
        files: looks up names that are not defined before their use.
        names: every definition, by full name; complete after `parse`.
    """

    files: Files = lambda name: None
    _defaults: list[_Default] = field(default_factory=list)

    def parse(self, value: Value) -> Schema | None:
        """Return the schema of a value; None if errors leave no schema."""
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
        self.bad("schema-bad-type", f"`{value.text}` is not an Avro type", value)
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
        # A name without dots belongs to the namespace around it; like Java, fall back to a name without a namespace.
        candidates = [f"{namespace}.{name}", name] if namespace and "." not in name else [name]
        for full in candidates:
            if full in self.names or full in self.opened:
                return Named(full, span_of(value))
            if full in self.broken:  # the invalid definition has been reported
                return None
        for full in candidates:
            if all(NAME.fullmatch(part) for part in full.split(".")) and (content := self.files(full)) is not None:
                return self._from_file(full, content, value)
        self.unknown(name, candidates, value)
        return None

    def _from_file(self, full: str, content: Value | Diagnostic, use: Scalar) -> Schema | None:
        if isinstance(content, Diagnostic):
            self.problems.append(replace(content, secondary=(*content.secondary, Label(span_of(use), "named here"))))
            self.mark_broken(full)
            return None
        before = len(self.problems)
        schema = self._type(content, "")
        if full in self.names:
            return schema if isinstance(schema, Definition) else Named(full, span_of(use))
        self.mark_broken(full)
        if len(self.problems) == before:
            headline = f"this file does not define `{full}`"
            self.bad("schema-wrong-file", headline, content, also=[Label(span_of(use), "named here")])
        return None

    def _union(self, value: ListValue, namespace: str) -> Schema | None:
        branches: list[Schema] = []
        seen: dict[str, Value] = {}
        before = self.errors()
        for item in value.items:
            if isinstance(item, ListValue):
                self.bad("schema-bad-union", "a union must not directly contain another union", item)
                continue
            branch = self._type(item, namespace)
            if branch is None:
                continue
            kind = _branch_name(branch)
            if isinstance(branch, Union):
                self.bad("schema-bad-union", "a union must not directly contain another union", item)
            elif kind in seen:
                first = Label(span_of(seen[kind]), "first branch")
                self.bad("schema-bad-union", f"duplicate branch `{kind}` in a union", item, also=[first])
            else:
                seen[kind] = item
                branches.append(branch)
        if not value.items:
            self.bad("schema-bad-union", "a union must have at least one branch", value)
        return Union(tuple(branches), span_of(value)) if self.errors() == before else None

    # Named types

    def _record(self, value: ObjectValue, namespace: str) -> Schema | None:
        name = self.full_name(value, "record", namespace)
        fields = value.fields.get("fields")
        if not isinstance(fields, ListValue):
            self.missing(value, "fields", f"record `{name or '?'}`", "a list of fields")
            self.mark_broken(name)
            return None
        if name is None:
            for item in fields.items:  # report the errors inside nevertheless
                self._field(item, "?", namespace)
            return None
        self.opened[name] = span_of(value)
        parsed = [self._field(item, name, namespace_of(name)) for item in fields.items]
        del self.opened[name]
        valid = tuple(member for member in parsed if member is not None)
        self._check_field_names(name, valid)
        aliases = self.type_aliases(value, name)
        doc = self.doc(value)
        record = Record(name, valid, aliases, doc, span_of(value))
        self.names[name] = record
        return record

    def _field(self, value: Value, record: str, namespace: str) -> Field | None:
        if not isinstance(value, ObjectValue):
            self.bad("schema-bad-attribute", f"a field of record `{record}` must be an object", value)
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

    def _check_field_names(self, record: str, fields: Iterable[Field]) -> None:
        seen: dict[str, Field] = {}
        for member in fields:
            for text in (member.name, *member.aliases):
                other = seen.setdefault(text, member)
                if other is not member and member.span and other.span:
                    code = "schema-duplicate-field" if text == member.name == other.name else "schema-ambiguous-alias"
                    what = "field" if code == "schema-duplicate-field" else "name or alias"
                    headline = f"duplicate {what} `{text}` in record `{record}`"
                    self.problems.append(
                        finding(code, headline, member.span, also=[Label(other.span, "first defined here")])
                    )

    def _enum(self, value: ObjectValue, namespace: str) -> Schema | None:
        name = self.full_name(value, "enum", namespace)
        owner = f"enum `{name or '?'}`"
        if "symbols" not in value.fields:
            self.missing(value, "symbols", owner)
            self.mark_broken(name)
            return None
        symbols: dict[str, Span] = {}
        for text, at in self.texts(value, "symbols", owner):
            if not NAME.fullmatch(text):
                self.bad_name(at, f"a symbol of {owner}", text)
            elif text in symbols:
                also = [Label(symbols[text], "first defined here")]
                self.bad("schema-bad-attribute", f"duplicate symbol `{text}` in {owner}", at, also=also)
            else:
                symbols[text] = at
        default = value.fields.get("default")
        taken = default.text if isinstance(default, Scalar) and default.value in symbols else None
        if default is not None and taken is None:
            self.bad("schema-bad-default", f"the default of {owner} is not one of its symbols", default)
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
            headline = f"the size of fixed `{name or '?'}` must be an integer from 0 to {_MOST_BYTES}"
            self.bad("schema-bad-attribute", headline, size)
        if name is None or number is None or not known:
            self.mark_broken(name)
            return None
        logical = self.logical(value, "fixed", number)
        fixed = Fixed(name, number, self.type_aliases(value, name), logical, span_of(value))
        self.names[name] = fixed
        return fixed

    def _check_default(self, default: _Default) -> None:
        try:
            wrong = why_not(plain(default.value), default.schema, lambda named: self.names[named.name])
        except KeyError:
            return  # a type inside has an invalid definition, which has been reported
        if wrong:
            headline = f"the default of field `{default.field}` of record `{default.record}` does not fit: {wrong}"
            self.bad("schema-bad-default", headline, default.value)

    def _part(self, value: ObjectValue, key: str, owner: str, namespace: str) -> Schema | None:
        if key not in value.fields:
            self.missing(value, key, owner)
            return None
        return self._type(value.fields[key], namespace)


def _branch_name(schema: Schema) -> str:
    """Return the key that must be unique within a union: the full name, or the type."""
    match schema:
        case Record() | Enum() | Fixed() | Named():
            return schema.name
        case Primitive():
            return schema.type
    return type(schema).__name__.lower()
