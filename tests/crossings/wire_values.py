"""The types of contracts and the texts of JSON that `test_wire_formats.py` crosses."""

from __future__ import annotations

import json
from typing import Any

from blueprint.avro import Contract, parse_contract
from blueprint.avro.spark_types import LEAVES

INVALID = "not a record"

_ATTRIBUTES: dict[str, dict[str, Any]] = {
    "decimal": {"precision": 5, "scale": 2},
    "enum": {"name": "Colour", "symbols": ["RED", "true", "x"]},
    "fixed": {"name": "Hash", "size": 3},
}
_SIZES = {"duration": 12, "uuid": 16, "decimal": 3}


def _leaf(kind: str, logical: str) -> Any:
    attributes = _ATTRIBUTES.get(kind, {}) | _ATTRIBUTES.get(logical, {})
    if kind == "fixed" and logical in _SIZES:
        attributes |= {"size": _SIZES[logical]}
    if not logical and not attributes:
        return kind
    return {"type": kind, **({"logicalType": logical} if logical else {}), **attributes}


TYPES: dict[str, Any] = {f"{kind} {logical}".strip(): _leaf(kind, logical) for kind, logical in LEAVES}
"""Each type of the project's table, by its name."""

TYPES |= {
    "int or long": ["int", "long"],
    "long or int": ["long", "null", "int"],
    "float or double": ["float", "double"],
    "array": {"type": "array", "items": "int"},
    "array of optional": {"type": "array", "items": ["null", "string"]},
    "map": {"type": "map", "values": "long"},
    "record": {
        "type": "record",
        "name": "Inner",
        "fields": [
            {"name": "a", "type": "int"},
            {"name": "b", "type": ["null", "string"]},
            {"name": "c", "type": "long", "default": 7},
        ],
    },
    "array of records": {
        "type": "array",
        "items": {
            "type": "record",
            "name": "Item",
            "fields": [{"name": "a", "type": {"type": "map", "values": "int"}}],
        },
    },
}

BINARY_ONLY: dict[str, Any] = {"string or boolean": ["string", "boolean"], "three": ["null", "int", "string", "bytes"]}
"""Unions of several types, which JSON does not tell apart."""


def contract_of(kind: Any, **attributes: Any) -> Contract:
    """Return a contract with the field `f`."""
    fields = [{"name": "f", "type": kind, **attributes}, {"name": "last", "type": ["null", "string"]}]
    return parse_contract(json.dumps({"type": "record", "name": "Root", "fields": fields}))


NUMBERS = [
    "0",
    "-0",
    "1",
    "-1",
    "7",
    "127",
    "2147483647",
    "2147483648",
    "-2147483648",
    "-2147483649",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775809",
    "1.0",
    "5.00",
    "1.5",
    "1.239",
    "-1.23",
    "999.99",
    "999.999",
    "1000",
    "1000.0",
    "0.1",
    "-0.0",
    "1e2",
    "1E+2",
    "1.5e0",
    "1e400",
    "-1e400",
    "1e39",
    "3.4028235e38",
    "1e-400",
    "0.00000000000000000000000000000000000000000001",
    "123456789012345678901234567890.5",
    "99999999999999999999999999999999999999",
    "123456789012345678901234567890123456789012345",
    "1700000000",
    "1700000000000",
    "1700000000000000",
    "1700000000000000000",
    "86399999",
    "86400000",
    "86399999999",
    "86400000000",
    "7776000000",
    "7775999999",
    "-7776000000",
    "-1",
    "7258118399999",
    "7258118400000",
    "-2208988800000",
    "-2208988800001",
    "01",
    "+1",
    ".5",
    "1.",
    "NaN",
    "Infinity",
    "0x1",
]
STRINGS = [
    "", "x", "RED", "red", "1", "true", "null", "NaN", "Infinity", "-Infinity", "+INF", "nan",
    "1.23", "1.239", "1.230",
    "001.2", "-.5", "1.", "1e2", "999.99", "1000.00", " 1", "1 ", "1\n", "١", "AQID", "AQI=",
    "AQI", "AQJ=", "AQ ID",
    "AQID\n", "AQ-_", "AAAA", "AQIDBAUGBwgJCgsM", "AQIDBAUGBwgJCgsMDQ4PEA==", "2013-07-01",
    "2013-7-1", "2013-02-30", "2012-02-29", "0000-01-01", "0001-01-01",
    "9999-12-31", "10000-01-01", "+2013-07-01", "20130701", "2013-07", "2013-07-01T", "2013-07-01T12:00",
    "2013-07-01T12:00:00", "2013-07-01 12:00:00", "2013-07-01T12:00:00Z", "2013-07-01T12:00:00z",
    "2013-07-01T12:00:00+02:00", "2013-07-01T12:00:00+0200", "2013-07-01T12:00:00-0330",
    "2013-07-01T12:00:00+02",
    "2013-07-01T12:00:00.1Z", "2013-07-01T12:00:00.123", "2013-07-01T12:00:00.123456",
    "2013-07-01T12:00:00.123456Z",
    "2013-07-01T12:00:00.123400Z", "2013-07-01T12:00:00.1234567Z", "2013-07-01T12:00:00.123456000Z",
    "2013-07-01T12:00:00.Z", "2013-07-01T24:00:00Z", "2013-07-01T23:59:60Z", "2013-07-01T12:60:00Z",
    "2013-03-31T02:30:00", "2013-07-01T12:00:00+19:00", "2013-07-01T12:00:00 Europe/Berlin",
    "0001-01-01T00:00:00+02:00",
    "9999-12-31T23:59:59-02:00", "9999-12-31T23:59:59.999999Z", "now", "today", "epoch", "12:00", "12:00:00",
    "12:00:00.5", "12:00:00.123456", "12:00:00.1234567", "24:00:00", "12:00:00Z",
    "6f1ed002-ab58-4b1f-9c0f-1a2b3c4d5e6f",
    "6f1ed002ab584b1f9c0f1a2b3c4d5e6f", "6f1ed002-ab58-4b1f-9c0f-1a2b3c4d5e6f\n", "日本\U0001f600",
]  # fmt: skip
OTHERS = [
    "null", "true", "false", "[]", "{}", "[1]", "[1,null]", '["a",null]', '[1,"2"]', "[1.0]",
    '{"a":1}', '{"a":null}',
    '{"A":1}', '{"a":1,"b":"x","c":2}', '{"a":1,"b":2}', '{"a":1,"d":[{}]}', '{"a":1,"a":2}',
    '{"a":1,"c":null}',
    '[{"a":{}}]', '[{"a":{"k":1}},{"a":{"k":"1"}}]', '[{"a":{"k":1}},null]',
    '{"k":9223372036854775807}', '{"k":1.5}',
    '"\\ud83d\\ude00"', '"\\ud83d"', '"\\ude00"', '"\\ude00\\ud83d"', '"\\\\ud83d"', '"\\u0000"',
    '"a\tb"', '"\\x"',
    "[1,]", "'x'", "// c\n1", "[[1]]", "True",
]  # fmt: skip
TEXTS = [*NUMBERS, *(json.dumps(text, ensure_ascii=False) for text in STRINGS), *OTHERS]
"""The texts of the member `f`."""

MESSAGES = [
    *(b'{"f":' + text.encode() + b"}" for text in TEXTS),
    b"", b" ", b"null", b"1", b'"x"', b"[]", b"{}", b'{"F":1}', b'{"last":"x"}', b'{"f":1,"f":2}',
    b'{"f":1,"g":1,"g":2}',
    b'{"f":1} x', b'{"f":1}{"f":2}', b'{"f":1},{"f":2}', b'{"f":1}]', b'[{"f":1}]', b'{"f":1}] x',
    b' {"f" : 1 }\n',
    b'{"f":1}\x00', b'\xef\xbb\xbf{"f":1}', b'{"f":"\xff"}', b'{"f":1,"last":"\xff"}', b'{"f":1,"\xff":1}',
    '{"f":1}'.encode("utf-16"), '{"f":1}'.encode("utf-16-le"), b'{"f":1', b"{f:1}", b'{"f":1,"last":2}',
    b'{"f":1,"last":null}', b'{"f":1,"more":{"deep":[1,{"x":null}]}}', b'{"f":1,"":2}', b'{"f":1,"g":NaN}',
    b'{"f":' + b"9" * 1001 + b"}", b'{"f":1,"g":' + b"[" * 400 + b"]" * 400 + b"}",
]  # fmt: skip
