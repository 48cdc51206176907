"""Writing the batches of a query with appenders: the number of a batch is the sequence of its appends.

The records of a batch are collected in files of the driver before the first of them is published.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from blueprint.avro.model import Contract
from streamlets.batches import query_id
from streamlets.channels.base import Branch, TopicQuery, TopicResource
from streamlets.channels.begun import BegunBatches
from streamlets.channels.conformity import ORIGINAL, REASON, broken_rows_error, outlet_conformance, with_reasons
from streamlets.channels.dead_letters import dead_letter_columns, dead_letter_contract
from streamlets.storage.crash import crash_point

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class _Part:
    """The records of a batch for a topic, in Parquet files; dead letters have no outlet."""

    topic: TopicResource
    contract: Contract
    files: Path
    outlet: str | None


@dataclass(frozen=True, slots=True)
class BatchWriter:
    """The function of a query's `foreachBatch`.

    Arguments:
        branches: the outlets.
        dead_letters: the topic for rows that break a contract; None without one.
        query: the query.
        begun: stores which batches were begun.
    """

    branches: tuple[Branch[TopicResource], ...]
    dead_letters: TopicResource | None
    query: TopicQuery
    begun: BegunBatches

    def __call__(self, rows: DataFrame, batch: int) -> None:
        """Write a batch to its topics, each of which accepts it once.

        Raises:
            BrokenRowsError: rows break the contract of an outlet without dead letters; nothing was published.
        """
        import pyarrow.dataset as ds

        rows.sparkSession.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
        id = query_id(rows)
        writers = f"{self.query.streamlet}.{self.query.name}-{id}/"  # of topics of one query, and of one checkpoint
        counts = dict.fromkeys((branch.outlet.name for branch in self.branches), 0)
        letters, replayed = 0, False
        rows = rows.persist()
        try:
            with tempfile.TemporaryDirectory(prefix="batch-") as directory:
                parts = list(self._parts(rows, batch, Path(directory)))
                executed = time.monotonic()
                crash_point("after-data-files")
                self.begun.begin(self.query.streamlet, self.query.name, id, batch)
                crash_point("after-batch-begun")
                for number, part in enumerate(parts):
                    files = ds.dataset(part.files)
                    records = files.count_rows()
                    if part.outlet is None:
                        letters += records
                    else:
                        counts[part.outlet] += records
                    if records:
                        with part.topic.appender(part.contract, writer=f"{writers}{number}") as appender:
                            replayed |= not appender.append(files.to_batches(), batch)
                        crash_point("after-topic-commit")
            publishing = time.monotonic() - executed
        finally:
            rows.unpersist()
        self.query.written(batch, counts, letters, replayed=replayed, publishing=publishing)
        crash_point("before-spark-commit")

    def _parts(self, rows: DataFrame, batch: int, directory: Path) -> Iterator[_Part]:
        """Yield the parts of a batch, always in the same order."""
        from pyspark.sql import functions as F

        for number, branch in enumerate(self.branches):
            outlet, files = branch.outlet, directory / str(number)
            frame = branch.rows(rows)
            fit = outlet_conformance(frame.schema, outlet)
            if not fit.refuses:
                frame.select(*fit.columns).write.parquet(str(files))
                yield _Part(branch.topic, outlet.contract, files, outlet.name)
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
                    yield _Part(self.dead_letters, dead_letter_contract(), letters, None)
                checked.where(F.col(REASON).isNull()).drop(REASON, ORIGINAL).write.parquet(str(files))
                yield _Part(branch.topic, outlet.contract, files, outlet.name)
            finally:
                checked.unpersist()
