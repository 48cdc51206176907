"""Random contracts, their records, and compatible readers, for property tests."""

from __future__ import annotations

import copy
import datetime
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from blueprint.avro.model import Array, Contract, Enum, Fixed, Map, Primitive, Record, Schema, Union
from blueprint.avro.spark_types import member, optional

Json = Any

_LEAVES: list[Json] = [
    "boolean",
    "int",
    "long",
    "float",
    "double",
    "bytes",
    "string",
    {"type": "int", "logicalType": "date"},
    {"type": "long", "logicalType": "timestamp-micros"},
    {"type": "long", "logicalType": "timestamp-millis"},
    {"type": "long", "logicalType": "local-timestamp-micros"},
    {"type": "int", "logicalType": "time-millis"},
    {"type": "long", "logicalType": "time-micros"},
    {"type": "string", "logicalType": "uuid"},
    {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 3},
]
# Branches that fastavro's reader cannot mistake for each other: it takes the first that a value can be promoted to.
_BRANCHES: list[Json] = ["boolean", "long", "string", {"type": "array", "items": "string"}]


class _Names:
    """Unique names, because each named type is defined once."""

    def __init__(self) -> None:
        self.count = 0

    def next(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"


def _types(names: _Names, depth: int) -> st.SearchStrategy[Json]:
    leaf: st.SearchStrategy[Json] = st.one_of(
        st.sampled_from(_LEAVES),
        st.just("ENUM").map(lambda _: {"type": "enum", "name": names.next("Enum"), "symbols": ["A", "B", "C"]}),
        st.just("FIXED").map(lambda _: {"type": "fixed", "name": names.next("Fixed"), "size": 3}),
    )
    if depth == 0:
        return leaf
    inner = _types(names, depth - 1)
    not_union = inner.filter(lambda kind: not isinstance(kind, list))
    several = st.lists(st.sampled_from(_BRANCHES), min_size=2, max_size=4, unique_by=str)
    return st.one_of(
        leaf,
        inner.map(lambda items: {"type": "array", "items": items}),
        inner.map(lambda values: {"type": "map", "values": values}),
        not_union.map(lambda kind: ["null", kind]),
        not_union.map(lambda kind: [kind, "null"]),
        several,
        several.map(lambda branches: [branches[0], "null", *branches[1:]]),
        st.lists(inner, min_size=1, max_size=3).map(lambda kinds: _record(names.next("Record"), kinds)),
    )


def _record(name: str, kinds: list[Json]) -> Json:
    return {"type": "record", "name": name, "fields": [{"name": f"f{i}", "type": k} for i, k in enumerate(kinds)]}


@st.composite
def schemas(draw: st.DrawFn, depth: int = 2) -> Json:
    """Return the JSON of a contract."""
    names = _Names()
    kinds = draw(st.lists(_types(names, depth), min_size=1, max_size=4))
    return _record("Root", kinds)


@st.composite
def readers(draw: st.DrawFn, writer: Json) -> Json:
    """Return a reader's schema that can read every record of a writer."""
    return _evolved(draw, copy.deepcopy(writer))


_WIDER = {"int": ["long", "double"], "long": ["double"], "float": ["double"], "string": ["bytes"]}


def _evolved(draw: st.DrawFn, kind: Json) -> Json:
    match kind:
        case str() if kind in _WIDER:
            return draw(st.sampled_from([kind, *_WIDER[kind]]))
        case list():
            return [*kind, *draw(st.sampled_from([[], ["null"]]))] if "null" not in kind else kind
        case {"type": "array"}:
            return {**kind, "items": _evolved(draw, kind["items"])}
        case {"type": "map"}:
            return {**kind, "values": _evolved(draw, kind["values"])}
        case {"type": "enum"}:
            return draw(st.sampled_from([kind, {**kind, "symbols": ["C", "A"], "default": "A"}]))
        case {"type": "record"}:
            return _evolved_record(draw, kind)
    if isinstance(kind, (str, dict)) and draw(st.booleans()):
        return ["null", kind]
    return kind


def _evolved_record(draw: st.DrawFn, kind: Json) -> Json:
    fields = []
    for field in kind["fields"]:
        changed = {**field, "type": _evolved(draw, field["type"])}
        match draw(st.sampled_from(["stay", "stay", "rename", "drop"])):
            case "stay":
                fields.append(changed)
            case "rename":
                fields.append({**changed, "name": "new_" + field["name"], "aliases": [field["name"]]})
    fields.append({"name": "added", "type": ["null", "int"], "default": None})
    return {**kind, "fields": draw(st.permutations(fields))}


_TIMES = st.datetimes(datetime.datetime(1905, 1, 1), datetime.datetime(2100, 1, 1))
_UTC_TIMES = _TIMES.map(lambda time: time.replace(tzinfo=datetime.UTC))
_FLOATS = st.floats(allow_nan=False, width=32)


def values(schema: Schema, contract: Contract) -> st.SearchStrategy[Any]:
    """Return values of a schema, as in Arrow."""
    held, may_be_null = optional(schema, contract)
    found = _values(held, contract)
    return st.none() | found if may_be_null else found


def _values(held: Schema, contract: Contract) -> st.SearchStrategy[Any]:
    match held:
        case Record(fields=fields):
            return st.fixed_dictionaries({f.name: values(f.schema, contract) for f in fields})
        case Array(items=items):
            return st.lists(values(items, contract), max_size=3)
        case Map(values=inner):
            return st.dictionaries(st.text(max_size=3), values(inner, contract), max_size=3).map(
                lambda found: list(found.items())
            )
        case Union(branches=branches):
            return st.one_of(*(_set(member(i), values(b, contract), len(branches)) for i, b in enumerate(branches)))
        case Enum(symbols=symbols):
            return st.sampled_from(symbols)
        case Fixed(size=size):
            return st.binary(min_size=size, max_size=size)
        case Primitive(type=name, logical=logical):
            return _LEAF_VALUES[f"{name} {logical.name}" if logical else name]
    raise TypeError(held)


def _set(name: str, found: st.SearchStrategy[Any], members: int) -> st.SearchStrategy[Any]:
    empty = {member(i): None for i in range(members)}
    return found.map(lambda value: {**empty, name: value})


_LEAF_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "int": st.integers(-(2**31), 2**31 - 1),
    "long": st.integers(-(2**63), 2**63 - 1),
    "float": _FLOATS,
    "double": st.floats(allow_nan=False),
    "bytes": st.binary(max_size=4),
    "string": st.text(max_size=4),
    "int date": st.dates(datetime.date(1905, 1, 1), datetime.date(2100, 1, 1)),
    "long timestamp-micros": _UTC_TIMES,
    "long timestamp-millis": _UTC_TIMES.map(lambda time: time.replace(microsecond=time.microsecond // 1000 * 1000)),
    "long local-timestamp-micros": _TIMES,
    "int time-millis": st.integers(0, 86_399_999),
    "long time-micros": st.integers(0, 86_399_999_999),
    "string uuid": st.uuids().map(str),
    "bytes decimal": st.integers(-(10**12) + 1, 10**12 - 1).map(lambda number: Decimal(number).scaleb(-3)),
}
