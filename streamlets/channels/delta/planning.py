"""Planning the batches of a reader of a topic: which records they have, and which task reads which of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamlets.channels.delta.log import Slice, TopicLog
from streamlets.channels.delta.offsets import Offset
from streamlets.channels.delta.records import parts


@dataclass(frozen=True, slots=True)
class Reading:
    """The options of the data source.

    Arguments:
        topic: the directory of the topic.
        contract: the contract to read with, as JSON.
        starting: where a new checkpoint begins, `earliest` or `latest`.
        max_records: the maximum number of records in a batch of several commits; 0 for no limit.
        cores: the maximum number of tasks per batch if `replicas` does not set it.
        metadata: whether to add the column `_meta`.
        inlet: the inlet of the reader, as `streamlet.inlet`, for messages.
        declared: where the schema of the inlet is, as `file:line`, for messages.
        replicas: the number of tasks per batch, however few records that gives each; 0 if it is not set.
    """

    topic: str
    contract: str
    starting: str
    max_records: int
    cores: int
    metadata: bool
    inlet: str = ""
    declared: str = ""
    replicas: int = 0

    def to_json(self) -> str:
        """Return the options as a string, for Spark."""
        return json.dumps({name: getattr(self, name) for name in self.__slots__})

    @classmethod
    def from_json(cls, options: str) -> Reading:
        """Return the options from what `to_json` returned."""
        return cls(**json.loads(options))


class TopicPlanner:
    """Plans the batches of a query that reads a topic. Offsets are JSON objects, as in the checkpoint.

    Arguments:
        reading: the topic and the options of the reader.
    """

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self._log: TopicLog | None = None
        self._until: Offset | None = None

    def initial(self) -> dict[str, Any]:
        """Return the offset at which a new checkpoint begins."""
        log = self._refreshed(None)
        return (log.end() if self.reading.starting == "latest" else log.begin()).to_dict()

    def bound(self) -> None:
        """Set the end of a bounded run to the current end of the topic."""
        self._until = self._refreshed(None).end()

    def end_of_batch(self, start: dict[str, Any], limit: int) -> dict[str, Any]:
        """Return the end of the next batch, `start` if there are no new records.

        Arguments:
            start: the beginning of the batch.
            limit: the maximum number of records of several commits; 0 for no limit.
        """
        begin = Offset.from_dict(start)
        log = self._refreshed(begin)
        until = self._until or log.end()
        if limit:
            until = log.advance(begin, limit, until)
        return begin.joined(until).to_dict()

    def known(self) -> dict[str, Any] | None:
        """Return the last known end of the topic."""
        return self._log.end().to_dict() if self._log is not None else None

    def parts(self, start: dict[str, Any], end: dict[str, Any]) -> list[list[Slice]]:
        """Return the slices of a batch, by task."""
        begin = Offset.from_dict(start)
        log = self._refreshed(begin)
        log.forget(begin)
        slices = tuple(log.slices(begin, Offset.from_dict(end)))
        replicas = self.reading.replicas
        split = parts(slices, replicas, least=1) if replicas else parts(slices, self.reading.cores)
        return split or [[]]

    def log(self) -> TopicLog | None:
        """Return the log of the topic as it was last read; None before."""
        return self._log

    def _refreshed(self, start: Offset | None) -> TopicLog:
        if self._log is None:
            self._log = TopicLog(Path(self.reading.topic), start)
        self._log.refresh()
        if start is not None:
            self._log.check(start)
        return self._log
