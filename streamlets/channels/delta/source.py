"""The Python data source that streams a topic into Spark.

Spark runs the stream reader in a separate process, and asks it for the latest offset about every 10 ms. Tasks read the
records.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from blueprint.avro.sources.loading import parse_contract
from streamlets.channels.delta.log import Slice, TopicLog
from streamlets.channels.delta.offsets import Offset
from streamlets.channels.delta.records import parts, read_slices
from streamlets.channels.records import fitted
from streamlets.channels.unreadable import UnreadableRecordsError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

FORMAT = "streamlets_delta_topic"


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

    def to_options(self) -> dict[str, str]:
        """Return the options for Spark, which stores them as strings under lower-case keys."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {"reading": json.dumps(fields)}

    @classmethod
    def from_options(cls, options: dict[str, str]) -> Reading:
        """Return the options from what `to_options` returned."""
        return cls(**json.loads(options["reading"]))


class TopicSource(DataSource):
    """A topic of the delta channel as a streaming source."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return FORMAT

    def streamReader(self, schema: StructType) -> TopicReader:  # noqa: N802
        """Return a stream reader with the options of the source."""
        return TopicReader(Reading.from_options(dict(self.options)), schema)


@dataclass
class Part(InputPartition):
    """The slices that a task reads."""

    slices: list[Slice]


class TopicReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans the batches of a query. `read` runs in the tasks."""

    def __init__(self, reading: Reading, schema: StructType) -> None:
        self._reading = reading
        self._schema = schema
        self._log: TopicLog | None = None
        self._until: Offset | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Return the offset at which a new checkpoint begins."""
        log = self._refreshed(None)
        return (log.end() if self._reading.starting == "latest" else log.begin()).to_dict()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Set the end of a bounded run to the current end of the topic."""
        self._until = self._refreshed(None).end()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return the limit of the inlet."""
        limit = self._reading.max_records
        return ReadMaxRows(limit) if limit else ReadAllAvailable()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Return the end of the next batch, `start` if there are no new records."""
        begin = Offset.from_dict(start)
        log = self._refreshed(begin)
        until = self._until or log.end()
        if isinstance(limit, ReadMaxRows):
            until = log.advance(begin, limit.max_rows, until)
        return begin.joined(until).to_dict()

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        """Return the end of the topic, for the progress of the query."""
        return self._log.end().to_dict() if self._log is not None else None

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[Part]:
        """Return the partitions of a batch, one per task."""
        begin = Offset.from_dict(start)
        log = self._refreshed(begin)
        log.forget(begin)
        slices = tuple(log.slices(begin, Offset.from_dict(end)))
        replicas = self._reading.replicas
        split = parts(slices, replicas, least=1) if replicas else parts(slices, self._reading.cores)
        return [Part(part) for part in split] or [Part([])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the records of a partition."""
        from pyspark.sql.pandas.types import to_arrow_schema

        assert isinstance(partition, Part)
        schema = to_arrow_schema(self._schema, timezone="UTC")
        contract = parse_contract(self._reading.contract)
        try:
            for batch in read_slices(partition.slices, contract, metadata=self._reading.metadata):
                yield fitted(batch, schema)
        except UnreadableRecordsError as error:
            raise error.of(Path(self._reading.topic).name, self._reading.inlet, self._reading.declared) from None

    def _refreshed(self, start: Offset | None) -> TopicLog:
        if self._log is None:
            self._log = TopicLog(Path(self._reading.topic), start)
        self._log.refresh()
        if start is not None:
            self._log.check(start)
        return self._log
