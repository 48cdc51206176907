"""Conversion of values without parts between Avro types, through the underlying value that Avro stores."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from blueprint.avro.model import Fixed, Logical, Primitive
from streamlets.contract.decimals import bytes_of, decimal_of
from streamlets.contract.types import arrow_leaf

if TYPE_CHECKING:
    import pyarrow as pa

    Step = Callable[[pa.Array], pa.Array]

Leaf = Primitive | Fixed


def reinterpret(writer: Leaf, reader: Leaf) -> Step | None:
    """Return the conversion of the writer's values to the reader's type; None if they are the same.

    Arguments:
        writer: the writer's type.
        reader: the reader's type: the same underlying type, or one that Avro promotes it to.
    """
    read = arrow_leaf(reader)
    if _type(writer) == _type(reader) and _view(writer) == _view(reader):
        return None
    if _decimal(writer) and _decimal(reader):
        return lambda values: _rescaled(values, read, _checked(writer, reader))
    return lambda values: _from_raw(_promoted(_to_raw(values, writer), reader), reader, read)


def _type(leaf: Leaf) -> str:
    return leaf.type if isinstance(leaf, Primitive) else "fixed"


def _view(leaf: Leaf) -> Logical | None:
    """Return the logical type if it changes how a value is stored."""
    import pyarrow as pa

    held = arrow_leaf(leaf)
    plain = arrow_leaf(Primitive(_type(leaf))) if isinstance(leaf, Primitive) else pa.binary()
    return None if held.equals(plain) else leaf.logical


def _decimal(leaf: Leaf) -> bool:
    return leaf.logical is not None and leaf.logical.name == "decimal"


def _checked(writer: Leaf, reader: Leaf) -> bool:
    assert writer.logical and reader.logical
    return (reader.logical.precision or 0) < (writer.logical.precision or 0)


def _rescaled(values: pa.Array, kind: pa.DataType, checked: bool) -> pa.Array:
    import pyarrow as pa

    viewed = pa.Array.from_buffers(kind, len(values), values.buffers(), offset=values.offset)
    if checked:
        viewed.validate(full=True)  # raises for numbers with more digits than the reader's precision
    return viewed


def _to_raw(values: pa.Array, leaf: Leaf) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    logical = _view(leaf)
    if logical is None:
        return values
    if logical.name == "decimal":
        size = leaf.size if isinstance(leaf, Fixed) else None
        return pa.array([None if v is None else bytes_of(v, logical.scale or 0, size) for v in values.to_pylist()])
    if logical.name == "date":
        return values.cast(pa.int32())
    ticks = values.cast(pa.int64())
    return pc.divide(ticks, 1000) if logical.name.endswith("-millis") else ticks


def _promoted(values: pa.Array, reader: Leaf) -> pa.Array:
    import pyarrow as pa

    kind = arrow_leaf(Primitive(_type(reader))) if isinstance(reader, Primitive) else pa.binary()
    if values.type.equals(kind):
        return values
    try:
        return values.cast(kind, safe=pa.types.is_string(kind))
    except pa.ArrowInvalid:
        # Invalid UTF-8 is replaced, as in Avro's Java reader.
        return pa.array([None if v is None else v.decode("utf-8", "replace") for v in values.to_pylist()], kind)


def _from_raw(values: pa.Array, leaf: Leaf, kind: pa.DataType) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    logical = _view(leaf)
    if logical is None:
        return values
    if logical.name == "decimal":
        numbers = (None if v is None else decimal_of(v, logical.scale or 0) for v in values.to_pylist())
        return pa.array(list(numbers), kind)
    if logical.name.endswith("-millis"):
        values = pc.multiply(values, 1000)
    return values.cast(kind)
