"""The Python data source that streams a `SmallTopic` into Spark."""

from __future__ import annotations

import json
import pickle
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from blueprint.plan import InletPlan
from streamlets.channels.base import Position
from streamlets.channels.records import fitted
from streamlets.channels.small.topic import FORMAT, SmallTopic
from streamlets.channels.unreadable import UnreadableRecordsError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType


class TopicSource(DataSource):
    """A topic as a streaming source. Its option `reading` has what `SmallTopic.read` knows."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return FORMAT

    def streamReader(self, schema: StructType) -> TopicReader:  # noqa: N802
        """Return a stream reader."""
        topic, inlet, metadata = pickle.loads(b64decode(dict(self.options)["reading"]))
        return TopicReader(topic, inlet, metadata, schema)


@dataclass
class Range(InputPartition):
    """The positions between which a task reads."""

    start: Position
    end: Position


class TopicReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans the batches of a query. `read` runs in the tasks."""

    def __init__(self, topic: SmallTopic, inlet: InletPlan, metadata: bool, schema: StructType) -> None:
        self._topic = topic
        self._inlet = inlet
        self._metadata = metadata
        self._schema = schema
        self._until: Position | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Return the offset at which a new checkpoint begins."""
        return _offset(self._topic.end() if self._inlet.settings.starting == "latest" else self._topic.position(0))

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Set the end of a bounded run to the current end of the topic."""
        self._until = self._topic.end()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return the limit of the inlet."""
        limit = self._inlet.settings.max_records
        return ReadMaxRows(limit) if limit else ReadAllAvailable()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Return the end of the next batch."""
        after, until = _position(start), self._until or self._topic.end()
        self._topic.number(after)  # the topic may have been created again
        return _offset(self._topic.advance(after, until, limit.max_rows) if isinstance(limit, ReadMaxRows) else until)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[Range]:
        """Return the only partition of a batch."""
        return [Range(_position(start), _position(end))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the records of a partition."""
        from pyspark.sql.pandas.types import to_arrow_schema

        assert isinstance(partition, Range)
        schema, inlet = to_arrow_schema(self._schema, timezone="UTC"), self._inlet
        try:
            for batch in self._topic.scan(inlet.contract, partition.start, partition.end, metadata=self._metadata):
                yield fitted(batch, schema)
        except UnreadableRecordsError as error:
            raise error.of(self._topic.plan.name, f"{inlet.streamlet}.{inlet.name}", "") from None


def _position(offset: dict[str, Any]) -> Position:
    return Position(json.dumps(offset))


def _offset(position: Position) -> dict[str, Any]:
    offset: dict[str, Any] = json.loads(position.json)
    return offset
