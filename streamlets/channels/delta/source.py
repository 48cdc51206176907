"""The Python data source that streams a topic into Spark where Spark cannot read its files itself; see `native.py`.

Spark runs the stream reader in a separate process, and asks it for the latest offset about every 10 ms. Tasks read the
records.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from blueprint.avro.sources.loading import parse_contract
from streamlets.channels.delta.log import Slice
from streamlets.channels.delta.planning import Reading, TopicPlanner
from streamlets.channels.delta.records import read_slices
from streamlets.channels.records import fitted
from streamlets.channels.unreadable import UnreadableRecordsError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

FORMAT = "streamlets_delta_topic"


class TopicSource(DataSource):
    """A topic of the delta channel as a streaming source."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return FORMAT

    def streamReader(self, schema: StructType) -> TopicReader:  # noqa: N802
        """Return a stream reader with the options of the source."""
        return TopicReader(Reading.from_json(self.options["reading"]), schema)


@dataclass
class Part(InputPartition):
    """The slices that a task reads."""

    slices: list[Slice]


class TopicReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans the batches of a query. `read` runs in the tasks."""

    def __init__(self, reading: Reading, schema: StructType) -> None:
        self._planner = TopicPlanner(reading)
        self._schema = schema

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Return the offset at which a new checkpoint begins."""
        return self._planner.initial()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Set the end of a bounded run to the current end of the topic."""
        self._planner.bound()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return the limit of the inlet."""
        limit = self._planner.reading.max_records
        return ReadMaxRows(limit) if limit else ReadAllAvailable()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Return the end of the next batch, `start` if there are no new records."""
        return self._planner.end_of_batch(start, limit.max_rows if isinstance(limit, ReadMaxRows) else 0)

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        """Return the end of the topic, for the progress of the query."""
        return self._planner.known()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[Part]:
        """Return the partitions of a batch, one per task."""
        return [Part(part) for part in self._planner.parts(start, end)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the records of a partition."""
        from pyspark.sql.pandas.types import to_arrow_schema

        assert isinstance(partition, Part)
        reading = self._planner.reading
        schema = to_arrow_schema(self._schema, timezone="UTC")
        contract = parse_contract(reading.contract)
        try:
            for batch in read_slices(partition.slices, contract, metadata=reading.metadata):
                yield fitted(batch, schema)
        except UnreadableRecordsError as error:
            raise error.of(Path(reading.topic).name, reading.inlet, reading.declared) from None
