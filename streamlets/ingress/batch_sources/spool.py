"""`Spool`: the records of a task until it has succeeded, in memory and from some size on in a file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

_MAX_MEMORY = 32 << 20
"""Bytes of records that are kept in memory, for each task that is being read."""


class Spool:
    """Record batches of one schema, in their order.

    Arguments:
        schema: the schema.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._kept: list[pa.RecordBatch] = []
        self._bytes = 0
        self._file: Any = None
        self._writer: Any = None

    def add(self, batch: pa.RecordBatch) -> None:
        """Add a batch."""
        if self._writer is not None:
            self._writer.write_batch(batch)
            return
        self._kept.append(batch)
        self._bytes += batch.nbytes
        if self._bytes > _MAX_MEMORY:
            import pyarrow as pa

            self._file = tempfile.TemporaryFile(prefix="streamlets-task-")  # noqa: SIM115 - closed by `close`
            self._writer = pa.ipc.new_stream(self._file, self._schema)
            for kept in self._kept:
                self._writer.write_batch(kept)
            self._kept = []

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all batches; no further one can be added."""
        if self._writer is None:
            yield from self._kept
            return
        import pyarrow as pa

        self._writer.close()
        self._file.seek(0)
        with pa.ipc.open_stream(self._file) as reader:
            yield from reader

    def close(self) -> None:
        """Release the memory and the file."""
        self._kept = []
        if self._file is not None:
            self._file.close()
