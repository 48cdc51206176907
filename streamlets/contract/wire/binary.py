"""Avro's binary encoding of Arrow records, through fastavro.

fastavro converts between bytes and the values that Avro stores. Logical types are converted on whole Arrow arrays, by
the same code that resolves schemas.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from typing import TYPE_CHECKING, Any

from blueprint.avro.canonical import contract_of
from blueprint.avro.model import Array, Contract, Enum, Field, Fixed, Logical, Map, Primitive, Record, Schema, Union
from blueprint.avro.spark_types import member, wider_of
from blueprint.wording import counted
from streamlets.contract.resolve import resolver
from streamlets.contract.types import arrow_schema, is_null
from streamlets.contract.wire.errors import UndecodableError
from streamlets.contract.wire.strict import check_encoding

if TYPE_CHECKING:
    import pyarrow as pa

    Change = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class BinaryCodec:
    """Encodes and decodes the records of a contract.

    Arguments:
        contract: the contract of the writer.
    """

    contract: Contract
    _schema: Any
    _to_avro: Change
    _from_avro: Change
    _stored: Callable[[pa.RecordBatch], pa.RecordBatch]
    _logical: Callable[[pa.RecordBatch], pa.RecordBatch]
    _stored_schema: pa.Schema

    def encode(self, rows: pa.RecordBatch) -> list[bytes]:
        """Return the encoded records.

        Arguments:
            rows: the records, with the Arrow schema of the contract.
        """
        from fastavro import schemaless_writer

        result = []
        for row in self._stored(rows).to_pylist():
            out = BytesIO()
            schemaless_writer(out, self._schema, self._to_avro(row))
            result.append(out.getvalue())
        return result

    def decode(self, data: bytes, start: int = 0) -> object:
        """Return a record as a value for `rows`.

        Arguments:
            data: the bytes of the record, and what is before them.
            start: the number of the record's first byte.

        Raises:
            UndecodableError: the bytes are not exactly one record of the contract.
        """
        from fastavro import schemaless_reader

        stream = BytesIO(data)
        stream.seek(start)
        try:
            value = schemaless_reader(
                stream, self._schema, None, return_record_name=True, return_record_name_override=True
            )
            if remaining := len(data) - stream.tell():
                raise ValueError(f"{counted(remaining, 'byte remains', 'bytes remain')} after its end")
            if not self._is_usual(value, data, start):
                check_encoding(self.contract, data, start)
            return self._from_avro(value)
        except Exception as error:
            raise UndecodableError(
                f"the bytes are not a record `{self.contract.record.name}`: {_text(error)}"
            ) from error

    def _is_usual(self, value: object, data: bytes, start: int) -> bool:
        """Return whether a writer would write the same bytes.

        Other bytes may be a less usual encoding, or bytes that fastavro takes for one.
        """
        from fastavro import schemaless_writer

        out = BytesIO()
        try:
            schemaless_writer(out, self._schema, value)
        except (TypeError, ValueError, OverflowError):
            return False
        return out.getvalue() == data[start:]

    def rows(self, values: Sequence[object]) -> pa.RecordBatch:
        """Return decoded records in the Arrow schema of the contract."""
        import pyarrow as pa

        return self._logical(pa.RecordBatch.from_pylist(list(values), schema=self._stored_schema))


@functools.lru_cache(maxsize=256)
def binary_codec(contract: Contract) -> BinaryCodec:
    """Return the codec of a contract.

    Raises:
        ContractError: the schema has a type that Spark cannot represent.
    """
    from fastavro import parse_schema

    record = _without_logical(contract.record)
    assert isinstance(record, Record)
    stored = contract_of(record)
    shape = _Shapes(contract).shape(contract.record)
    return BinaryCodec(
        contract,
        parse_schema(shape.schema),
        shape.to_avro or _same,
        shape.from_avro or _same,
        resolver(contract, stored),
        resolver(stored, contract),
        arrow_schema(stored),
    )


@dataclass(frozen=True, slots=True)
class _Shape:
    """A type as fastavro gets it, and the changes between its values and Arrow's; None for no change."""

    schema: Any
    to_avro: Change | None = None
    from_avro: Change | None = None


class _Shapes:
    """Builds the shapes of a contract, whose logical types only limit the values that are read.

    The branches of a union become records with one field, which have the same encoding. So fastavro reports the branch
    that it has read, and writes the branch that it is given.
    """

    def __init__(self, contract: Contract) -> None:
        self._contract = contract
        self._named: dict[str, _Shape] = {}
        self._branches = 0

    def shape(self, schema: Schema) -> _Shape:
        """Return the shape of a part of the contract."""
        held = self._contract.resolve(schema)
        match held:
            case Primitive(type=name, logical=logical):
                return _Shape(name, from_avro=_checked(name, logical))
            case Array(items=items):
                return _array(self.shape(items))
            case Map(values=values):
                return _map(self.shape(values))
            case Union():
                return self._union(held)
            case Record(name=name) | Enum(name=name) | Fixed(name=name):
                if name not in self._named:
                    shape = self._definition(held)
                    self._named[name] = replace(shape, schema=name)
                    return shape
                return self._named[name]
        raise AssertionError(f"unexpected type {held!r}")

    def _definition(self, held: Record | Enum | Fixed) -> _Shape:
        match held:
            case Enum(name=name, symbols=symbols):
                return _Shape({"type": "enum", "name": name, "symbols": list(symbols)})
            case Fixed(name=name, size=size, logical=logical):
                return _Shape({"type": "fixed", "name": name, "size": size}, from_avro=_checked("fixed", logical))
            case Record(name=name, fields=fields):
                shapes = {field.name: self.shape(field.schema) for field in fields}
                parts = [{"name": field, "type": shape.schema} for field, shape in shapes.items()]
                return _Shape(
                    {"type": "record", "name": name, "fields": parts},
                    _fields({name: shape.to_avro for name, shape in shapes.items()}),
                    _fields({name: shape.from_avro for name, shape in shapes.items()}),
                )

    def _union(self, union: Union) -> _Shape:
        rest = tuple(branch for branch in union.branches if not is_null(branch))
        shapes = [self.shape(branch) for branch in rest]
        if len(rest) <= 1:
            inner = shapes[0] if shapes else _Shape("null")
            schema = ["null" if is_null(branch) else inner.schema for branch in union.branches]
            return _Shape(schema, _unless_null(inner.to_avro), _unless_null(inner.from_avro))
        names = [self._branch_name() for _ in rest]
        records = iter(
            {"type": "record", "name": name, "fields": [{"name": "value", "type": shape.schema}]}
            for name, shape in zip(names, shapes, strict=True)
        )
        schema = ["null" if is_null(branch) else next(records) for branch in union.branches]
        if wider_of(rest):  # both branches share a column of the wider type
            wider = names[isinstance(rest[1], Primitive) and rest[1].type in ("long", "double")]
            return _Shape(
                schema,
                _unless_null(lambda value: (wider, {"value": value})),
                _unless_null(lambda value: value[1]["value"]),
            )
        return _Shape(schema, _unless_null(_to_branch(names, shapes)), _unless_null(_from_branch(names, shapes)))

    def _branch_name(self) -> str:
        self._branches += 1
        return f"streamlets.wire.Branch{self._branches}"


def _to_branch(names: Sequence[str], shapes: Sequence[_Shape]) -> Change:
    def to_branch(members: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        number = next(number for number in range(len(names)) if members[member(number)] is not None)
        change = shapes[number].to_avro or _same
        return names[number], {"value": change(members[member(number)])}

    return to_branch


def _from_branch(names: Sequence[str], shapes: Sequence[_Shape]) -> Change:
    numbers = {name: number for number, name in enumerate(names)}

    def from_branch(branch: tuple[str, Mapping[str, Any]]) -> dict[str, Any]:
        number = numbers[branch[0]]
        change = shapes[number].from_avro or _same
        return {member(number): change(branch[1]["value"])}

    return from_branch


def _array(item: _Shape) -> _Shape:
    def each(change: Change | None) -> Change | None:
        return change and (lambda items: [change(value) for value in items])

    return _Shape({"type": "array", "items": item.schema}, each(item.to_avro), each(item.from_avro))


def _map(value: _Shape) -> _Shape:
    to_avro, from_avro = value.to_avro or _same, value.from_avro or _same
    return _Shape(
        {"type": "map", "values": value.schema},
        lambda pairs: {key: to_avro(inner) for key, inner in pairs},
        lambda mapping: [(key, from_avro(inner)) for key, inner in mapping.items()],
    )


def _fields(changes: Mapping[str, Change | None]) -> Change | None:
    needed = {name: change for name, change in changes.items() if change is not None}
    if not needed:
        return None
    return lambda record: record | {name: change(record[name]) for name, change in needed.items()}


def _checked(kind: str, logical: Logical | None) -> Change | None:
    """Return the function that refuses values that a type or Spark does not have; None if there are none."""
    if logical is not None and logical.name == "decimal":
        beyond = 10 ** (logical.precision or 0)

        def decimal(data: bytes) -> bytes:
            if not data or abs(int.from_bytes(data, "big", signed=True)) >= beyond:
                raise ValueError(f"the bytes {data.hex()} do not fit decimal({logical.precision},{logical.scale or 0})")
            return data

        return decimal
    name = logical.name if logical is not None else kind
    first, last = _RANGES.get(name, _RANGES.get(kind, (0, 0)))
    if first == last:
        return None

    def number(value: int) -> int:
        if not first <= value <= last:
            raise ValueError(f"{value} is out of range for `{name}`")
        return value

    return number


_MILLIS = (-62_135_596_800_000, 253_402_300_799_999)
_MICROS = (_MILLIS[0] * 1000, _MILLIS[1] * 1000 + 999)
_RANGES = {
    "int": (-(2**31), 2**31 - 1),
    "date": (-719_162, 2_932_896),
    "timestamp-millis": _MILLIS,
    "timestamp-micros": _MICROS,
    "local-timestamp-millis": _MILLIS,
    "local-timestamp-micros": _MICROS,
}
"""The numbers that are allowed, by type; dates and times are in the years 1 to 9999."""


def _unless_null(change: Change | None) -> Change | None:
    return change and (lambda value: None if value is None else change(value))


def _same(value: Any) -> Any:
    return value


def _without_logical(schema: Schema) -> Schema:
    """Return a schema with the same encoding, without logical types and defaults."""
    match schema:
        case Primitive(type=name):
            return Primitive(name)
        case Fixed(name=name, size=size):
            return Fixed(name, size)
        case Array(items=items):
            return Array(_without_logical(items))
        case Map(values=values):
            return Map(_without_logical(values))
        case Union(branches=branches):
            return Union(tuple(map(_without_logical, branches)))
        case Enum(name=name, symbols=symbols):
            return Enum(name, symbols)
        case Record(name=name, fields=fields):
            return Record(name, tuple(Field(f.name, _without_logical(f.schema)) for f in fields))
    return schema


def _text(error: Exception) -> str:
    return str(error) or type(error).__name__
