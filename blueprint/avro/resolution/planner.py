"""`resolve_plan`: the read plan of a writer and a compatible reader."""

from __future__ import annotations

from dataclasses import dataclass, field

from blueprint.avro.defaults import branch_of
from blueprint.avro.model import Array, Contract, Enum, Field, Fixed, Map, Primitive, Record, Schema, Union
from blueprint.avro.resolution.matching import choose_branch, field_in
from blueprint.avro.resolution.reasons import Resolution
from blueprint.avro.resolution.resolution import compared
from blueprint.avro.sources.reading import (
    Again,
    FromDefault,
    FromField,
    FromUnion,
    IntoUnion,
    MapEnum,
    Promote,
    ReadArray,
    ReadMap,
    ReadPlan,
    ReadRecord,
    Take,
)


class IncompatibleError(ValueError):
    """The reader cannot read every record of the writer; `resolution` contains the reasons."""

    def __init__(self, resolution: Resolution) -> None:
        super().__init__("; ".join(f"{reason.path or 'record'}: {reason.message}" for reason in resolution.errors))
        self.resolution = resolution


def resolve_plan(writer: Contract, reader: Contract) -> ReadRecord:
    """Return the plan that converts records of the writer into records of the reader.

    Raises:
        IncompatibleError: the contracts are not compatible.
    """
    resolution = compared(writer, reader)
    if not resolution.compatible:
        raise IncompatibleError(resolution)
    return _Planner(writer, reader).record(writer.record, reader.record)


@dataclass(slots=True)
class _Planner:
    writer: Contract
    reader: Contract
    _open: set[tuple[str, str]] = field(default_factory=set)

    def plan(self, writer: Schema, reader: Schema) -> ReadPlan:
        written, read = self.writer.resolve(writer), self.reader.resolve(reader)
        match written, read:
            case Union(), _:
                return FromUnion(written, tuple(self.plan(branch, reader) for branch in written.branches))
            case _, Union():
                number = choose_branch(written, read, self.reader)
                assert number is not None  # the pair was checked
                return IntoUnion(read, number, self.plan(written, read.branches[number]))
            case Record(), Record():
                if (written.name, read.name) in self._open:
                    return Again(written.name, read.name)
                return self.record(written, read)
            case Enum(), Enum():
                return MapEnum(written, read, {symbol: _symbol(symbol, read) for symbol in written.symbols})
            case Array(), Array():
                return ReadArray(written, read, self.plan(written.items, read.items))
            case Map(), Map():
                return ReadMap(written, read, self.plan(written.values, read.values))
            case Fixed(), Fixed():
                return Take(written, read)
            case Primitive(), Primitive():
                return Take(written, read) if written.type == read.type else Promote(written, read)
        raise AssertionError(f"{written} was checked against {read}")

    def record(self, written: Record, read: Record) -> ReadRecord:
        self._open.add((written.name, read.name))
        fields = tuple(self._field(written, wanted) for wanted in read.fields)
        self._open.discard((written.name, read.name))
        return ReadRecord(written, read, fields)

    def _field(self, written: Record, wanted: Field) -> FromField | FromDefault:
        source = field_in(written, wanted)
        if source is not None:
            return FromField(wanted.name, source.name, self.plan(source.schema, wanted.schema))
        schema = self.reader.resolve(wanted.schema)
        branch = branch_of(wanted.default, schema, self.reader.resolve) if isinstance(schema, Union) else None
        return FromDefault(wanted.name, schema, wanted.default, branch)


def _symbol(symbol: str, read: Enum) -> str:
    if symbol in read.symbols:
        return symbol
    assert read.default is not None  # the pair was checked
    return read.default
