"""The facts about the content of files that a sink needs: codecs of text, numbers of records, and columns."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import zlib
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Protocol

_HEADER = 64 * 1024
"""The size in bytes from which on a file has more than a header."""


class Compressor(Protocol):
    """A codec that compresses a stream in parts."""

    def compress(self, data: bytes, /) -> bytes:
        """Compress a part, and return the complete output."""

    def flush(self) -> bytes:
        """Return the end of the stream."""


class _Plain:
    """The codec of uncompressed files."""

    def compress(self, data: bytes, /) -> bytes:
        """Return the data unchanged."""
        return data

    def flush(self) -> bytes:
        """Return no further data."""
        return b""


_CODECS: Mapping[str, tuple[Callable[[bytes], bytes], Callable[[], Compressor]]] = {
    ".gz": (gzip.decompress, lambda: zlib.compressobj(wbits=31)),
    ".bz2": (bz2.decompress, bz2.BZ2Compressor),
    ".deflate": (zlib.decompress, zlib.compressobj),
}


def codec(path: Path) -> tuple[Callable[[bytes], bytes], Callable[[], Compressor]]:
    """Return the function that decompresses a file of text, and what makes a compressor, by the suffix of its name."""
    return _CODECS.get(path.suffix, (bytes, _Plain))


def records(files: Sequence[Path], format: str) -> int | None:
    """Return the number of records in files, None for a format that does not store it."""
    if format == "parquet":
        import pyarrow.parquet as pq

        return sum(int(pq.read_metadata(path).num_rows) for path in files)
    if format == "orc":
        from pyarrow import orc

        return sum(int(orc.ORCFile(path).nrows) for path in files)
    return None


def has_records(path: Path, format: str, options: Mapping[str, str]) -> bool:
    """Return whether a file has records: a task without records may write one that has only a header, or nothing.

    Arguments:
        path: the path of the file.
        format: the name of the format in Spark.
        options: the options of Spark's writer.
    """
    stored = records([path], format)
    if stored is not None:
        return stored > 0
    if path.stat().st_size > _HEADER:
        return True
    text = codec(path)[0](path.read_bytes())
    if format != "csv" or options.get("header") != "true":
        return bool(text)
    lines = csv.reader(io.StringIO(text.decode(options.get("encoding", "utf-8"), errors="replace"), newline=""))
    return len(list(islice(lines, 2))) == 2


def columns(path: Path, format: str, options: Mapping[str, str]) -> object:
    """Return the key that two files must share to be merged without losing a column.

    Arguments:
        path: the path of the file.
        format: the name of the format in Spark.
        options: the options of Spark's writer.
    """
    if format == "parquet":
        import pyarrow.parquet as pq

        return pq.read_metadata(path).schema.to_arrow_schema().remove_metadata()
    if format == "orc":
        from pyarrow import orc

        return orc.ORCFile(path).schema.remove_metadata()
    if format == "csv" and options.get("header") == "true":
        return codec(path)[0](path.read_bytes()).partition(b"\n")[0]
    return None
