"""Writing the batches of a query: all rows are collected in files, and then each topic gets one commit."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow.dataset as ds
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from blueprint.avro.model import Contract
from streamlets.batches import query_id
from streamlets.channels.base import Branch, TopicQuery, TopicResource
from streamlets.channels.conformity import ORIGINAL, REASON, broken_rows_error, with_reasons
from streamlets.channels.dead_letters import dead_letter_columns, dead_letter_contract
from streamlets.contract.conform import conformance


def writer_id(streamlet: str, query: str, id: str) -> str:
    """Return the id of a query with a checkpoint; its outlets are writers below it."""
    return f"{streamlet}.{query}-{id}/"


@dataclass(frozen=True)
class Part:
    """The records of a batch for a topic, in Parquet files; dead letters have no outlet."""

    topic: TopicResource
    contract: Contract
    files: Path
    outlet: str | None


@dataclass(frozen=True)
class ToyBatchWriter:
    """The function of a query's `foreachBatch`."""

    branches: tuple[Branch[TopicResource], ...]
    dead_letters: TopicResource | None
    query: TopicQuery

    def __call__(self, rows: DataFrame, batch: int) -> None:
        """Write a batch to its topics, each of which accepts it once."""
        session = rows.sparkSession
        session.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
        counts = dict.fromkeys((branch.outlet.name for branch in self.branches), 0)
        letters, replayed = 0, False
        rows = rows.persist()
        try:
            with tempfile.TemporaryDirectory(prefix="toy-") as directory:
                for number, part in enumerate(list(self._parts(rows, batch, Path(directory)))):
                    files = ds.dataset(part.files)
                    records = files.count_rows()
                    if part.outlet is None:
                        letters += records
                    else:
                        counts[part.outlet] += records
                    if records:
                        writer = f"{writer_id(self.query.streamlet, self.query.name, query_id(rows))}{number}"
                        with part.topic.appender(part.contract, writer=writer) as appender:
                            replayed |= not appender.append(files.to_batches(), batch)
        finally:
            rows.unpersist()
        self.query.written(batch, counts, letters, replayed=replayed)

    def _parts(self, rows: DataFrame, batch: int, directory: Path) -> Iterator[Part]:
        """Yield the parts of a batch, always in the same order.

        Raises:
            BrokenRowsError: rows break the contract of an outlet without dead letters.
        """
        for number, branch in enumerate(self.branches):
            outlet = branch.outlet
            frame = branch.rows(rows)
            fit = conformance(frame.schema, outlet.contract, extra=outlet.extra)
            files = directory / str(number)
            if fit.reason is None:
                frame.select(*fit.columns).write.parquet(str(files))
                yield Part(branch.topic, outlet.contract, files, outlet.name)
                continue
            checked = with_reasons(frame, fit).persist()
            try:
                broken = checked.where(F.col(REASON).isNotNull())
                if self.dead_letters is None or outlet.on_invalid != "dead-letters":
                    if (example := broken.first()) is not None:
                        raise broken_rows_error(outlet, broken.count(), example[REASON], example[ORIGINAL])
                else:
                    columns = dead_letter_columns(outlet, f"{self.query.name}/{batch}", self.query.version)
                    letters = directory / f"{number}-letters"
                    broken.select(*columns).write.parquet(str(letters))
                    yield Part(self.dead_letters, dead_letter_contract(), letters, None)
                checked.where(F.col(REASON).isNull()).drop(REASON, ORIGINAL).write.parquet(str(files))
                yield Part(branch.topic, outlet.contract, files, outlet.name)
            finally:
                checked.unpersist()
