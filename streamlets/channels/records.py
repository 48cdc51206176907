"""Records as Arrow batches, converted from the schema of their writer to a reader's schema."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from blueprint.avro.resolution.planner import IncompatibleError
from streamlets.channels.unreadable import UnreadableRecordsError

if TYPE_CHECKING:
    import pyarrow as pa

    from blueprint.avro.model import Contract


def conversion(writer: Contract, reader: Contract | None) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    """Return the function that converts stored records to the Arrow schema of the reader.

    Arguments:
        writer: the contract that the records were written with.
        reader: the contract to read with; None for the writer's contract.

    Raises:
        UnreadableRecordsError: the reader's contract cannot read the records.
    """
    from streamlets.contract.types import arrow_schema

    stored = arrow_schema(writer)
    if reader is None or reader.fingerprint == writer.fingerprint:
        return lambda batch: fitted(batch, stored)
    from streamlets.contract.resolve import resolver

    try:
        resolve = resolver(writer, reader)
    except IncompatibleError as error:
        raise UnreadableRecordsError(writer.fingerprint, str(error)) from error
    return lambda batch: resolve(fitted(batch, stored))


def fitted(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch with the columns and types of a schema. Columns that the batch lacks are null."""
    import pyarrow as pa

    from streamlets.contract.relabel import relabel

    if batch.schema.equals(schema):
        return batch
    columns = []
    for field in schema:
        number = batch.schema.get_field_index(field.name)
        column = batch.column(number) if number >= 0 else pa.nulls(batch.num_rows, field.type)
        columns.append(relabel(column, field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)
