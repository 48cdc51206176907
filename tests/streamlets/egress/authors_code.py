"""What an author writes for the sinks `function` and `data-source`; Spark's workers import this module."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceStreamWriter, WriterCommitMessage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def save(rows: DataFrame, batch: int, *, path: str) -> None:
    """Save the rows of a batch to a file."""
    Path(path).mkdir(exist_ok=True)
    (Path(path) / f"{batch}.json").write_text(json.dumps([row.asDict() for row in rows.collect()]))


class FilesSource(DataSource):
    """Writes a file per batch."""

    @classmethod
    def name(cls) -> str:
        """The name that another class may have, too."""
        return "files"

    def streamWriter(self, schema: Any, overwrite: bool) -> DataSourceStreamWriter:
        """Return the writer."""
        return _Writer(Path(self.options["path"]), overwrite)


class _Writer(DataSourceStreamWriter):
    def __init__(self, root: Path, overwrite: bool) -> None:
        self.root = root
        self.overwrite = overwrite

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        """Return the rows to the driver."""
        message = WriterCommitMessage()
        message.rows = [row.asDict() for row in iterator]  # type: ignore[attr-defined]
        return message

    def commit(self, messages: Any, batchId: int) -> None:  # noqa: N803 - Spark's name
        """Write the file of the batch, or of the whole result."""
        self.root.mkdir(exist_ok=True)
        rows = [row for message in messages for row in message.rows]
        (self.root / f"{0 if self.overwrite else batchId}.json").write_text(json.dumps(rows))


class NoWriter(DataSource):
    """Cannot write."""
