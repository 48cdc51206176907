"""`ApplicationLineage`: the lineage of all streamlets, joined by topics and contracts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from blueprint.avro.model import Array, Contract, Field, Map, Record, Schema, Union, type_text
from blueprint.plan import ApplicationPlan, InletPlan, OutletPlan, StreamletPlan
from streamlets.channels.base import METADATA
from streamlets.lineage.kinds import Kind
from streamlets.lineage.model import ColumnLineage, ColumnPath, OutputLineage, StreamletLineage
from streamlets.lineage.values import Influence


@dataclass(frozen=True, slots=True)
class ApplicationLineage:
    """The lineage of an application.

    Arguments:
        plan: the application.
        streamlets: the lineage of the streamlets whose logic was built, by their names.
    """

    plan: ApplicationPlan
    streamlets: Mapping[str, StreamletLineage]

    def writers(self, topic: str) -> Iterator[tuple[StreamletPlan, OutletPlan]]:
        """Yield the outlets that write a topic."""
        for streamlet in self.plan.streamlets:
            for outlet in streamlet.outlets:
                if outlet.topic == topic:
                    yield streamlet, outlet

    def readers(self, topic: str) -> Iterator[tuple[StreamletPlan, InletPlan]]:
        """Yield the inlets that read a topic."""
        for streamlet in self.plan.streamlets:
            for inlet in streamlet.inlets:
                if inlet.topic == topic:
                    yield streamlet, inlet

    def contracts(self, topic: str) -> list[Contract]:
        """Return the schemas of a topic: of its writers or, if no streamlet writes it, of its readers."""
        written = [outlet.contract for _, outlet in self.writers(topic)]
        return written or [inlet.contract for _, inlet in self.readers(topic)]

    def columns(self, topic: str) -> dict[str, str]:
        """Return the types of the columns of a topic, by name."""
        fields = [field for contract in self.contracts(topic) for field in contract.record.fields]
        first = {field.name: field for field in reversed(fields)}
        return {field.name: type_text(first[field.name].schema) for field in fields}

    def type(self, topic: str, path: ColumnPath) -> str:
        """Return the type of a column or of a nested field of a topic; "" if its contract does not have it."""
        for contract in self.contracts(topic):
            field = field_at(contract, path)
            if field is not None:
                return type_text(field.schema)
        return ""

    def outputs(self, streamlet: str, outlet: str) -> tuple[OutputLineage, ...]:
        """Return the lineage of the queries that write an outlet."""
        known = self.streamlets.get(streamlet, StreamletLineage())
        return tuple(output for output in known.outputs if output.outlet == outlet)

    def read_path(self, inlet: InletPlan, outlet: OutletPlan, path: ColumnPath) -> ColumnPath | None:
        """Return the path in the records of an outlet of what is at a path of an inlet that reads them.

        Returns:
            The path with the writer's names; None if the writer does not have the field, or it is not of the contract.
        """
        return _written_path(inlet.contract, outlet.contract, path)

    def path_in_topic(self, inlet: InletPlan, path: ColumnPath) -> ColumnPath | None:
        """Return the path in the records of a topic of what is at a path of an inlet; None if no writer has it."""
        writers = list(self.writers(inlet.topic))
        if not writers:
            return path if field_at(inlet.contract, path[:1]) is not None else None
        paths = (self.read_path(inlet, outlet, path) for _, outlet in writers)
        return next((found for found in paths if found is not None), None)


def column_at(output: OutputLineage, path: ColumnPath) -> ColumnLineage | None:
    """Return the lineage of a column or of a nested field of an output; None if the output does not have it.

    A field of a column that is copied as it is comes from the same field of its inputs.
    """
    for length in range(len(path), 0, -1):
        column = output.columns.get(path[:length])
        if column is not None:
            inputs = frozenset(_extended(each, path[length:]) for each in column.inputs)
            return ColumnLineage(inputs, column.place, column.unknown, column.written)
    return None


def related(one: ColumnPath, other: ColumnPath) -> bool:
    """Return whether one of two paths is the other, or has it as a field."""
    length = min(len(one), len(other))
    return tuple(map(str.lower, one[:length])) == tuple(map(str.lower, other[:length]))


def field_at(contract: Contract, path: ColumnPath) -> Field | None:
    """Return the field at a path; None if the contract does not have it."""
    record: Record | None = contract.record
    field = None
    for name in path:
        field = next((own for own in record.fields if own.name.lower() == name.lower()), None) if record else None
        if field is None:
            return None
        record = record_in(contract, field.schema)
    return field


def _extended(influence: Influence, rest: ColumnPath) -> Influence:
    if influence.kind is not Kind.IDENTITY or not rest:
        return influence
    return Influence(influence.source, (*influence.path, *rest), influence.kind, influence.masking)


def _written_path(reader: Contract, writer: Contract, path: ColumnPath) -> ColumnPath | None:
    if path[0] == METADATA:
        return None
    read: Record | None = reader.record
    written: Record | None = writer.record
    result: list[str] = []
    for name in path:
        if read is None or written is None:  # such as `key` of an entry of a map
            break
        field = next((own for own in read.fields if own.name.lower() == name.lower()), None)
        if field is None:
            return None
        names = (field.name, *field.aliases)
        source = next((own for known in names for own in written.fields if own.name == known), None)
        if source is None:
            return None
        result.append(source.name)
        read, written = record_in(reader, field.schema), record_in(writer, source.schema)
    return tuple(result)


def record_in(contract: Contract, schema: Schema) -> Record | None:
    """Return the record in a schema, also in arrays, maps and unions with null; None if there is none."""
    inner = contract.resolve(schema)
    match inner:
        case Record():
            return inner
        case Array():
            return record_in(contract, inner.items)
        case Map():
            return record_in(contract, inner.values)
        case Union():
            records = [record for branch in inner.branches if (record := record_in(contract, branch)) is not None]
            return records[0] if len(records) == 1 else None
    return None
