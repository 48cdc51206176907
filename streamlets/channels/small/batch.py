"""Writing the batches of a query with appenders: the number of a batch is the sequence of its appends.

The records of a batch are collected in files before the first of them is published.
"""

from __future__ import annotations

import re
import shutil
import time
import uuid
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
from streamlets.part_files import write_part_files
from streamlets.shared_rows import shared_rows
from streamlets.storage.crash import crash_point

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class _Part:
    """The records of a batch for a topic, in Parquet files; dead letters have no outlet."""

    topic: TopicResource
    contract: Contract
    files: tuple[Path, ...]
    outlet: str | None


@dataclass(frozen=True, slots=True)
class BatchWriter:
    """The function of a query's `foreachBatch`.

    Arguments:
        branches: the outlets.
        dead_letters: the topic for rows that break a contract; None without one.
        query: the query.
        begun: stores which batches were begun.
        staging: the directory for files of batches, on a file system that all of Spark's machines share.
    """

    branches: tuple[Branch[TopicResource], ...]
    dead_letters: TopicResource | None
    query: TopicQuery
    begun: BegunBatches
    staging: Path

    def __call__(self, rows: DataFrame, batch: int) -> None:
        """Write a batch to its topics, each of which accepts it once.

        Raises:
            BrokenRowsError: rows break the contract of an outlet without dead letters; nothing was published.
        """
        import pyarrow.dataset as ds

        id = query_id(rows)
        writers = f"{self.query.streamlet}.{self.query.name}-{id}/"  # of topics of one query, and of one checkpoint
        counts = dict.fromkeys((branch.outlet.name for branch in self.branches), 0)
        letters, replayed = 0, False
        own = self.staging / re.sub(r"[^A-Za-z0-9_.-]", "_", writers[:-1])
        shutil.rmtree(own, ignore_errors=True)  # of an attempt that was killed
        try:
            with shared_rows(rows) as executed_rows:
                parts = list(self._parts(executed_rows, batch, own / uuid.uuid4().hex[:8]))
                executed = time.monotonic()
                crash_point("after-data-files")
                self.begun.begin(self.query.streamlet, self.query.name, id, batch)
                crash_point("after-batch-begun")
                for number, part in enumerate(parts):
                    files = ds.dataset(list(map(str, part.files)))
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
            shutil.rmtree(own, ignore_errors=True)
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
                written = write_part_files(frame.select(*fit.columns), files)
                yield _Part(branch.topic, outlet.contract, written, outlet.name)
                continue
            with shared_rows(with_reasons(frame, fit)) as checked:
                broken = checked.where(F.col(REASON).isNotNull())
                if self.dead_letters is None or outlet.on_invalid != "dead-letters":
                    if (example := broken.first()) is not None:
                        raise broken_rows_error(outlet, broken.count(), example[REASON], example[ORIGINAL])
                else:
                    columns = dead_letter_columns(outlet, f"{self.query.name}/{batch}", self.query.version)
                    letters = write_part_files(broken.select(*columns), directory / f"{number}-letters")
                    yield _Part(self.dead_letters, dead_letter_contract(), letters, None)
                valid = checked.where(F.col(REASON).isNull()).drop(REASON, ORIGINAL)
                yield _Part(branch.topic, outlet.contract, write_part_files(valid, files), outlet.name)
