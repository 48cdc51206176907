"""The files sink writes each batch to complete files, whose names depend only on query, batch and partition.

A batch is written to `_staging`. Then a manifest in `_batches`, created only if absent, lists its files, and each file
is renamed to its final path. The manifest decides: a replay of the batch completes the renames of the listed files,
even if it would write other files now. Spark, Arrow and pandas ignore directories whose names begin with `_`.
"""

from __future__ import annotations

import re
import shutil
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from streamlets.batches import execute, query_id
from streamlets.egress.errors import ExistingFilesError, SinkError
from streamlets.egress.files.compaction import Compaction
from streamlets.egress.files.record import FilesRecord
from streamlets.storage.crash import crash_point

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_PART = re.compile(r"part-(\d+)-[0-9a-f-]+(?:[-.]c(\d+))?(\..+)")
_QUIET = {
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",  # the manifest replaces the _SUCCESS file
    "mapreduce.fileoutputcommitter.algorithm.version": "2",  # one rename fewer per file
}


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
        written: takes the number of each batch and of its records: those in its files for Parquet, which stores their
            number; for other formats those that Spark has executed, also when an earlier attempt decided the files.
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
        if self.format != "parquet":
            rows, executed = _counted(rows)
        if moves is None:
            record.unstage(query)  # of an attempt that was not decided
            staged = self._stage(rows, record.staging(query) / f"{batch}-{uuid.uuid4().hex[:8]}", batch)
            crash_point("after-data-files")
            if staged:
                record.decide(query, batch, staged)
            moves = record.decided(query, batch) or {}
            crash_point("after-manifest")
        else:
            execute(rows)
        for source, target in moves.items():
            _move(self.root / source, self.root / target)
        record.unstage(query)
        record.publish(query, batch, moves.values())
        if self.compaction is not None:
            self.compaction.run(rows.sparkSession, query, _stem(self.streamlet, query), batch)
        if self.format == "parquet":
            records = sum(_records(self.root / target) for target in moves.values())
        else:
            records = executed()
        self.written(batch, records, replayed=replayed)
        crash_point("before-spark-commit")

    def _begin(self, rows: DataFrame) -> None:
        """Claim the directory for the query, after the files of other checkpoints have been handled."""
        rows.sparkSession.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
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
            others_kept = f" and kept {_files(kept)} that it did not write" if kept else ""
            self.report(
                f"{self.streamlet}: deleted {_files(count)} of an earlier checkpoint in `{self.root}`{others_kept}"
            )
        for writer in earlier:
            if self.existing == "append" and writer.owner == self.record.owner:
                self.record.forget(writer.id)

    def _stage(self, rows: DataFrame, directory: Path, batch: int) -> dict[str, str]:
        """Write the files of a batch to a staging directory.

        Returns:
            The final path of each file by its staged path, both relative to the directory of the sink.
        """
        writer = rows.write.format(self.format).mode("append").options(**_QUIET).options(**self.options)
        if self.partition_by:
            writer = writer.partitionBy(*self.partition_by)
        try:
            writer.save(f"file:{directory}")
        except Exception as error:
            shutil.rmtree(directory, ignore_errors=True)
            reason = next((phrase for phrase in _FILE_SYSTEM_ERRORS if phrase in str(error)), None)
            if reason is None:
                raise
            raise SinkError(
                f"{self.streamlet}: cannot write to `{self.root}`: {reason.lower()}; no data of this batch was "
                "published"
            ) from None
        return {
            path.relative_to(self.root).as_posix(): self._place(path.relative_to(directory), batch).as_posix()
            for path in sorted(directory.rglob("part-*"))
            if _has_records(path)
        }

    def _place(self, staged: Path, batch: int) -> Path:
        part = _PART.fullmatch(staged.name)
        assert part, staged  # the names of Spark's writer
        number = f"{part[1]}.{int(part[2])}" if int(part[2] or 0) else part[1]
        return staged.with_name(f"{_stem(self.streamlet, self._query)}-{batch:06}-{number}{part[3]}")


_FILE_SYSTEM_ERRORS = ("No space left on device", "Disk quota exceeded", "Permission denied", "Read-only file system")


def _stem(sink: str, query: str) -> str:
    """Return the beginning of the names of a query's files, which has no dot: what follows a dot is their suffix."""
    return f"{sink.replace('.', '-')}-{query[:8]}"


def _counted(rows: DataFrame) -> tuple[DataFrame, Callable[[], int]]:
    """Return rows that Spark counts when it executes them, and a function that returns their number afterwards."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    observation = Observation(f"streamlets-{uuid.uuid4().hex}")
    observed = rows.observe(observation, F.count(F.lit(1)).alias("records"))
    # Spark reports no values for a plan that it has optimized away.
    return observed, lambda: int((observation.get or {}).get("records", 0))


def _move(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        source.replace(target)
    except FileNotFoundError:
        if not target.exists():
            raise
    crash_point("during-rename")


def _has_records(path: Path) -> bool:
    if path.suffix == ".parquet":
        return bool(_records(path))
    return path.stat().st_size > 0


def _records(path: Path) -> int:
    import pyarrow.parquet as pq

    return int(pq.read_metadata(path).num_rows)


def _is_visible(path: Path) -> bool:
    return not any(part.startswith(("_", ".")) for part in path.parts)


def _files(count: int) -> str:
    return f"{count:,} file{'' if count == 1 else 's'}"
