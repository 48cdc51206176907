"""`stored`: record batches that can be read several times, without holding many in memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

_IN_MEMORY = 8 * 1024 * 1024


@contextmanager
def stored(batches: Iterable[pa.RecordBatch]) -> Iterator[Iterable[pa.RecordBatch]]:
    """Provide batches that can be read again; beyond a few MiB they are in a temporary file until the block ends.

    Arguments:
        batches: the batches, whose columns have the same names and types; they are read once.
    """
    if isinstance(batches, StoredBatches):
        yield batches
        return
    import pyarrow as pa

    with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as file:
        writer = schema = None
        for batch in batches:
            if writer is None:
                schema = batch.schema
                writer = pa.ipc.new_stream(file, schema)
            if not batch.schema.equals(schema):  # only whether columns may be null can differ
                batch = pa.RecordBatch.from_arrays(batch.columns, schema=schema)
            writer.write_batch(batch)
        if writer is not None:
            writer.close()
        yield StoredBatches(file if writer is not None else None)


class StoredBatches:
    """Batches in a file; each iteration begins with the first one.

    Arguments:
        file: their Arrow stream; None for no batches.
    """

    def __init__(self, file: IO[bytes] | None) -> None:
        self._file = file

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        if self._file is not None:
            self._file.seek(0)
            yield from pa.ipc.open_stream(self._file)
