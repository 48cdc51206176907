"""The column with the position of a record in its topic, in Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamlets.channels.base import METADATA

if TYPE_CHECKING:
    import pyarrow as pa


def metadata_type() -> pa.DataType:
    """Return the Arrow type of the column `_meta`; see `METADATA_DDL`."""
    import pyarrow as pa

    return pa.struct(
        [
            pa.field("position", pa.string()),
            pa.field("sequence", pa.int64()),
            pa.field("timestamp", pa.timestamp("us", tz="UTC")),
            pa.field("key", pa.binary()),
            pa.field("headers", pa.map_(pa.string(), pa.binary())),
        ]
    )


def with_metadata(batch: pa.RecordBatch, position: str, first: int, time: int) -> pa.RecordBatch:
    """Return records of one commit with their column `_meta`, without keys and headers.

    Arguments:
        batch: the records.
        position: the position of their commit in the topic.
        first: the number of the first of the records within the commit; the others have the next numbers.
        time: the time of the commit, in milliseconds since the epoch.
    """
    import pyarrow as pa

    rows, kind = batch.num_rows, metadata_type()
    columns = [
        pa.array([position] * rows, pa.string()),
        pa.array(range(first, first + rows), pa.int64()),
        pa.array([time * 1000] * rows, pa.timestamp("us", tz="UTC")),
        pa.nulls(rows, pa.binary()),
        pa.nulls(rows, kind.field("headers").type),
    ]
    meta = pa.StructArray.from_arrays(columns, fields=list(kind))
    return pa.RecordBatch.from_arrays([*batch.columns, meta], schema=batch.schema.append(pa.field(METADATA, kind)))
