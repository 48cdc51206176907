"""Avro schema resolution on whole Arrow arrays: conversion of written records to the reader's schema.

`blueprint.avro.resolution.planner.resolve_plan` is compiled once per pair of schemas; unchanged arrays are passed on.
As in Avro, a logical type only interprets the underlying value. If writer and reader have different logical types
(verification warns), the underlying value is used, on every channel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from blueprint.avro.model import Contract, Union
from blueprint.avro.resolution.planner import IncompatibleError, resolve_plan
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
from blueprint.avro.spark_types import optional
from streamlets.contract.defaults import default_value
from streamlets.contract.raw import reinterpret
from streamlets.contract.relabel import extent, null_mask
from streamlets.contract.types import arrow_schema, arrow_type, is_null

if TYPE_CHECKING:
    import pyarrow as pa

    Step = Callable[[pa.Array], pa.Array]


def resolver(writer: Contract, reader: Contract) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    """Return a function that converts batches of the writer's schema (`arrow_schema(writer)`) to the reader's.

    Batches are returned unchanged if both schemas have the same columns.

    Arguments:
        writer: the contract of the written records.
        reader: the contract of the reader.

    Raises:
        IncompatibleError: the reader's schema cannot read some records of the writer.
        ContractError: a schema has a type that Spark cannot represent.
    """
    import pyarrow as pa

    written, read = arrow_schema(writer), arrow_schema(reader)
    step = _Steps(writer, reader).record(resolve_plan(writer, reader))
    if step is None:
        return lambda batch: batch
    whole = step

    def resolve(batch: pa.RecordBatch) -> pa.RecordBatch:
        rows = pa.StructArray.from_arrays(batch.columns, fields=list(written))
        columns = whole(rows)
        return pa.RecordBatch.from_arrays([columns.field(i) for i in range(len(read))], schema=read)

    return resolve


def is_read_by_name(writer: Contract, reader: Contract) -> bool:
    """Return whether a reader of columns by their names, in any case, gets the records as `resolver` converts them.

    It takes the columns of the reader's fields, of which it may widen the numbers, and null for fields that the writer
    does not have.

    Arguments:
        writer: the contract of the written records.
        reader: the contract of the reader.
    """
    if not (_has_columns(writer) and _has_columns(reader)):
        return False
    if writer.fingerprint == reader.fingerprint:
        return True
    try:
        plan = resolve_plan(writer, reader)
    except IncompatibleError:
        return False
    steps, written = _Steps(writer, reader), {field.name: field for field in writer.record.fields}
    names = {name.lower() for name in written}
    for field, read in zip(plan.fields, reader.record.fields, strict=True):
        if isinstance(field, FromDefault):
            if field.default is not None or field.name.lower() in names:
                return False
            continue
        old, new = arrow_type(written[field.source].schema, writer), arrow_type(read.schema, reader)
        unchanged = old.equals(new) and steps.step(field.plan) is None
        if field.source != field.name or not (unchanged or _is_wider(old, new)):
            return False
    return True


def _is_wider(old: pa.DataType, new: pa.DataType) -> bool:
    """Return whether a reader of columns widens the numbers of a type to another one without a change of values."""
    import pyarrow as pa

    return (old, new) in ((pa.int32(), pa.int64()), (pa.float32(), pa.float64()))


def _has_columns(contract: Contract) -> bool:
    """Return whether a schema has a column for each field, and no names that differ only in case."""
    import pyarrow as pa

    def has(kind: pa.DataType) -> bool:
        inner = [kind.field(number) for number in range(kind.num_fields)]
        names = {field.name.lower() for field in inner}
        return not pa.types.is_null(kind) and len(names) == len(inner) and all(has(field.type) for field in inner)

    return has(pa.struct(list(arrow_schema(contract))))


class _Steps:
    """Compiles steps, which convert arrays of the writer's type to the reader's; None is a step without change.

    A step converts null to null.
    """

    def __init__(self, writer: Contract, reader: Contract) -> None:
        self._writer = writer
        self._reader = reader

    def step(self, plan: ReadPlan) -> Step | None:
        """Return the step that executes a plan."""
        match plan:
            case Take(writer, reader) | Promote(writer, reader):
                return reinterpret(writer, reader)
            case MapEnum():
                return None if plan.same else _symbols(plan)
            case ReadArray():
                return self._array(plan)
            case ReadMap():
                return self._map(plan)
            case ReadRecord():
                return self.record(plan)
            case FromUnion():
                return self._from_union(plan)
            case IntoUnion():
                return self._into_union(plan)
            case Again():
                raise AssertionError("recursive types are rejected earlier")

    def record(self, plan: ReadRecord) -> Step | None:
        """Return the step for a record; fields that the reader does not have are dropped."""
        import pyarrow as pa
        import pyarrow.compute as pc

        names = [f.name for f in plan.writer.fields]
        takes = [self._field(f, names) for f in plan.fields]
        kind = arrow_type(plan.reader, self._reader)
        same = all(take == (number, None) for number, take in enumerate(takes))
        if same and kind.equals(arrow_type(plan.writer, self._writer)):
            return None
        fields = list(kind)

        def rebuild(rows: pa.StructArray) -> pa.StructArray:
            columns = []
            for number, change in takes:
                column = pc.struct_field(rows, [number]) if number is not None else rows
                columns.append(change(column) if change else column)
            return pa.StructArray.from_arrays(columns, fields=fields, mask=null_mask(rows))

        return rebuild

    def _field(self, field: FromField | FromDefault, names: list[str]) -> tuple[int | None, Step | None]:
        import pyarrow as pa

        if isinstance(field, FromField):
            return names.index(field.source), self.step(field.plan)
        kind = arrow_type(field.schema, self._reader)
        value = pa.scalar(default_value(field.default, field.schema, self._reader), kind)
        return None, lambda rows: pa.repeat(value, len(rows)) if len(rows) else pa.array([], kind)

    def _array(self, plan: ReadArray) -> Step | None:
        import pyarrow as pa

        inner = self.step(plan.items)
        kind = arrow_type(plan.reader, self._reader)
        if inner is None and kind.equals(arrow_type(plan.writer, self._writer)):
            return None

        def convert(lists: pa.ListArray) -> pa.ListArray:
            offsets, start, length = extent(lists)
            items = lists.values.slice(start, length)
            items = inner(items) if inner else items
            return pa.ListArray.from_arrays(offsets, items, type=kind, mask=null_mask(lists))

        return convert

    def _map(self, plan: ReadMap) -> Step | None:
        import pyarrow as pa

        inner = self.step(plan.values)
        kind = arrow_type(plan.reader, self._reader)
        if inner is None and kind.equals(arrow_type(plan.writer, self._writer)):
            return None

        def convert(maps: pa.MapArray) -> pa.MapArray:
            offsets, start, length = extent(maps)
            keys, values = maps.keys.slice(start, length), maps.items.slice(start, length)
            values = inner(values) if inner else values
            return pa.MapArray.from_arrays(offsets, keys, values, type=kind, mask=null_mask(maps))

        return convert

    def _from_union(self, plan: FromUnion) -> Step | None:
        import pyarrow.compute as pc

        held, _ = optional(plan.writer, self._writer)
        branches = [
            (self._writer.resolve(branch), inner)
            for branch, inner in zip(plan.writer.branches, plan.branches, strict=True)
            if not is_null(branch)
        ]
        if not branches:
            return self.step(plan.branches[0])
        if not isinstance(held, Union):
            # One branch, or two number types that share a column of the wider type: its plan reads both.
            return next(self.step(inner) for branch, inner in branches if len(branches) == 1 or branch == held)
        steps = [self.step(inner) for _, inner in branches]
        if self._same_members(plan, [inner for _, inner in branches]):
            return None

        def choose(unions: pa.StructArray) -> pa.Array:
            members = [pc.struct_field(unions, [number]) for number in range(len(steps))]
            read = [step(member) if step else member for step, member in zip(steps, members, strict=True)]
            return pc.coalesce(*read)

        return choose

    def _same_members(self, plan: FromUnion, branches: list[ReadPlan]) -> bool:
        """Return whether all members are unchanged in a reader's union of the same members."""
        for number, branch in enumerate(branches):
            if not isinstance(branch, IntoUnion) or _member_number(branch) != number or self.step(branch.plan):
                return False
            if not arrow_type(branch.reader, self._reader).equals(arrow_type(plan.writer, self._writer)):
                return False
        return True

    def _into_union(self, plan: IntoUnion) -> Step | None:
        import pyarrow as pa

        held, _ = optional(plan.reader, self._reader)
        kind = arrow_type(plan.reader, self._reader)
        if is_null(plan.reader.branches[plan.branch]):
            return None if pa.types.is_null(kind) else lambda values: pa.nulls(len(values), kind)
        inner = self.step(plan.plan)
        if not isinstance(held, Union):
            branch = arrow_type(plan.reader.branches[plan.branch], self._reader)
            return inner if branch.equals(kind) else _then(inner, lambda values: values.cast(kind, safe=False))
        number = _member_number(plan)

        def wrap(values: pa.Array) -> pa.StructArray:
            columns = [values if i == number else pa.nulls(len(values), f.type) for i, f in enumerate(kind)]
            return pa.StructArray.from_arrays(columns, fields=list(kind), mask=null_mask(values))

        return _then(inner, wrap)


def _member_number(plan: IntoUnion) -> int:
    """Return the number of the branch in the struct of a union, without `null`."""
    return sum(not is_null(branch) for branch in plan.reader.branches[: plan.branch])


def _symbols(plan: MapEnum) -> Step:
    import pyarrow as pa
    import pyarrow.compute as pc

    old, new = pa.array(list(plan.symbols)), pa.array(list(plan.symbols.values()))
    return lambda values: new.take(pc.index_in(values, value_set=old))


def _then(first: Step | None, second: Step) -> Step:
    return (lambda values: second(first(values))) if first else second
