"""Conversion of values between Arrow and fastavro, which is the oracle."""

from __future__ import annotations

import datetime
import io
import json
import struct
import uuid
from typing import Any

import fastavro

from blueprint.avro.model import Array, Contract, Enum, Fixed, Map, Primitive, Record, Schema, Union
from blueprint.avro.spark_types import member, optional
from streamlets.contract.types import is_null

MIDNIGHT = datetime.datetime(2000, 1, 1)


def to_fastavro(value: Any, schema: Schema, contract: Contract) -> Any:
    """Return a value for fastavro's writer, with named branches of unions."""
    found = contract.resolve(schema)
    if isinstance(found, Union):
        branch = _branch(value, found, contract)
        inner = value
        if isinstance(optional(found, contract)[0], Union) and value is not None:
            inner = next(one for one in value.values() if one is not None)
        name = "null" if value is None else _name(contract.resolve(branch))
        # A branch with a logical type is chosen by fastavro from the value alone.
        return (name, to_fastavro(inner, branch, contract))
    match found:
        case Record(fields=fields):
            return {f.name: to_fastavro(value[f.name], f.schema, contract) for f in fields}
        case Array(items=items):
            return [to_fastavro(item, items, contract) for item in value]
        case Map(values=values):
            return {key: to_fastavro(inner, values, contract) for key, inner in value}
    return value


def _branch(value: Any, union: Union, contract: Contract) -> Schema:
    branches = [branch for branch in union.branches if not is_null(branch)]
    if value is None:
        return Primitive("null")
    if isinstance(optional(union, contract)[0], Union):
        set_members = [number for number in range(len(branches)) if value[member(number)] is not None]
        return branches[set_members[0]]
    if len(branches) == 1:
        return branches[0]
    return next(b for b in branches if isinstance(b, Primitive) and b.type in ("long", "double"))


def _name(schema: Schema) -> str:
    match schema:
        case Primitive(type=name):
            return name
        case Record(name=name) | Enum(name=name) | Fixed(name=name):
            return name
        case Array():
            return "array"
        case Map():
            return "map"
    raise TypeError(schema)


def plain(value: Any, schema: Schema, contract: Contract) -> Any:
    """Return an Arrow value in the form that fastavro reads: unions as plain values, maps as dicts."""
    held, _ = optional(schema, contract)
    if value is None:
        return None
    match held:
        case Union(branches=branches):
            chosen = [(value[member(i)], b) for i, b in enumerate(branches) if value[member(i)] is not None]
            assert len(chosen) == 1, value
            return plain(*chosen[0], contract)
        case Record(fields=fields):
            return {f.name: plain(value[f.name], f.schema, contract) for f in fields}
        case Array(items=items):
            return [plain(item, items, contract) for item in value]
        case Map(values=values):
            return {key: plain(inner, values, contract) for key, inner in value}
        case Primitive(type="float"):
            return struct.unpack("f", struct.pack("f", value))[0]
    return value


def as_read(value: Any, schema: Schema, contract: Contract) -> Any:
    """Return a value read by fastavro with times of day as numbers, UUIDs as strings and floats of 32 bits."""
    held, _ = optional(schema, contract)
    match value:
        case None:
            return None
        case dict():
            inner = {f.name: f.schema for f in held.fields} if isinstance(held, Record) else {}
            return {k: as_read(v, inner.get(k) or _item(held), contract) for k, v in value.items()}
        case list():
            return [as_read(item, _item(held), contract) for item in value]
        case uuid.UUID():
            return str(value)
        case datetime.time():
            ticks = (datetime.datetime.combine(MIDNIGHT, value) - MIDNIGHT) // datetime.timedelta(microseconds=1)
            millis = isinstance(held, Primitive) and held.type == "int"
            return ticks // 1000 if millis else ticks
        case int() | float() if isinstance(held, Primitive) and held.type in ("float", "double"):
            return plain(float(value), held, contract)
    return value


def _item(held: Schema) -> Schema:
    match held:
        case Array(items=items):
            return items
        case Map(values=values):
            return values
        case Union():
            return held  # which branch does not matter: only floats, which no random union holds beside others
    return held


def fastavro_reads(value: Any, writer: Contract, reader: Contract) -> Any:
    """Return a record of the writer as fastavro reads it."""
    sink = io.BytesIO()
    write, read = fastavro.parse_schema(json.loads(writer.json)), fastavro.parse_schema(json.loads(reader.json))
    fastavro.schemaless_writer(sink, write, to_fastavro(value, writer.record, writer))
    sink.seek(0)
    return as_read(fastavro.schemaless_reader(sink, write, read), reader.record, reader)
