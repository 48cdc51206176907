"""The Arrow type of the column with the position of a record in its topic."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
