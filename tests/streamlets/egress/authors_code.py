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


def append(rows: DataFrame, batch: int, *, path: str) -> None:
    """Append the rows of a batch to one file, also if it has them."""
    _append(Path(path), [row[0] for row in rows.collect()])


def _append(directory: Path, values: list[str]) -> None:
    directory.mkdir(exist_ok=True)
    with (directory / "all.txt").open("a") as file:
        file.write("".join(f"{value}\n" for value in values))


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


class AppendingSource(DataSource):
    """Appends each batch to one file, also if it has it."""

    def streamWriter(self, schema: Any, overwrite: bool) -> DataSourceStreamWriter:
        """Return the writer."""
        return _Appender(Path(self.options["path"]), overwrite)


class _Appender(_Writer):
    def commit(self, messages: Any, batchId: int) -> None:  # noqa: N803 - Spark's name
        """Append the rows of the batch."""
        _append(self.root, [next(iter(row.values())) for message in messages for row in message.rows])


class NoWriter(DataSource):
    """Cannot write."""
