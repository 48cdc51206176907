"""Spark's types as short texts."""

from __future__ import annotations

import json
from typing import Any


def type_text(type: Any) -> str:
    """Return a Spark type, as JSON has it, in short."""
    match type:
        case str():
            return type
        case {"type": "struct", "fields": fields}:
            return "struct<" + ", ".join(f"{field['name']}: {type_text(field['type'])}" for field in fields) + ">"
        case {"type": "array", "elementType": inner}:
            return f"array<{type_text(inner)}>"
        case {"type": "map", "keyType": key, "valueType": value}:
            return f"map<{type_text(key)}, {type_text(value)}>"
    return json.dumps(type, sort_keys=True)
