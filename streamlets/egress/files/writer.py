"""The files sink writes each batch to complete files, which are named by query and batch, and numbered in it.

A batch is written to `_staging`. Then a manifest in `_batches`, created only if absent, lists its files, and each file
is moved to its final path, which no other file may have. The manifest decides: a replay of the batch completes the
moves of the listed files, even if it would write other files now. Spark, Arrow and pandas ignore directories whose
names begin with `_`.
"""

from __future__ import annotations

import re
import shutil
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from blueprint.wording import counted
from streamlets.batches import execute, query_id
from streamlets.egress.errors import ExistingFilesError, SinkError
from streamlets.egress.files import contents
from streamlets.egress.files.compaction import Compaction
from streamlets.egress.files.record import FilesRecord
from streamlets.part_files import counted_rows, write_part_files
from streamlets.storage import objects
from streamlets.storage.crash import crash_point

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NUMBER = re.compile(r"c\d+")
"""The number of a file in its task, which Spark writes into its name, in partitions between dots."""


class Written(Protocol):
    """Takes the number of a batch that has been written, and the number of its records."""

    def __call__(self, batch: int, records: int, *, replayed: bool) -> None: ...


@dataclass(slots=True, kw_only=True)
class FilesWriter:
    """The function of the sink's `foreachBatch`.

    Arguments:
        record: the record of its batches and files, with the directory of the files on a local or mounted file system.
        format: the name of the format in Spark.
        options: the options of Spark's writer.
        partition_by: the partition columns, which become directories `column=value`.
        existing: what happens to files of an earlier checkpoint: `fail`, `replace` or `append`.
        compaction: merges small files of earlier batches; None merges none.
        written: takes the number of each batch and of its records: those in its files for formats that store their
            number; for others those that Spark has executed, also when an earlier attempt decided the files.
        report: called with each message for users who watch the run.
    """

    record: FilesRecord
    format: str
    options: Mapping[str, str] = field(default_factory=dict)
    partition_by: tuple[str, ...] = ()
    existing: str = "fail"
    compaction: Compaction | None = None
    written: Written = lambda batch, records, *, replayed: None
    report: Callable[[str], None] = lambda text: None
    _query: str = ""

    @property
    def root(self) -> Path:
        """The directory of the files."""
        return self.record.root

    @property
    def streamlet(self) -> str:
        """The name of the sink in the blueprint."""
        return self.record.streamlet

    def __call__(self, rows: DataFrame, batch: int) -> None:
        """Write a batch to the directory. If an earlier attempt has decided its files, complete their renames.

        Raises:
            SinkError: the file system does not accept the files.
            ExistingFilesError: the directory has files of an earlier checkpoint, or of another application.
        """
        try:
            if not self._query:
                self._begin(rows)
            self._write_batch(rows, batch)
        except OSError as error:
            raise SinkError(f"{self.streamlet}: {error}; the next attempt completes the batch") from None

    def _write_batch(self, rows: DataFrame, batch: int) -> None:
        record, query = self.record, self._query
        moves = record.decided(query, batch)
        replayed = moves is not None
        rows, executed = counted_rows(rows)
        if moves is None:
            record.unstage(query)  # of an attempt that was not decided
            directory = record.staging(query) / f"{batch}-{uuid.uuid4().hex[:8]}"
            staged = self._stage(rows, directory, executed)
            crash_point("after-data-files")
            if staged:
                record.decide(query, batch, self._places(directory, staged, batch))
            moves = record.decided(query, batch) or {}
            crash_point("after-manifest")
        else:
            execute(rows)
        for source, target in moves.items():
            self._move(source, target)
        record.unstage(query)
        record.publish(query, batch, moves.values())
        if self.compaction is not None:
            self.compaction.run(rows.sparkSession, query, batch)
        records = contents.records([self.root / target for target in moves.values()], self.format)
        self.written(batch, executed() or 0 if records is None else records, replayed=replayed)
        crash_point("before-spark-commit")

    def _begin(self, rows: DataFrame) -> None:
        """Claim the directory for the query, after the files of other checkpoints have been handled."""
        query = query_id(rows)
        if not self.record.knows(query):
            self._handle_earlier_files(query)
        self.record.claim(query)
        self._query = query

    def _handle_earlier_files(self, query: str) -> None:
        """Apply the option `existing` to files of other checkpoints. Only files of this application can be replaced."""
        earlier = self.record.earlier(query)
        others = [writer.owner for writer in earlier if writer.owner != self.record.owner]
        if self.existing != "append" and others:
            raise ExistingFilesError(
                f"{self.streamlet}: `{self.root}` has files of another application"
                f"{f' (its state directory: `{others[0]}`)' if others[0] else ''}; set another `path`, set "
                "`options.existing` to `append`, or delete the directory yourself"
            )
        if self.existing == "fail" and earlier:
            raise ExistingFilesError(
                f"{self.streamlet}: `{self.root}` has files that this sink wrote with an earlier checkpoint, so "
                "records would be duplicated; set `options.existing` to `replace`, which deletes these files, or to "
                "`append`, or set another `path`"
            )
        if self.existing == "replace" and earlier:
            count = sum(self.record.delete(writer.id) for writer in earlier)
            kept = sum(_is_visible(path.relative_to(self.root)) for path in self.root.rglob("*") if path.is_file())
            others_kept = f" and kept {counted(kept, 'file')} that it did not write" if kept else ""
            deleted = f"deleted {counted(count, 'file')} of an earlier checkpoint in `{self.root}`"
            self.report(f"{self.streamlet}: {deleted}{others_kept}")
        for writer in earlier:
            if self.existing == "append" and writer.owner == self.record.owner:
                self.record.forget(writer.id)

    def _stage(self, rows: DataFrame, directory: Path, executed: Callable[[], int | None]) -> list[Path]:
        """Write the files of a batch to a staging directory, and return the files that have records.

        Raises:
            SinkError: the file system does not accept them, or they do not have the records that Spark has executed.
        """
        try:
            files = write_part_files(
                rows, directory, format=self.format, options=self.options, partition_by=self.partition_by
            )  # fmt: skip
        except Exception as error:
            shutil.rmtree(directory, ignore_errors=True)
            reason = next((phrase for phrase in _FILE_SYSTEM_ERRORS if phrase in str(error)), None)
            if reason is None:
                raise
            raise SinkError(
                f"{self.streamlet}: cannot write to `{self.root}`: {reason.lower()}; no data of this batch was "
                "published"
            ) from None
        self._check(files, executed())
        return [path for path in files if contents.has_records(path, self.format, self.options)]

    def _check(self, files: Sequence[Path], executed: int | None) -> None:
        """Check that staged files have as many records as Spark has executed, if the format stores the number.

        Raises:
            SinkError: the numbers differ.
        """
        written = contents.records(files, self.format) if files else 0
        if None not in (written, executed) and written != executed:
            raise SinkError(
                f"{self.streamlet}: Spark executed {executed:,} records of the batch, and its files have {written:,}; "
                "no data of this batch was published"
            )

    def _places(self, directory: Path, files: Sequence[Path], batch: int) -> dict[str, str]:
        """Return the final path of each staged file by its path, both relative to the directory of the sink.

        The number in a final path is the file's in the batch, so no two of them are equal.
        """
        stem, places = _stem(self.streamlet, self._query), {}
        for number, path in enumerate(files):
            place = path.relative_to(directory).with_name(f"{stem}-{batch:06}-{number:05}{_suffix(path.name)}")
            places[path.relative_to(self.root).as_posix()] = place.as_posix()
        return places

    def _move(self, source: str, target: str) -> None:
        """Give a file its final path.

        Raises:
            SinkError: another file has the path.
        """
        (self.root / target).parent.mkdir(parents=True, exist_ok=True)
        if not objects.move_if_absent(self.root / source, self.root / target):
            raise SinkError(
                f"{self.streamlet}: cannot publish a file of the batch, because another file has the path "
                f"`{self.root / target}`; move it elsewhere"
            )
        crash_point("during-rename")


_FILE_SYSTEM_ERRORS = ("No space left on device", "Disk quota exceeded", "Permission denied", "Read-only file system")


def _stem(sink: str, query: str) -> str:
    """Return the beginning of the names of a query's files, which has no dot: what follows a dot is their suffix."""
    return f"{sink.replace('.', '-')}-{query[:8]}"


def _suffix(name: str) -> str:
    """Return the suffix of a file of Spark, such as `.snappy.parquet`."""
    return "".join(f".{part}" for part in name.split(".")[1:] if not _NUMBER.fullmatch(part))


def _is_visible(path: Path) -> bool:
    return not any(part.startswith(("_", ".")) for part in path.parts)
