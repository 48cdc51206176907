"""Staged batches: a batch is stored before it is sent, so that a replay sends the same messages and headers.

The messages of a batch are Parquet files below the directory of the query, until Spark has committed the batch. On a
cluster of several machines the state directory must be on a file system that all of them share.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from streamlets.channels.kafka.sending import MESSAGE
from streamlets.channels.kafka.shares import FILE as SHARES
from streamlets.storage.crash import crash_point

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

QUERY, BATCH, SEQUENCE = "streamlets-query", "streamlets-batch", "streamlets-sequence"
"""The headers of a staged message: the id of its query, the number of its batch, and its number within the batch."""

_DONE = "_SUCCESS"  # Spark writes it when all files of a directory are complete


@dataclass(frozen=True, slots=True)
class StagedBatches:
    """The staged batches of all queries.

    Arguments:
        directory: their directory.
    """

    directory: Path

    def messages(self, messages: DataFrame, streamlet: str, query: str, id: str, batch: int, part: str) -> DataFrame:
        """Return messages with headers that identify them, stored by the first attempt of their batch.

        Arguments:
            messages: the messages in the column `MESSAGE`, and further columns; not executed if they were stored.
            streamlet: the name of the streamlet.
            query: the name of the query within the streamlet.
            id: the id that Spark stores in the checkpoint of the query.
            batch: the number of the batch.
            part: distinguishes the outlets of a query.
        """
        from pyspark.sql import functions as F

        directory = self.part(streamlet, query, id, batch, part)
        if not self.has(streamlet, query, id, batch, part):
            numbered = messages.withColumn(SEQUENCE, F.monotonically_increasing_id())
            numbered.write.mode("overwrite").option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "true").parquet(
                directory.as_uri()
            )
        crash_point("after-staging")
        stored = messages.sparkSession.read.schema(_with_sequence(messages)).parquet(directory.as_uri())
        headers = headers_of(id, batch, part, F.col(f"`{SEQUENCE}`"))
        return stored.withColumn(MESSAGE, F.col(MESSAGE).withField("headers", headers)).drop(SEQUENCE)

    def has(self, streamlet: str, query: str, id: str, batch: int, part: str) -> bool:
        """Return whether the messages of a batch are stored; see `messages` for the arguments."""
        return (self.part(streamlet, query, id, batch, part) / _DONE).exists()

    def has_any(self, streamlet: str, query: str, id: str, batch: int) -> bool:
        """Return whether messages of a batch, or of a later one, are stored; see `messages` for the arguments."""
        return any(
            (part / name).exists()
            for staged in self._numbered(streamlet, query, id)
            if int(staged.name) >= batch
            for part in staged.iterdir()
            for name in (_DONE, SHARES)
        )

    def remove_before(self, streamlet: str, query: str, id: str, batch: int) -> None:
        """Remove the batches before one, which Spark has committed; see `messages` for the arguments."""
        for staged in self._numbered(streamlet, query, id):
            if int(staged.name) < batch:
                shutil.rmtree(staged, ignore_errors=True)
                crash_point("after-staged-removal")

    def forget(self, streamlet: str, query: str, id: str) -> None:
        """Remove all batches of a checkpoint; see `messages` for the arguments."""
        shutil.rmtree(self._query(streamlet, query, id), ignore_errors=True)

    def part(self, streamlet: str, query: str, id: str, batch: int, part: str) -> Path:
        """Return the directory of the messages of an outlet; see `messages` for the arguments."""
        return self._query(streamlet, query, id) / str(batch) / _safe(part)

    def _numbered(self, streamlet: str, query: str, id: str) -> list[Path]:
        directory = self._query(streamlet, query, id)
        return [path for path in directory.iterdir() if path.name.isdigit()] if directory.is_dir() else []

    def _query(self, streamlet: str, query: str, id: str) -> Path:
        return self.directory / _safe(f"{streamlet}.{query}-{id}")


def headers_of(id: str, batch: int, part: str, sequence: Column) -> Column:
    """Return the headers of a staged message.

    Arguments:
        id: the id that Spark stores in the checkpoint of the query.
        batch: the number of the batch.
        part: distinguishes the outlets of a query.
        sequence: the number of the message within the batch.
    """
    from pyspark.sql import functions as F

    values = {QUERY: F.lit(f"{id}/{part}"), BATCH: F.lit(str(batch)), SEQUENCE: sequence.cast("string")}
    return F.array(
        *(F.struct(F.lit(name).alias("key"), value.cast("binary").alias("value")) for name, value in values.items())
    )


def _safe(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name)


def _with_sequence(messages: DataFrame) -> str:
    columns = [f"`{field.name}` {field.dataType.simpleString()}" for field in messages.schema.fields]
    return ", ".join([*columns, f"`{SEQUENCE}` bigint"])
