"""What was written, as the reader's schema has it: Avro schema resolution carried out on whole Arrow arrays.

What `blueprint.avro.resolve_plan` says to do is put together once per pair of schemas; what needs nothing done is
passed on as it is. As in Avro, a logical type is only a way to look at the underlying value: where writer and reader
differ in it (verification warns), the underlying value is taken, on every channel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from blueprint.avro.model import Contract, Union
from blueprint.avro.planner import resolve_plan
from blueprint.avro.reading import (
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
    """What turns batches of the writer's schema (`arrow_schema(writer)`) into batches of the reader's.

    Batches come back untouched when both schemas have the same columns.

    Raises:
        IncompatibleError: some record of the writer cannot be read with the reader's schema.
        ContractError: a schema has a type that cannot be carried.
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


class _Steps:
    """Puts steps together. A step takes an array of the writer's type at a place and gives one of the reader's, null
    for null; None stands for the step that does nothing."""

    def __init__(self, writer: Contract, reader: Contract) -> None:
        self._writer = writer
        self._reader = reader

    def step(self, plan: ReadPlan) -> Step | None:
        """The step that carries out a plan."""
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
                raise AssertionError("types that hold themselves are refused before")

    def record(self, plan: ReadRecord) -> Step | None:
        """The step for a record; fields of the writer's that the reader does not have are left behind."""
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

        def each(lists: pa.ListArray) -> pa.ListArray:
            offsets, start, length = extent(lists)
            items = lists.values.slice(start, length)
            items = inner(items) if inner else items
            return pa.ListArray.from_arrays(offsets, items, type=kind, mask=null_mask(lists))

        return each

    def _map(self, plan: ReadMap) -> Step | None:
        import pyarrow as pa

        inner = self.step(plan.values)
        kind = arrow_type(plan.reader, self._reader)
        if inner is None and kind.equals(arrow_type(plan.writer, self._writer)):
            return None

        def each(maps: pa.MapArray) -> pa.MapArray:
            offsets, start, length = extent(maps)
            keys, values = maps.keys.slice(start, length), maps.items.slice(start, length)
            values = inner(values) if inner else values
            return pa.MapArray.from_arrays(offsets, keys, values, type=kind, mask=null_mask(maps))

        return each

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
            # One branch, or two numbers that share a column of the wider type, which the wider's plan then reads.
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
        """Whether each member stays what it is, in a reader's union of the same members."""
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
    """The branch's number as the struct of a union counts it, without `null`."""
    return sum(not is_null(branch) for branch in plan.reader.branches[: plan.branch])


def _symbols(plan: MapEnum) -> Step:
    import pyarrow as pa
    import pyarrow.compute as pc

    old, new = pa.array(list(plan.symbols)), pa.array(list(plan.symbols.values()))
    return lambda values: new.take(pc.index_in(values, value_set=old))


def _then(first: Step | None, second: Step) -> Step:
    return (lambda values: second(first(values))) if first else second
