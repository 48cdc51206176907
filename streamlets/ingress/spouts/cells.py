"""Values of cells and of JSON objects, before they are checked against a contract."""

from __future__ import annotations

import math
from typing import Any

from blueprint.avro.model import Contract, Primitive
from blueprint.avro.spark_types import optional
from blueprint.quantities import boolean


def cell_value(cell: str, schema: Any, contract: Contract, null: str = "") -> object:
    """Return the value of a cell for a type; a cell that is not of the type stays a string, which the check reports."""
    held, nullable = optional(schema, contract)
    if cell == null and nullable:
        return None
    kind = held.type if isinstance(held, Primitive) and held.logical is None else ""
    try:
        match kind:
            case "int" | "long":
                return int(cell)
            case "float" | "double":
                number = float(cell)
                return cell if math.isinf(number) and "inf" not in cell.lower() else number
            case "boolean":
                value = boolean(cell.lower())
                return cell if value is None else value
            case "bytes":
                return cell.encode("utf-8", errors="surrogateescape")
            case _:
                return cell
    except ValueError:
        return cell


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs of a JSON object.

    Raises:
        ValueError: a key is there twice.
    """
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key `{next(key for n, key in enumerate(keys) if key in keys[:n])}` is there twice")
    return found
