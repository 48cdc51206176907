"""What travels with records and what tells schemas apart: parsing canonical form, complete JSON text, fingerprint.

**One table per writer's schema, and which schemas are one.** The fingerprint covers what decides how a *writer's* bytes
and columns are to be read: the parsing canonical form, and beyond it logical types, precision and scale, because they
change the Spark type of a column. Defaults, aliases and documentation are not covered. They matter only on the reader's
side (Avro specification, "Schema Resolution": a default is what the *reader* takes, aliases are the *reader's* other
names), and a reader always brings its own schema. So two writers whose schemas differ in those alone share a table:
their rows are the same data. What is stored beside the table is then the first writer's text, and nothing that reads
records is misled by it. An added default must not split a topic's history in two.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from blueprint.avro.model import (
    Array,
    Contract,
    Definition,
    Enum,
    Field,
    Fixed,
    Logical,
    Map,
    Named,
    Primitive,
    Record,
    Schema,
    Union,
    namespace_of,
)


def contract_of(record: Record, file: str | None = None) -> Contract:
    """The contract whose root is `record`; names are collected from it."""
    names: dict[str, Definition] = {}
    _collect(record, names)
    return Contract(record, names, json_text(record), fingerprint(record), file)


def canonical_form(schema: Schema) -> str:
    """Avro's parsing canonical form (specification 1.12, "Parsing Canonical Form for Schemas")."""
    return _compact(_canonical(schema, logical=False))


def fingerprint(schema: Schema) -> str:
    """16 hexadecimal digits: the first 64 bits of a SHA-256 over canonical form, logical types, precision and scale."""
    text = _compact(_canonical(schema, logical=True))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def json_text(schema: Schema) -> str:
    """The schema as JSON text with all a reader may need: defaults, aliases, logical types, documentation."""
    return _compact(schema_json(schema))


def schema_json(schema: Schema) -> Any:
    """As `json_text`, as JSON data."""
    return _Writer().type(schema, "")


def _compact(data: object) -> str:
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False)


def _collect(schema: Schema, names: dict[str, Definition]) -> None:
    match schema:
        case Record():
            names[schema.name] = schema
            for one in schema.fields:
                _collect(one.schema, names)
        case Enum() | Fixed():
            names[schema.name] = schema
        case Array():
            _collect(schema.items, names)
        case Map():
            _collect(schema.values, names)
        case Union():
            for branch in schema.branches:
                _collect(branch, names)


def _canonical(schema: Schema, *, logical: bool) -> Any:
    match schema:
        case Primitive():
            return _with_logical(schema.type, schema.logical) if logical and schema.logical else schema.type
        case Named():
            return schema.name
        case Fixed():
            form = {"name": schema.name, "type": "fixed", "size": schema.size}
            return _with_logical(form, schema.logical) if logical else form
        case Enum():
            return {"name": schema.name, "type": "enum", "symbols": list(schema.symbols)}
        case Array():
            return {"type": "array", "items": _canonical(schema.items, logical=logical)}
        case Map():
            return {"type": "map", "values": _canonical(schema.values, logical=logical)}
        case Union():
            return [_canonical(branch, logical=logical) for branch in schema.branches]
        case Record():
            fields = [{"name": one.name, "type": _canonical(one.schema, logical=logical)} for one in schema.fields]
            return {"name": schema.name, "type": "record", "fields": fields}


def _with_logical(form: Any, logical: Logical | None) -> Any:
    if logical is None:
        return form
    data = dict(form) if isinstance(form, dict) else {"type": form}
    data["logicalType"] = logical.name
    if logical.precision is not None:
        data["precision"] = logical.precision
        data["scale"] = logical.scale or 0
    return data


class _Writer:
    """Writes a schema as JSON data: full names, and a namespace only where one must be left again."""

    def type(self, schema: Schema, space: str) -> Any:
        match schema:
            case Primitive():
                return _with_logical(schema.type, schema.logical)
            case Named():
                return schema.name
            case Array():
                return {"type": "array", "items": self.type(schema.items, space)}
            case Map():
                return {"type": "map", "values": self.type(schema.values, space)}
            case Union():
                return [self.type(branch, space) for branch in schema.branches]
            case Fixed():
                data = self._head("fixed", schema, space)
                return _with_logical({**data, "size": schema.size}, schema.logical)
            case Enum():
                data = self._head("enum", schema, space)
                data["symbols"] = list(schema.symbols)
                return data if schema.default is None else {**data, "default": schema.default}
            case Record():
                data = self._head("record", schema, space)
                data["fields"] = [self._field(one, namespace_of(schema.name)) for one in schema.fields]
                return data

    def _head(self, kind: str, schema: Record | Enum | Fixed, space: str) -> dict[str, Any]:
        data: dict[str, Any] = {"type": kind, "name": schema.name}
        if space and "." not in schema.name:
            data["namespace"] = ""
        if schema.aliases:
            # A bare alias would get the type's namespace; one without any can then not be written, nor was it.
            data["aliases"] = list(schema.aliases)
        if not isinstance(schema, Fixed) and schema.doc:
            data["doc"] = schema.doc
        return data

    def _field(self, one: Field, space: str) -> dict[str, Any]:
        data: dict[str, Any] = {"name": one.name, "type": self.type(one.schema, space)}
        if one.has_default:
            data["default"] = one.default
        if one.aliases:
            data["aliases"] = list(one.aliases)
        if one.doc:
            data["doc"] = one.doc
        return data
