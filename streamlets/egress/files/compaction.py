"""Merging the small files of a sink, of which a query with batches of one second writes thousands per hour.

Only files of batches that Spark has committed are merged, within their directory. The merged file is written to the
staging directory, a decision records it and the files that it replaces, then it is renamed to its final name, and the
others are deleted. After a kill at any point, the next start completes the merge.
"""

from __future__ import annotations

import bz2
import gzip
import os
import re
import shutil
import time
import uuid
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from streamlets.egress.files.record import FilesRecord, Merge

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LARGE = 128 * 1024**2
"""The size in bytes from which on a file is not merged."""

_OF_BATCH = re.compile(r"[^.]+-(\d{6,})-\d+\.[^-]+")


class _Compressor(Protocol):
    def compress(self, data: bytes, /) -> bytes: ...

    def flush(self) -> bytes: ...


class _Plain:
    """The codec of uncompressed files."""

    def compress(self, data: bytes, /) -> bytes:
        """Return the data unchanged."""
        return data

    def flush(self) -> bytes:
        """Return no further data."""
        return b""


_CODECS: Mapping[str, tuple[Callable[[bytes], bytes], Callable[[], _Compressor]]] = {
    ".gz": (gzip.decompress, lambda: zlib.compressobj(wbits=31)),
    ".bz2": (bz2.decompress, bz2.BZ2Compressor),
    ".deflate": (zlib.decompress, zlib.compressobj),
}


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

    def run(self, session: SparkSession, query: str, stem: str, batch: int) -> None:
        """Merge the files that are due. Only files of earlier batches are merged, which Spark has committed.

        Arguments:
            session: the session to read and write files with.
            query: the id of the query.
            stem: the beginning of the names of the query's files.
            batch: the number of the running batch.
        """
        staging, merges = self.record.staging(query) / f"merge-{uuid.uuid4().hex[:8]}", list[Merge]()
        for group in self._due(query, batch):
            first, last, suffix = _batch(group[0]), _batch(group[-1]), group[0].name.partition(".")[2]
            target = group[0].with_name(f"{stem}-{first:06}-{last:06}-merged.{suffix}")
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
            oldest = next((path for path in paths if (self.record.root / path).is_file()), None)
            if oldest and self.clock() - (self.record.root / oldest).stat().st_mtime >= self.every:
                yield from self._groups([path for path in paths if (self.record.root / path).is_file()])

    def _groups(self, paths: list[Path]) -> Iterator[list[Path]]:
        group, size = list[Path](), 0
        for path in paths:
            bytes = (self.record.root / path).stat().st_size
            if bytes >= LARGE:
                continue
            group.append(path)
            size += bytes
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
            rows = session.read.format(self.format).load([f"file:{file}" for file in files])
            rows.coalesce(1).write.format(self.format).options(**self.options).save(f"file:{written}")
            (part,) = written.glob("part-*")
            part.replace(target)
            shutil.rmtree(written)
        with target.open("rb") as merged:
            os.fsync(merged.fileno())  # before the files that it replaces are deleted


def concatenate(files: list[Path], target: Path, *, skip_header: bool) -> None:
    """Concatenate text files, compressed or not, into a file of the same format, without changing their lines.

    Arguments:
        files: the files to concatenate.
        target: the path of the new file.
        skip_header: whether to omit the first line of all files but the first.
    """
    decompress, compressor = _CODECS.get(target.suffix, (bytes, _Plain))
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
