"""Cases of schema resolution as data: (writer, reader, record) and the value read, on every channel.

Records and values are as Arrow returns them in Python: a union of several branches is a struct of `member<n>`, a map a
list of pairs. `oracle` says whether fastavro must agree; comments explain the exceptions.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

UTC = datetime.UTC


@dataclass(frozen=True)
class Case:
    """Two types of a field `f`, and pairs of written and read values; `MISSING` for a field that the writer lacks."""

    name: str
    writer: Any
    reader: Any
    values: tuple[tuple[Any, Any], ...]
    oracle: bool = True
    reader_extra: tuple[tuple[str, Any], ...] = ()


MISSING = "<missing>"


def record(kind: Any, **attributes: Any) -> dict[str, Any]:
    """Return a record with the field `f`, or without fields."""
    fields = [] if kind == MISSING else [{"name": "f", "type": kind, **attributes}]
    return {"type": "record", "name": "Root", "fields": [{"name": "id", "type": "int"}, *fields]}


def enum(*symbols: str, **attributes: Any) -> dict[str, Any]:
    return {"type": "enum", "name": "Colour", "symbols": list(symbols), **attributes}


def logical(kind: str, name: str, **attributes: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": name, **attributes}


def point(*fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": "Point", "fields": [f if isinstance(f, dict) else _double(f) for f in fields]}


def _double(name: str) -> dict[str, Any]:
    return {"name": name, "type": "double"}


def array(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


def mapping(values: Any) -> dict[str, Any]:
    return {"type": "map", "values": values}


def fixed(size: int, **attributes: Any) -> dict[str, Any]:
    return {"type": "fixed", "name": "Hash", "size": size, **attributes}


def _same(*values: Any) -> tuple[tuple[Any, Any], ...]:
    return tuple((value, value) for value in values)


NOON = datetime.datetime(2013, 7, 1, 12, 0, 0, 123456, tzinfo=UTC)
NOON_MS = NOON.replace(microsecond=123000)
EARLY = datetime.datetime(1901, 2, 3, 4, 5, 6, 7, tzinfo=UTC)

SAME_TYPE = [
    Case(f"{kind} as it is", kind, kind, _same(*values))
    for kind, values in {
        "boolean": (True, False),
        "int": (0, -(2**31), 2**31 - 1),
        "long": (0, -(2**63), 2**63 - 1),
        "float": (0.0, -1.5, 3.4028234663852886e38),
        "double": (0.0, 1e-300, 2.5),
        "bytes": (b"", b"\x00\xff"),
        "string": ("", "héé", "日本"),
    }.items()
]

LOGICAL = [
    Case("date", logical("int", "date"), logical("int", "date"), _same(datetime.date(2013, 1, 1))),
    Case("microseconds", logical("long", "timestamp-micros"), logical("long", "timestamp-micros"), _same(NOON, EARLY)),
    Case("milliseconds", logical("long", "timestamp-millis"), logical("long", "timestamp-millis"), _same(NOON_MS)),
    Case(
        "local time",
        logical("long", "local-timestamp-micros"),
        logical("long", "local-timestamp-micros"),
        _same(NOON.replace(tzinfo=None)),
    ),
    Case("time of day", logical("int", "time-millis"), logical("int", "time-millis"), _same(0, 86_399_999)),
    Case("time of day, fine", logical("long", "time-micros"), logical("long", "time-micros"), _same(86_399_999_999)),
    Case(
        "decimal in bytes",
        logical("bytes", "decimal", precision=9, scale=2),
        logical("bytes", "decimal", precision=9, scale=2),
        _same(Decimal("1234567.89"), Decimal("-0.01")),
    ),
    Case(
        "decimal in fixed",
        fixed(4, logicalType="decimal", precision=9, scale=2),
        fixed(4, logicalType="decimal", precision=9, scale=2),
        _same(Decimal("1234567.89"), Decimal("-0.01")),
    ),
    Case("uuid", logical("string", "uuid"), logical("string", "uuid"), _same("6f1ed002-ab58-4b1f-9c0f-1a2b3c4d5e6f")),
    # fastavro reads with the writer's logical type; Avro passes on the underlying value, and so do we.
    Case("date read as a number", logical("int", "date"), "int", ((datetime.date(1970, 1, 11), 10),), oracle=False),
    Case("number read as a date", "int", logical("int", "date"), ((10, datetime.date(1970, 1, 11)),), oracle=False),
    Case(
        "milliseconds read as a number", logical("long", "timestamp-millis"), "long", ((NOON_MS, 1372680000123),), False
    ),
    Case(
        "milliseconds read as microseconds",
        logical("long", "timestamp-millis"),
        logical("long", "timestamp-micros"),
        ((datetime.datetime(1970, 1, 12, tzinfo=UTC), datetime.datetime(1970, 1, 1, 0, 15, 50, 400000, tzinfo=UTC)),),
        oracle=False,
    ),
    Case(
        "microseconds read as milliseconds",
        logical("long", "timestamp-micros"),
        logical("long", "timestamp-millis"),
        ((datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), datetime.datetime(1970, 1, 1, 0, 16, 40, tzinfo=UTC)),),
        oracle=False,
    ),
    Case(
        "decimal read with another scale",
        logical("bytes", "decimal", precision=9, scale=2),
        logical("bytes", "decimal", precision=9, scale=1),
        ((Decimal("12.34"), Decimal("123.4")),),
        oracle=False,
    ),
    Case(
        "decimal read as bytes",
        logical("bytes", "decimal", precision=9, scale=2),
        "bytes",
        ((Decimal("1.28"), b"\x00\x80"), (Decimal("-1.28"), b"\x80"), (Decimal("0.00"), b"\x00")),
        oracle=False,
    ),
    Case(
        "bytes read as decimal",
        "bytes",
        logical("bytes", "decimal", precision=9, scale=2),
        ((b"\x00\x80", Decimal("1.28")),),
        oracle=False,
    ),
    Case("date promoted to long", logical("int", "date"), "long", ((datetime.date(1970, 1, 11), 10),), oracle=False),
]

PROMOTIONS = [
    Case("int to long", "int", "long", _same(-1, 2**31 - 1)),
    Case("int to float", "int", "float", ((16777217, 16777216.0), (-3, -3.0))),
    Case("int to double", "int", "double", ((2**31 - 1, 2147483647.0),)),
    Case("long to float", "long", "float", ((3, 3.0),)),
    Case("long to double", "long", "double", ((2**53 + 1, 9007199254740992.0),)),
    Case("float to double", "float", "double", ((0.5, 0.5),)),
    Case("string to bytes", "string", "bytes", (("é", b"\xc3\xa9"),)),
    Case("bytes to string", "bytes", "string", ((b"\xc3\xa9", "é"),)),
    # Java's reader replaces invalid UTF-8; fastavro raises.
    Case("bytes that are not UTF-8", "bytes", "string", ((b"a\xff", "a�"),), oracle=False),
]

ENUMS = [
    Case("symbols stay", enum("RED", "BLUE"), enum("RED", "BLUE"), _same("RED", "BLUE")),
    Case("more symbols", enum("RED", "BLUE"), enum("BLUE", "RED", "GREEN"), _same("RED", "BLUE")),
    Case(
        "a symbol that went becomes the default",
        enum("RED", "BLUE", "GREEN"),
        enum("RED", "OTHER", default="OTHER"),
        (("RED", "RED"), ("BLUE", "OTHER"), ("GREEN", "OTHER")),
    ),
    Case("fixed", fixed(3), fixed(3), _same(b"abc")),
]

NESTED = [
    Case("record", point("x", "y"), point("x", "y"), _same({"x": 1.0, "y": 2.0})),
    Case("fields in another order", point("x", "y"), point("y", "x"), (({"x": 1.0, "y": 2.0}, {"y": 2.0, "x": 1.0}),)),
    Case("a field that the reader omits", point("x", "y"), point("y"), (({"x": 1.0, "y": 2.0}, {"y": 2.0}),)),
    Case(
        "a field with a default",
        point("x"),
        point("x", {"name": "z", "type": "int", "default": 7}),
        (({"x": 1.0}, {"x": 1.0, "z": 7}),),
    ),
    Case(
        "a field under another name",
        point("x"),
        point({"name": "lon", "type": "double", "aliases": ["x"]}),
        (({"x": 1.0}, {"lon": 1.0}),),
    ),
    Case(
        "a record in a record that may be null",
        ["null", point("x")],
        ["null", point("x", {"name": "z", "type": ["null", "string"], "default": None})],
        ((None, None), ({"x": 1.0}, {"x": 1.0, "z": None})),
    ),
    Case("array", array("int"), array("int"), _same([], [1, 2])),
    Case("array of wider items", array("int"), array("double"), (([1, 2], [1.0, 2.0]), ([], []))),
    Case("array with nulls", array(["null", "int"]), array(["null", "long"]), _same([1, None, 2], [None])),
    Case("array that may be null", ["null", array("int")], ["null", array("long")], _same(None, [3], [])),
    Case("items that may now be null", array("int"), array(["null", "int"]), _same([1])),
    Case(
        "array of records",
        array(point("x", "y")),
        array(point("y")),
        (([{"x": 1.0, "y": 2.0}, {"x": 3.0, "y": 4.0}], [{"y": 2.0}, {"y": 4.0}]),),
    ),
    Case("map", mapping("int"), mapping("int"), _same([("a", 1)], [])),
    Case("map of wider values", mapping("int"), mapping("long"), _same([("a", 1), ("b", 2)], [])),
    Case("map with nulls", mapping(["null", "float"]), mapping(["null", "double"]), _same([("a", None), ("b", 0.5)])),
    Case(
        "arrays in maps in arrays", array(mapping(array("int"))), array(mapping(array("long"))), _same([[("a", [1])]])
    ),
]

TWO = ["int", "string"]
UNIONS = [
    Case("null first or last", ["null", "int"], ["int", "null"], _same(None, 1)),
    Case("into a union with null", "int", ["null", "int"], _same(1)),
    Case("into a union, promoted", "int", ["null", "double"], ((1, 1.0),)),
    Case("out of a union", ["int"], "int", _same(1)),
    Case("int and long are long", ["int", "long"], ["int", "long"], _same(1, 2**40)),
    Case("float and double are double", ["null", "float", "double"], ["double", "null"], _same(0.5, None)),
    Case("two branches", TWO, TWO, _same({"member0": 1, "member1": None}, {"member0": None, "member1": "a"})),
    Case(
        "two branches and null",
        ["int", "null", "string"],
        ["null", "int", "string"],
        _same({"member0": 1, "member1": None}, {"member0": None, "member1": "a"}, None),
    ),
    Case(
        "branches in another order",
        TWO,
        ["string", "int"],
        (
            ({"member0": 1, "member1": None}, {"member0": None, "member1": 1}),
            ({"member0": None, "member1": "a"}, {"member0": "a", "member1": None}),
        ),
    ),
    Case("into a wider union", "string", TWO, (("a", {"member0": None, "member1": "a"}),)),
    Case(
        "null into a wider union",
        ["null", "string"],
        ["null", "int", "string"],
        ((None, None), ("a", {"member0": None, "member1": "a"})),
    ),
    Case(
        "branches become one type",
        ["int", "float"],
        "double",
        (({"member0": 1, "member1": None}, 1.0), ({"member0": None, "member1": 0.5}, 0.5)),
    ),
    Case(
        "records and arrays as branches",
        [point("x"), array("int")],
        [array("long"), point("x", {"name": "z", "type": "int", "default": 1})],
        (
            ({"member0": {"x": 1.0}, "member1": None}, {"member0": None, "member1": {"x": 1.0, "z": 1}}),
            ({"member0": None, "member1": [1]}, {"member0": [1], "member1": None}),
        ),
    ),
    Case(
        "unions in arrays",
        array(["null", *TWO]),
        array([*TWO, "boolean", "null"]),
        (
            (
                [None, {"member0": 1, "member1": None}],
                [None, {"member0": 1, "member1": None, "member2": None}],
            ),
        ),
    ),
]


def _default(name: str, kind: Any, json: Any, value: Any, oracle: bool = True) -> Case:
    return Case(f"default: {name}", MISSING, kind, ((MISSING, value),), oracle, (("default", json),))


DEFAULTS = [
    _default("null", ["null", "int"], None, None),
    _default("boolean", "boolean", True, True),
    _default("int", "int", 5, 5),
    _default("double from an integer", "double", 5, 5.0),
    _default("string", "string", "x", "x"),
    _default("enum", enum("RED", "BLUE"), "BLUE", "BLUE"),
    _default("first branch", ["int", "null"], 5, 5),
    _default("record", point("x", {"name": "z", "type": "int", "default": 7}), {"x": 1.5}, {"x": 1.5, "z": 7}, False),
    _default("array", array("int"), [1, 2], [1, 2]),
    _default("empty array", array(point("x")), [], []),
    _default("map", mapping("long"), {"a": 1}, [("a", 1)]),
    _default("empty map", mapping("long"), {}, []),
    _default("union", [*TWO, "null"], 3, {"member0": 3, "member1": None}),
    # fastavro gives defaults as the schema's JSON has them; the specification says what they mean.
    _default("bytes", "bytes", "\u00ff\u0000", b"\xff\x00", False),
    _default("fixed", fixed(2), "\u0001\u0002", b"\x01\x02", False),
    _default("date", logical("int", "date"), 10, datetime.date(1970, 1, 11), False),
    _default("milliseconds", logical("long", "timestamp-millis"), 1372680000123, NOON_MS, False),
    _default("microseconds", logical("long", "timestamp-micros"), 1372680000123456, NOON, False),
    _default(
        "local time", logical("long", "local-timestamp-micros"), 1372680000123456, NOON.replace(tzinfo=None), False
    ),
    _default("decimal", logical("bytes", "decimal", precision=9, scale=2), "\u0000\u0080", Decimal("1.28"), False),
    _default("a later branch", ["null", "string"], "x", "x", False),
]

CASES = [*SAME_TYPE, *LOGICAL, *PROMOTIONS, *ENUMS, *NESTED, *UNIONS, *DEFAULTS]
