"""The Python data source that streams a topic into Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from blueprint.avro.sources.loading import parse_contract
from streamlets.channels.base import TopicLostError
from streamlets.channels.records import fitted
from streamlets.channels.unreadable import UnreadableRecordsError
from tests.toy_channel.commits import commits_of, end_of, topic_id

FORMAT = "toy_topic"


class ToySource(DataSource):
    """A topic as a streaming source. Its option `reading` is JSON with what `ToyTopic.read` knows."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return FORMAT

    def streamReader(self, schema: StructType) -> ToyReader:
        """Return a stream reader."""
        return ToyReader(json.loads(dict(self.options)["reading"]), schema)


@dataclass
class Range(InputPartition):
    """The commits that a task reads: from `start` until before `end`."""

    start: int
    end: int


class ToyReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans the batches of a query as ranges of commits. `read` runs in the tasks."""

    def __init__(self, reading: dict[str, Any], schema: StructType) -> None:
        self._reading = reading
        self._topic = Path(reading["topic"])
        self._schema = schema
        self._until: int | None = None

    def initialOffset(self) -> dict[str, Any]:
        """Return the offset at which a new checkpoint begins."""
        return self._offset(end_of(self._topic) if self._reading["starting"] == "latest" else 0)

    def prepareForTriggerAvailableNow(self) -> None:
        """Set the end of a bounded run to the current end of the topic."""
        self._until = end_of(self._topic)

    def getDefaultReadLimit(self) -> ReadLimit:
        """Return the limit of the inlet."""
        limit = self._reading["max_records"]
        return ReadMaxRows(limit) if limit else ReadAllAvailable()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Return the end of the next batch, which has whole commits."""
        if start["topic"] != topic_id(self._topic):
            raise TopicLostError(f"topic `{self._topic.name}` was deleted and created again after it was read")
        end = self._until if self._until is not None else end_of(self._topic)
        if isinstance(limit, ReadMaxRows):
            taken = 0
            for commit in commits_of(self._topic, start["next"], end):
                if taken and taken + commit.header.records > limit.max_rows:
                    return self._offset(commit.number)
                taken += commit.header.records
        return self._offset(end)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[Range]:
        """Return the only partition of a batch."""
        return [Range(start["next"], end["next"])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the records of a partition."""
        assert isinstance(partition, Range)
        schema, contract = to_arrow_schema(self._schema, timezone="UTC"), parse_contract(self._reading["contract"])
        try:
            for commit in commits_of(self._topic, partition.start, partition.end):
                for batch in commit.read(contract, metadata=self._reading["metadata"]):
                    yield fitted(batch, schema)
        except UnreadableRecordsError as error:
            raise error.of(self._topic.name, self._reading["inlet"], "") from None

    def _offset(self, number: int) -> dict[str, Any]:
        return {"topic": topic_id(self._topic), "next": number}
