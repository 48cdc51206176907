"""Merging the small files of a sink, of which a query with batches of one second writes thousands per hour.

Only files of batches that Spark has committed are merged, within their directory. The merged file is written to the
staging directory, a decision records it and the files that it replaces, then it is renamed to its final name, and the
others are deleted. After a kill at any point, the next start completes the merge.
"""

from __future__ import annotations

import os
import re
import shutil
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from streamlets.egress.errors import SinkError
from streamlets.egress.files import contents
from streamlets.egress.files.record import FilesRecord, Merge
from streamlets.part_files import write_part_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LARGE = 128 * 1024**2
"""The size in bytes from which on a file is not merged."""

_OF_BATCH = re.compile(r"[^.]+-(\d{6,})-\d+\.[^-]+")


_GLOB = re.compile(r"([*?\[\]{}\\])")
"""The characters that make a path a pattern for Spark's readers."""


@dataclass(frozen=True, slots=True)
class Compaction:
    """How the files of a sink are merged.

    Arguments:
        record: the record of the sink's batches and files.
        format: the name of the format in Spark.
        options: the options of Spark's writer.
        every: files are merged when the oldest of them reaches this age, in seconds.
        clock: returns the time in seconds since the epoch.
    """

    record: FilesRecord
    format: str
    options: Mapping[str, str]
    every: float
    clock: Callable[[], float] = time.time

    def run(self, session: SparkSession, query: str, batch: int) -> None:
        """Merge the files that are due. Only files of earlier batches are merged, which Spark has committed.

        Arguments:
            session: the session to read and write files with.
            query: the id of the query.
            batch: the number of the running batch.

        Raises:
            SinkError: a merged file does not have the records of the files that it would replace.
        """
        staging, merges = self.record.staging(query) / f"merge-{uuid.uuid4().hex[:8]}", list[Merge]()
        for group in self._due(query, batch):
            first, _, suffix = group[0].name.partition(".")  # which no other group has
            target = group[0].with_name(f"{first}-{_batch(group[-1]):06}-merged.{suffix}")
            staged = staging / f"{len(merges)}.{suffix}"
            self._merge(session, [self.record.root / path for path in group], staged)
            names = tuple(path.as_posix() for path in group)
            merges.append(Merge(staged.relative_to(self.record.root).as_posix(), target.as_posix(), names))
        if merges:
            self.record.decide_merges(query, merges)
            self.record.finish_merges(query)
            self.record.unstage(query)

    def _due(self, query: str, batch: int) -> Iterator[list[Path]]:
        """Yield groups of small files, oldest first, each to be merged into one file."""
        directories: dict[Path, list[Path]] = defaultdict(list)
        for name in self.record.files(query):
            path = Path(name)
            if (number := _batch(path)) is not None and number < batch:
                directories[path.parent].append(path)
        for paths in directories.values():
            files = [path for path in paths if (self.record.root / path).is_file()]
            if files and self.clock() - (self.record.root / files[0]).stat().st_mtime >= self.every:
                small = [path for path in files if (self.record.root / path).stat().st_size < LARGE]
                for _, alike in groupby(small, self._columns):
                    yield from self._groups(list(alike))

    def _columns(self, path: Path) -> object:
        """Return the key that files must share: a merged file could not have the columns of both."""
        columns = contents.columns(self.record.root / path, self.format, self.options)
        return path.suffix, columns

    def _groups(self, paths: list[Path]) -> Iterator[list[Path]]:
        group, size = list[Path](), 0
        for path in paths:
            group.append(path)
            size += (self.record.root / path).stat().st_size
            if size >= LARGE:
                yield group
                group, size = [], 0
        if len(group) > 1:
            yield group

    def _merge(self, session: SparkSession, files: list[Path], target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        if self.format in ("json", "csv", "text"):
            header = self.format == "csv" and self.options.get("header") == "true"
            concatenate(files, target, skip_header=header)
        else:
            written = target.with_name(f"{target.name}.written")
            rows = session.read.format(self.format).load([_GLOB.sub(r"\\\1", f"file:{file}") for file in files])
            one_file = {**self.options, "maxRecordsPerFile": "0"}
            (part,) = write_part_files(rows.coalesce(1), written, format=self.format, options=one_file)
            part.replace(target)
            shutil.rmtree(written)
        if contents.records([target], self.format) != contents.records(files, self.format):
            raise SinkError(f"{self.record.streamlet}: a merged file has not all records of {len(files):,} small files")
        with target.open("rb") as merged:
            os.fsync(merged.fileno())  # before the files that it replaces are deleted


def concatenate(files: list[Path], target: Path, *, skip_header: bool) -> None:
    """Concatenate text files, compressed or not, into a file of the same format, without changing their lines.

    Arguments:
        files: the files to concatenate.
        target: the path of the new file.
        skip_header: whether to omit the first line of all files but the first.
    """
    decompress, compressor = contents.codec(target)
    codec = compressor()
    with target.open("wb") as merged:
        for number, file in enumerate(files):
            text = decompress(file.read_bytes())
            if number and skip_header:
                text = text[text.index(b"\n") + 1 :]
            merged.write(codec.compress(text))
        merged.write(codec.flush())


def _batch(path: Path) -> int | None:
    """Return the number of the batch that wrote a file, None for a merged file."""
    match = _OF_BATCH.fullmatch(path.name)
    return int(match[1]) if match else None
