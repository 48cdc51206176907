"""Inspecting topics without Spark: their size, their writers and their last records."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from blueprint.avro.sources.loading import parse_contract
from streamlets.channels.base import TopicSummary, WriterSummary, WrittenBatch
from streamlets.channels.delta.actions import DamagedCommitError, decode
from streamlets.channels.delta.integrity import LOG, commit_path
from streamlets.channels.delta.log import MARKER, Slice, TopicLog
from streamlets.channels.delta.manifest import checkpoint_of
from streamlets.channels.delta.offsets import Offset
from streamlets.channels.delta.records import read_slices
from streamlets.storage import objects

if TYPE_CHECKING:
    import pyarrow as pa

    from blueprint.avro.model import Contract


_COMMITS_PER_BATCH = 4
"""The commits that are read in search of a batch: others are of maintenance, or of writers that are not queries."""


def topics_in(root: Path) -> tuple[Path, ...]:
    """Return the directories of the topics of a channel, sorted; also one that has lost the file with its id."""
    found = {marker.parent for marker in root.glob(f"*/{MARKER}")} | {log.parents[1] for log in root.glob(f"*/*/{LOG}")}
    return tuple(sorted(found))


def summary(topic: Path) -> TopicSummary:
    """Return a summary of the contents of a topic, without reading records.

    Raises:
        TopicLostError: the topic does not exist.
    """
    log = _open_log(topic)
    writers = []
    for table in log.tables.values():
        files = (table.files or {}).values()
        contract = parse_contract(table.contract)
        writers.append(
            WriterSummary(
                record=contract.record.name,
                fingerprint=contract.fingerprint,
                queries=tuple(sorted(writer for writer, txn in table.txns.items() if txn.sequence >= 0)),
                records=sum(file.records for file in files),
                bytes=sum(file.size for file in files),
                commits=table.version,
            )
        )
    times = [piece.time / 1000 for piece in _all_slices(log)]
    return TopicSummary(
        name=topic.name,
        records=sum(writer.records or 0 for writer in writers),
        bytes=sum(writer.bytes or 0 for writer in writers),
        last_commit=max(times, default=None),
        writers=tuple(writers),
        files=sum(len(table.files or {}) for table in log.tables.values()),
    )


def contracts(topic: Path) -> tuple[Contract, ...]:
    """Return the contracts that the records in a topic were written with, without reading records.

    Raises:
        TopicLostError: the topic does not exist.
    """
    tables = _open_log(topic).tables.values()
    texts = {table.contract for table in tables if any(file.records for file in (table.files or {}).values())}
    return tuple(sorted(map(parse_contract, texts), key=lambda contract: contract.fingerprint))


def last(topic: Path, count: int, *, metadata: bool = False) -> Iterator[pa.RecordBatch]:
    """Yield the last `count` records as they were written, oldest first. Only the files with these records are read.

    With `metadata` they have the column `_meta`.

    Raises:
        TopicLostError: the topic does not exist.
    """
    kept: list[Slice] = []
    missing = count
    for piece in reversed(_all_slices(_open_log(topic))):
        if missing <= 0:
            break
        kept.insert(0, piece)
        missing -= piece.count
    surplus = max(0, -missing)
    for batch in read_slices(kept, None, metadata=metadata):
        skipped = min(surplus, batch.num_rows)
        surplus -= skipped
        if skipped < batch.num_rows:
            yield batch.slice(skipped)


def written_by(topic: Path, start: Offset, end: Offset, most: int) -> tuple[WrittenBatch, ...]:
    """Return the batches of queries that wrote the records between two offsets, newest first in each table.

    The commits name them. Commits of maintenance name none, and neither does a commit that was cleaned from the log.

    Arguments:
        topic: the directory of the topic.
        start: the first offset.
        end: the second offset.
        most: the largest number of batches; no more commits than several times as many are read.
    """
    batches: dict[WrittenBatch, None] = {}
    for name, (id, place) in end.tables.items():
        first, last = start.place(name).version, place.version if place.number else place.version - 1
        for version in range(last, max(first, last + 1 - most * _COMMITS_PER_BATCH) - 1, -1):
            data = objects.read(commit_path(topic / name, version))
            if data is None or len(batches) >= most:
                break
            with suppress(DamagedCommitError):  # its readers report it
                txn = decode(id, version, data).txn
                if txn is not None and (checkpoint := checkpoint_of(txn.writer)):
                    batches[WrittenBatch(checkpoint, txn.sequence)] = None
    return tuple(batches)


def _open_log(topic: Path) -> TopicLog:
    log = TopicLog(topic)
    log.refresh()
    return log


def _all_slices(log: TopicLog) -> list[Slice]:
    return list(log.slices(log.begin(), log.end()))
