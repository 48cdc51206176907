"""The sink `lines`: a file per batch, with one record as JSON per line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from streamlets.egress import (
    ParameterType,
    SinkFiles,
    SinkOption,
    SinkQuery,
    SinkTraits,
    SinkType,
    SinkWriter,
    query_id,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class LinesSink(SinkType):
    """A directory with a file per batch."""

    traits = SinkTraits(
        name="lines",
        description="A directory with a file per batch, which has one record as JSON per line.",
        guarantee="exactly-once",
        options=(
            SinkOption(name="path", description="the directory", type=ParameterType.PATH, required=True),
            SinkOption(name="prefix", description="the beginning of the files' names", default="batch"),
        ),
    )

    def open(self, rows: DataFrame, query: SinkQuery) -> SinkWriter:
        """Return a function for `foreachBatch`, which is also the record of what it has written."""
        batches = LinesWriter(query)
        return SinkWriter(rows.writeStream.foreachBatch(batches), record=batches)

    def files(self, options: Mapping[str, object]) -> SinkFiles:
        """Return the files, which tests read with Spark's format `json`."""
        return SinkFiles(Path(str(options["path"])), "json", {})


@dataclass(frozen=True)
class LinesWriter:
    """Writes batches to files whose names depend only on the query and the batch, so that a replay replaces them."""

    query: SinkQuery

    def __call__(self, rows: DataFrame, batch: int) -> None:
        """Write a batch. The file gets its name when it is complete."""
        from pyspark.sql import functions as F

        lines = [row[0] for row in rows.select(F.to_json(F.struct("*"))).collect()]
        file = self._file(query_id(rows), batch)
        replayed = file.exists()
        if lines:
            file.parent.mkdir(parents=True, exist_ok=True)
            unfinished = file.with_name(f".{file.name}")
            unfinished.write_text("".join(f"{line}\n" for line in lines))
            unfinished.replace(file)
        self.query.written(batch, len(lines), replayed=replayed)

    def may_have_written(self, id: str, batch: int) -> bool:
        """Return whether a batch, or a later one, is in the directory."""
        file = self._file(id, batch)
        return any(other.name >= file.name for other in file.parent.glob(f"{self.query.options['prefix']}-{id}-*"))

    def _file(self, id: str, batch: int) -> Path:
        options = self.query.options
        return Path(str(options["path"])) / f"{options['prefix']}-{id}-{batch:09}.json"
