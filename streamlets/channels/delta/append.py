"""Appending without Spark: record batches to one Parquet file and one commit."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from streamlets.channels.base import TopicWriteError, Txn
from streamlets.channels.crash import crash_point
from streamlets.channels.delta.parquet import data_file
from streamlets.channels.delta.records import fitted
from streamlets.channels.delta.table import create_table, open_table, table_name

if TYPE_CHECKING:
    import pyarrow as pa

    from blueprint.avro.model import Contract


def append_batches(
    topic: Path, rows: Iterable[pa.RecordBatch], contract: Contract, txn: Txn, clock: Callable[[], float]
) -> None:
    """Commit records to the contract's table of a topic under a transaction, unless the table has seen it.

    Raises:
        TopicLostError: there is no topic in the folder.
        TopicWriteError: the file system refuses; nothing is visible then.
    """
    import pyarrow.parquet as pq

    from streamlets.channels.delta.log import topic_id
    from streamlets.contract.types import arrow_schema

    topic_id(topic)
    path = topic / table_name(contract, ())
    file = path / "data" / "append" / f"{uuid.uuid4().hex}.parquet"
    try:
        create_table(path, contract, (), clock)
        table = open_table(path, files=False)
        if table.txns.get(txn.writer, -1) >= txn.sequence:
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        schema = arrow_schema(contract)
        with pq.ParquetWriter(file, schema) as writer:
            for batch in rows:
                writer.write_batch(fitted(batch, schema))
        written = data_file(path, file)
        if not written.records:
            file.unlink()
        crash_point("after-append-file")
        if not table.append([written] if written.records else [], txn, clock):
            file.unlink(missing_ok=True)  # the same was written by somebody else meanwhile
        crash_point("after-append-commit")
    except OSError as error:
        file.unlink(missing_ok=True)
        raise TopicWriteError(f"topic `{topic.name}`: {error}; nothing of it is visible") from None
