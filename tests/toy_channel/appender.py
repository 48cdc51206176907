"""Appending to a topic: each append is the next commit."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from blueprint.avro.model import Contract
from streamlets.channels.base import Appender, TopicWriteError, WriterFencedError
from streamlets.override import override
from tests.toy_channel.commits import Header, add_commit, commits_of


def last_of(topic: Path, writer: str, contract: Contract) -> tuple[int, Header]:
    """Return the number of the next commit, and the last header of a writer, with sequence -1 if it has none."""
    commits = commits_of(topic)
    known = [commit.header for commit in commits if commit.header.writer == writer]
    return len(commits), known[-1] if known else Header(contract.json, writer, -1, 0, 0)


class ToyAppender(Appender):
    """Appends records of a contract."""

    def __init__(self, topic: Path, contract: Contract, writer: str, epoch: int) -> None:
        self._topic, self._contract, self._writer, self._epoch = topic, contract, writer, epoch
        while True:
            number, self._last = self._known()
            claim = replace(self._last, epoch=epoch, time=_now())
            if self._last.epoch == epoch or add_commit(topic, number, claim, []):
                return

    @property
    @override
    def last(self) -> int | None:
        return self._last.sequence if self._last.sequence >= 0 else None

    @property
    @override
    def marker(self) -> bytes | None:
        return self._last.marker_bytes

    @override
    def append(self, rows: Iterable[pa.RecordBatch], sequence: int, *, marker: bytes | None = None) -> bool:
        records: list[pa.RecordBatch] | None = None
        while True:
            number, self._last = self._known()
            if self._last.sequence >= sequence:
                return False
            encoded = base64.b64encode(marker).decode() if marker is not None else self._last.marker
            header = Header(self._contract.json, self._writer, sequence, _now(), 0, self._epoch, encoded)
            try:
                records = list(rows) if records is None else records
                if add_commit(self._topic, number, header, records):
                    self._last = header
                    return True
            except OSError as error:
                raise TopicWriteError(f"cannot write to topic `{self._topic.name}`: {error}") from None

    def _known(self) -> tuple[int, Header]:
        number, last = last_of(self._topic, self._writer, self._contract)
        if last.epoch > self._epoch:
            raise WriterFencedError(
                f"the writer `{self._writer}` of topic `{self._topic.name}` with epoch {self._epoch} was fenced: it "
                f"was opened again with epoch {last.epoch}; no record was published"
            )
        return number, last


def has_written(topic: Path, writers: str, sequence: int) -> bool:
    """Return whether a writer whose id begins with `writers` has committed a sequence, or a later one."""
    headers = (commit.header for commit in commits_of(topic))
    return any(header.writer.startswith(writers) and header.sequence >= sequence for header in headers)


def _now() -> int:
    return int(time.time() * 1000)
