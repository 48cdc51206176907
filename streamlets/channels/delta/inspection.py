"""Looking at topics from outside, without Spark: how much is in them, who wrote it, and what came last."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from blueprint.avro.sources.loading import parse_contract
from streamlets.channels.base import TopicSummary, WriterSummary
from streamlets.channels.delta.log import MARKER, Slice, TopicLog
from streamlets.channels.delta.offsets import Offset
from streamlets.channels.delta.records import read_slices

if TYPE_CHECKING:
    import pyarrow as pa

    from blueprint.avro.model import Contract


def topics_in(root: Path) -> tuple[Path, ...]:
    """The folders of topics below a channel's root, sorted."""
    return tuple(sorted(marker.parent for marker in root.glob(f"*/{MARKER}"))) if root.is_dir() else ()


def summary(topic: Path) -> TopicSummary:
    """What is in a topic; no data is read.

    Raises:
        TopicLostError: the topic is gone.
    """
    log = _opened(topic)
    writers = []
    for table in log.tables.values():
        files = (table.files or {}).values()
        contract = parse_contract(table.contract)
        writers.append(
            WriterSummary(
                record=contract.record.name,
                fingerprint=contract.fingerprint,
                queries=tuple(sorted(table.txns)),
                records=sum(file.records for file in files),
                bytes=sum(file.size for file in files),
                commits=table.version,
            )
        )
    times = [piece.time / 1000 for piece in _all(log)]
    return TopicSummary(
        name=topic.name,
        records=sum(each.records for each in writers),
        bytes=sum(each.bytes for each in writers),
        last_commit=max(times, default=None),
        writers=tuple(writers),
    )


def contracts(topic: Path) -> tuple[Contract, ...]:
    """The schemas that the records in a topic were written with, each once; no data is read.

    Raises:
        TopicLostError: the topic is gone.
    """
    tables = _opened(topic).tables.values()
    texts = {table.contract for table in tables if any(file.records for file in (table.files or {}).values())}
    return tuple(sorted(map(parse_contract, texts), key=lambda contract: contract.fingerprint))


def last(topic: Path, count: int) -> Iterator[pa.RecordBatch]:
    """The last `count` records, oldest first, as written; only the files that hold them are read.

    Raises:
        TopicLostError: the topic is gone.
    """
    kept: list[Slice] = []
    wanted = count
    for piece in reversed(_all(_opened(topic))):
        if wanted <= 0:
            break
        kept.insert(0, piece)
        wanted -= piece.count
    surplus = max(0, -wanted)
    for batch in read_slices(kept, None):
        skipped = min(surplus, batch.num_rows)
        surplus -= skipped
        if skipped < batch.num_rows:
            yield batch.slice(skipped)


def _opened(topic: Path) -> TopicLog:
    log = TopicLog(topic)
    log.refresh()
    return log


def _all(log: TopicLog) -> list[Slice]:
    return list(log.slices(Offset(log.id), log.end()))
