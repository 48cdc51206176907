"""Conversion of values to an Arrow type of the same structure: other names and nullability, leaves cast.

Arrow's own cast refuses to make a field `not null` that has no values under null parents, but Spark expects this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


def relabel(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return the values as type `kind`; parts are matched by position, and unchanged buffers are not copied."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if values.type.equals(kind):
        return values
    if pa.types.is_struct(kind):
        fields = list(kind)
        parts = [relabel(pc.struct_field(values, [i]), field.type) for i, field in enumerate(fields)]
        return pa.StructArray.from_arrays(parts, fields=fields, mask=null_mask(values))
    if pa.types.is_map(kind):
        offsets, start, length = extent(values)
        keys, items = values.keys.slice(start, length), values.items.slice(start, length)
        items = relabel(items, kind.item_type)
        return pa.MapArray.from_arrays(offsets, keys, items, type=kind, mask=null_mask(values))
    if pa.types.is_list(kind):
        offsets, start, length = extent(values)
        items = relabel(values.values.slice(start, length), kind.value_type)
        return pa.ListArray.from_arrays(offsets, items, type=kind, mask=null_mask(values))
    return values.cast(kind)


def extent(lists: pa.ListArray | pa.MapArray) -> tuple[pa.Array, int, int]:
    """Return offsets that start at 0, and the start and number of the items they refer to, also for a sliced array."""
    import pyarrow.compute as pc

    start, end = lists.offsets[0].as_py(), lists.offsets[-1].as_py()
    return pc.subtract(lists.offsets, start), start, end - start


def null_mask(values: pa.Array) -> pa.Array | None:
    """Return the mask of null values for array builders; None if no value is null."""
    return values.is_null() if values.null_count else None
