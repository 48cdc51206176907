"""Logical types, the types they apply to, and the checks of their attributes.

Avro specification 1.12, "Logical Types": an invalid logical type is ignored and the underlying type used.
"""

from __future__ import annotations

import difflib
import math

from blueprint.avro.model import Logical
from blueprint.wording import counted

LOGICAL_TYPES: dict[str, tuple[str, ...]] = {
    "decimal": ("bytes", "fixed"),
    "big-decimal": ("bytes",),
    "uuid": ("string", "fixed"),
    "date": ("int",),
    "time-millis": ("int",),
    "time-micros": ("long",),
    "timestamp-millis": ("long",),
    "timestamp-micros": ("long",),
    "timestamp-nanos": ("long",),
    "local-timestamp-millis": ("long",),
    "local-timestamp-micros": ("long",),
    "local-timestamp-nanos": ("long",),
    "duration": ("fixed",),
}
"""Logical types and the types that they apply to."""

_FIXED_SIZES = {"uuid": 16, "duration": 12}


def logical_type(name: object, type_name: str, size: int, precision: object, scale: object) -> Logical | str:
    """Return the logical type of these attributes, or a clause that says why it is invalid.

    Arguments:
        name: the attribute `logicalType`.
        type_name: `bytes`, `fixed`, `int` and so on.
        size: bytes of a fixed; 0 for other types.
        precision: the attribute of this name, None when absent.
        scale: the attribute of this name, None when absent.
    """
    if not isinstance(name, str):
        return "its name must be a string"
    if name not in LOGICAL_TYPES:
        near = difflib.get_close_matches(name, LOGICAL_TYPES, n=1)
        return "there is no such logical type" + (f"; did you mean `{near[0]}`?" if near else "")
    if type_name not in LOGICAL_TYPES[name]:
        return f"it applies to {_one_of(LOGICAL_TYPES[name])}, not to `{type_name}`"
    if type_name == "fixed" and name in _FIXED_SIZES and size != _FIXED_SIZES[name]:
        return f"it requires a fixed of {_FIXED_SIZES[name]} bytes, not {size}"
    if name == "decimal":
        return _decimal(size if type_name == "fixed" else None, precision, scale)
    return Logical(name)


def digits_of_fixed(size: int) -> int:
    """Return how many decimal digits fit into a fixed of `size` bytes (the specification's formula)."""
    return math.floor(math.log10(2) * (8 * size - 1)) if size else 0


def _decimal(size: int | None, precision: object, scale: object) -> Logical | str:
    if scale is None:
        scale = 0
    if not isinstance(precision, int) or isinstance(precision, bool) or precision < 1:
        return "its `precision` must be a positive integer"
    if not isinstance(scale, int) or isinstance(scale, bool) or scale < 0:
        return "its `scale` must be a non-negative integer"
    if scale > precision:
        return f"its scale {scale} is greater than its precision {precision}"
    if size is not None and precision > digits_of_fixed(size):
        return f"{counted(size, 'byte holds', 'bytes hold')} {counted(digits_of_fixed(size), 'digit')}, not {precision}"
    return Logical("decimal", precision, scale)


def _one_of(names: tuple[str, ...]) -> str:
    return " or ".join(f"`{name}`" for name in names)
