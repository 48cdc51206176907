"""Checks of defaults: whether a default is valid for its field's type, and the branch of a union it belongs to.

Avro specification 1.12, "Complex Types", the table of field defaults: bytes and fixed are strings of the code points
0 to 255; the default of a union belongs to the first branch that it matches.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable

from blueprint.avro.model import Array, Enum, Fixed, Map, Named, Primitive, Record, Schema, Union, type_text

Lookup = Callable[[Named], Schema]
"""The definition a name stands for."""

INT_RANGE = range(-(2**31), 2**31)
LONG_RANGE = range(-(2**63), 2**63)


def why_not(value: object, schema: Schema, lookup: Lookup) -> str | None:
    """Return why a value is not a valid default, as a clause; None if it is valid.

    Arguments:
        value: JSON data.
        schema: the type of the field.
        lookup: returns the definition of a name in `schema`.
    """
    match schema:
        case Named():
            return why_not(value, lookup(schema), lookup)
        case Primitive():
            return _primitive(value, schema)
        case Fixed():
            if not _is_byte_text(value):
                return f"{_shown(value)} is not a string of code points 0 to 255"
            return None if len(str(value)) == schema.size else f"{_shown(value)} is not {schema.size} bytes long"
        case Enum():
            return None if value in schema.symbols else f"{_shown(value)} is not a symbol of `{schema.name}`"
        case Array():
            if not isinstance(value, list):
                return f"{_shown(value)} is not a list"
            return _first(why_not(item, schema.items, lookup) for item in value)
        case Map():
            if not isinstance(value, dict):
                return f"{_shown(value)} is not an object"
            return _first(why_not(item, schema.values, lookup) for item in value.values())
        case Record():
            return _record(value, schema, lookup)
        case Union():
            if branch_of(value, schema, lookup) is not None:
                return None
            return f"{_shown(value)} does not match any branch of `{type_text(schema)}`"


def branch_of(value: object, union: Union, lookup: Lookup) -> int | None:
    """Return the number (from 0) of the first branch that a default matches; None if it matches no branch.

    Arguments:
        value: JSON data.
        union: the type of the field.
        lookup: returns the definition of a name in `union`.
    """
    for number, branch in enumerate(union.branches):
        if why_not(value, branch, lookup) is None:
            return number
    return None


def _primitive(value: object, schema: Primitive) -> str | None:
    if _PRIMITIVES[schema.type](value):
        return None
    if schema.type == "bytes" and isinstance(value, str):
        return f"{_shown(value)} is not a string of code points 0 to 255"
    if schema.type in ("int", "long") and isinstance(value, int) and not isinstance(value, bool):
        return f"{_shown(value)} is out of range for `{schema.type}`"
    return f"{_shown(value)} is not of type `{schema.type}`"


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # an integer of more than 308 digits
        return False


def _is_byte_text(value: object) -> bool:
    return isinstance(value, str) and all(ord(letter) < 256 for letter in value)


_PRIMITIVES: dict[str, Callable[[object], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "int": lambda value: _is_int(value) and value in INT_RANGE,
    "long": lambda value: _is_int(value) and value in LONG_RANGE,
    "float": _is_number,
    "double": _is_number,
    "bytes": _is_byte_text,
    "string": lambda value: isinstance(value, str),
}


def _record(value: object, schema: Record, lookup: Lookup) -> str | None:
    if not isinstance(value, dict):
        return f"{_shown(value)} is not an object"
    for field in schema.fields:
        if field.name in value:
            wrong = why_not(value[field.name], field.schema, lookup)
            if wrong:
                return f"`{field.name}`: {wrong}"
        elif not field.has_default:
            return f"it has no value for `{field.name}`, which has no default"
    unknown = [name for name in value if name not in {field.name for field in schema.fields}]
    return f"`{schema.name}` has no field `{unknown[0]}`" if unknown else None


def _first(clauses: Iterable[str | None]) -> str | None:
    return next((clause for clause in clauses if clause), None)


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return f"`{text if len(text) <= 40 else text[:37] + '...'}`"
