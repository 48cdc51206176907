"""Conversion of many plain rows at once: columns are checked by the types of their values, not value by value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from blueprint.avro.model import Contract, Primitive
from blueprint.avro.spark_types import optional

if TYPE_CHECKING:
    import pyarrow as pa

_TYPES: Mapping[str, frozenset[type]] = {
    "boolean": frozenset({bool}),
    "int": frozenset({int}),
    "long": frozenset({int}),
    "double": frozenset({float}),
    "string": frozenset({str}),
}
"""The Python types whose values are all values of a type, once Arrow has checked their range and their encoding."""


class PlainColumns:
    """The columns of a contract whose fields are all plain: without parts, logical types and bytes.

    Arguments:
        contract: the contract.
    """

    def __init__(self, contract: Contract) -> None:
        from streamlets.contract.types import arrow_schema

        self._schema = arrow_schema(contract)
        self._types: dict[str, frozenset[type]] | None = {}
        for field in contract.record.fields:
            held, nullable = optional(field.schema, contract)
            plain = isinstance(held, Primitive) and held.logical is None and held.type in _TYPES
            if not plain or self._types is None:
                self._types = None
            else:
                assert isinstance(held, Primitive)
                none = frozenset({type(None)}) if nullable else frozenset[type]()
                self._types[field.name] = _TYPES[held.type] | none

    def batch(self, rows: Sequence[Mapping[str, Any]]) -> pa.RecordBatch | None:
        """Return rows as an Arrow batch; None if values or the contract require to convert each by itself."""
        import pyarrow as pa

        if self._types is None or any(type(row) is not dict or len(row) != len(self._types) for row in rows):
            return None
        arrays = []
        try:
            for field in self._schema:
                values = [row[field.name] for row in rows]
                if not set(map(type, values)) <= self._types[field.name]:
                    return None
                arrays.append(pa.array(values, field.type))
        except (KeyError, OverflowError, UnicodeEncodeError, pa.ArrowException):
            return None
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)
