"""Texts of a schema: parsing canonical form, complete JSON text and fingerprint.

**A topic has one table per fingerprint of a writer's schema.** The fingerprint covers everything that determines how a
*writer's* bytes and columns are read: the parsing canonical form, logical types, precision and scale. The last three
change the Spark type of a column. It does not cover defaults, aliases and documentation. These only matter to readers
(Avro specification, "Schema Resolution": defaults and aliases of the *reader's* schema are used), and a reader always
brings its own schema. Two writers whose schemas differ only in these share a table, because their rows are the same
data. The schema stored with the table is then the schema of the first writer, which is correct for readers. An added
default must not split the history of a topic into two tables.
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
    """Return the contract with the root `record`.

    Arguments:
        record: a complete schema; its named types become the contract's names.
        file: the file that defines the schema, if any.
    """
    names: dict[str, Definition] = {}
    _collect(record, names)
    return Contract(record, names, json_text(record), fingerprint(record), file)


def canonical_form(schema: Schema) -> str:
    """Return Avro's parsing canonical form (specification 1.12, "Parsing Canonical Form for Schemas")."""
    return _compact(_canonical(schema, logical=False))


def fingerprint(schema: Schema) -> str:
    """Return the first 64 bits of the SHA-256 of canonical form, logical types, precision and scale, in hexadecimal."""
    text = _compact(_canonical(schema, logical=True))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def json_text(schema: Schema) -> str:
    """Return the complete schema as JSON text, with defaults, aliases, logical types and documentation."""
    return _compact(schema_json(schema))


def schema_json(schema: Schema) -> Any:
    """Return the complete schema as JSON data."""
    return _Writer().type(schema, "")


def _compact(data: object) -> str:
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False)


def _collect(schema: Schema, names: dict[str, Definition]) -> None:
    match schema:
        case Record():
            names[schema.name] = schema
            for field in schema.fields:
                _collect(field.schema, names)
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
            fields = [{"name": f.name, "type": _canonical(f.schema, logical=logical)} for f in schema.fields]
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
    """Writes a schema as JSON data, with full names; `namespace: ""` ends the namespace around a type."""

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
                data["fields"] = [self._field(field, namespace_of(schema.name)) for field in schema.fields]
                return data

    def _head(self, kind: str, schema: Record | Enum | Fixed, space: str) -> dict[str, Any]:
        data: dict[str, Any] = {"type": kind, "name": schema.name}
        if space and "." not in schema.name:
            data["namespace"] = ""
        if schema.aliases:
            # An alias without a dot gets the namespace of the type, so all aliases are full names.
            data["aliases"] = list(schema.aliases)
        if not isinstance(schema, Fixed) and schema.doc:
            data["doc"] = schema.doc
        return data

    def _field(self, field: Field, space: str) -> dict[str, Any]:
        data: dict[str, Any] = {"name": field.name, "type": self.type(field.schema, space)}
        if field.has_default:
            data["default"] = field.default
        if field.aliases:
            data["aliases"] = list(field.aliases)
        if field.doc:
            data["doc"] = field.doc
        return data
