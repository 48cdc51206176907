"""The files sink: each batch becomes whole files under names that depend only on query, batch and partition.

A batch is written to `_staging`, then a manifest in `_batches`, made only if absent, names its files, then each is
renamed into its place. The manifest decides: a replay of the batch takes the files it names and finishes the renames,
even where it would now have made other ones. Folders that begin with `_` are hidden from Spark, Arrow and pandas.
"""

from __future__ import annotations

import json
import re
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from streamlets.channels.base import BatchWritten
from streamlets.channels.crash import crash_point
from streamlets.channels.delta import store
from streamlets.egress.errors import ExistingFilesError, SinkError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

STAGING, BATCHES = "_staging", "_batches"

_PART = re.compile(r"part-(\d+)-[0-9a-f-]+(?:[-.]c(\d+))?(\..+)")
_QUIET = {
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",  # the manifest says what succeeded
    "mapreduce.fileoutputcommitter.algorithm.version": "2",  # one rename less a file
}


@dataclass(slots=True)
class FilesWriter:
    """The function of the sink's `foreachBatch`.

    Arguments:
        root: the folder of the files, on a local or mounted file system.
        streamlet: the sink's name in the blueprint; format: Spark's name of the format.
        options: for Spark's writer.
        partition_by: columns that become folders `column=value`.
        existing: what becomes of files of an earlier checkpoint: `fail`, `replace` or `append`.
        on_batch: told of each batch once its files are in place, where the format counts its records (Parquet).
    """

    root: Path
    streamlet: str
    format: str
    options: Mapping[str, str] = field(default_factory=dict)
    partition_by: tuple[str, ...] = ()
    existing: str = "fail"
    on_batch: Callable[[BatchWritten], None] | None = None
    _query: str = ""

    def __call__(self, rows: DataFrame, batch: int) -> None:
        """Bring a batch into the folder; one that has been decided before is only finished.

        Raises:
            SinkError: the file system refuses.
            ExistingFilesError: there are files of an earlier checkpoint.
        """
        try:
            if not self._query:
                self._begin(rows)
            self._bring(rows, batch)
        except OSError as error:
            raise SinkError(f"{self.streamlet}: {error}; the batch will be finished when it is run again") from None

    def _bring(self, rows: DataFrame, batch: int) -> None:
        manifest = self._batches / f"{batch}.json"
        staging = self.root / STAGING / self.streamlet / self._query
        known = decided = store.read(manifest)
        if decided is None:
            shutil.rmtree(staging, ignore_errors=True)  # an attempt that was not decided
            staged = self._stage(rows, staging / f"{batch}-{uuid.uuid4().hex[:8]}", batch)
            crash_point("after-data-files")
            if staged:
                self._batches.mkdir(parents=True, exist_ok=True)
                store.put_if_absent(manifest, json.dumps(staged).encode())
            decided = store.read(manifest) or b"{}"
            crash_point("after-manifest")
        moves = json.loads(decided)
        for source, target in moves.items():
            _move(self.root / source, self.root / target)
        self._tidy(staging, batch)
        if self.on_batch is not None and self.format == "parquet":
            count = sum(_records(self.root / target) for target in moves.values())
            replayed = known is not None
            self.on_batch(BatchWritten(self.streamlet, "sink", batch, {self.format: count}, replayed=replayed))
        crash_point("before-spark-commit")

    def _begin(self, rows: DataFrame) -> None:
        """Take the id that Spark keeps in the checkpoint: a new checkpoint counts its batches anew."""
        session = rows.sparkSession
        session.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
        query = str(session.sparkContext.getLocalProperty("sql.streaming.queryId"))
        earlier = [path for path in _folders(self.root / BATCHES / self.streamlet) if path.name != query]
        if earlier and not (self.root / BATCHES / self.streamlet / query).exists():
            self._meet(earlier)
        self._query = query
        self._batches.mkdir(parents=True, exist_ok=True)

    def _meet(self, earlier: list[Path]) -> None:
        if self.existing == "fail":
            raise ExistingFilesError(
                f"{self.streamlet}: `{self.root}` holds files that it wrote before its checkpoint was begun anew, "
                "so that records would stand there twice: set `options.existing` to `replace`, which removes them, "
                "or to `append`, or give another `path`"
            )
        if self.existing == "replace":
            for batches in earlier:
                for path in self.root.rglob(f"{_stem(self.streamlet, batches.name)}-*"):
                    path.unlink()
                shutil.rmtree(batches)  # last: until then the files are known to be there

    @property
    def _batches(self) -> Path:
        return self.root / BATCHES / self.streamlet / self._query

    def _stage(self, rows: DataFrame, folder: Path, batch: int) -> dict[str, str]:
        """Write the batch's files aside; their paths below the root, now and when they are in place."""
        writer = rows.write.format(self.format).mode("append").options(**_QUIET).options(**self.options)
        if self.partition_by:
            writer = writer.partitionBy(*self.partition_by)
        try:
            writer.save(f"file:{folder}")
        except Exception as error:
            shutil.rmtree(folder, ignore_errors=True)
            refusal = next((phrase for phrase in _REFUSALS if phrase in str(error)), None)
            if refusal is None:
                raise
            raise SinkError(
                f"{self.streamlet}: {refusal.lower()} while writing to `{self.root}`; nothing of the batch is visible"
            ) from None
        return {
            path.relative_to(self.root).as_posix(): self._place(path.relative_to(folder), batch).as_posix()
            for path in sorted(folder.rglob("part-*"))
            if _has_records(path)
        }

    def _place(self, staged: Path, batch: int) -> Path:
        part = _PART.fullmatch(staged.name)
        assert part, staged  # Spark's own names
        number = f"{part[1]}.{int(part[2])}" if int(part[2] or 0) else part[1]
        return staged.with_name(f"{_stem(self.streamlet, self._query)}-{batch:06}-{number}{part[3]}")

    def _tidy(self, staging: Path, batch: int) -> None:
        """Remove what the batch no longer needs; earlier manifests go, as Spark has committed their batches."""
        shutil.rmtree(staging, ignore_errors=True)
        for folder in (staging.parent, self.root / STAGING):
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()
        for path in self._batches.glob("*.json"):
            if int(path.stem) < batch:
                path.unlink(missing_ok=True)


_REFUSALS = ("No space left on device", "Disk quota exceeded", "Permission denied", "Read-only file system")


def _stem(streamlet: str, query: str) -> str:
    """What the names of a query's files begin with."""
    return f"{streamlet}-{query[:8]}"


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


def _folders(path: Path) -> Iterator[Path]:
    return (found for found in path.iterdir() if found.is_dir()) if path.is_dir() else iter(())
