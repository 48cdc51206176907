"""The batches of the sink `kafka` with `guarantee = exactly-once`: stored first, and sent in Kafka transactions.

`streamlets.channels.kafka.exactly_once` describes how. What is stored of a batch remains until the next one begins.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from streamlets.batches import execute, query_id
from streamlets.channels.base import ChannelUnavailableError, TopicLostError
from streamlets.channels.kafka.appender import WRITERS
from streamlets.channels.kafka.client_settings import java_settings, librdkafka_settings
from streamlets.channels.kafka.cluster import Connection, Connections
from streamlets.channels.kafka.cluster_client import Cluster
from streamlets.channels.kafka.compacted import CompactedTable
from streamlets.channels.kafka.exactly_once import ExactlyOnce, writer_name
from streamlets.channels.kafka.shares import Shares
from streamlets.egress.errors import SinkError
from streamlets.storage.crash import crash_point

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from streamlets.egress.base import SinkQuery


@dataclass(slots=True)
class KafkaBatches:
    """The function of the sink's `foreachBatch`, and the record of its batches.

    Arguments:
        query: the query and its options.
    """

    query: SinkQuery
    _writers: dict[str, ExactlyOnce] = field(default_factory=dict)

    def __call__(self, rows: DataFrame, batch: int) -> None:
        """Send the messages of a batch that earlier attempts have not committed.

        Arguments:
            rows: the messages in the columns of Spark's connector.
            batch: the number of the batch.

        Raises:
            SinkError: the topic does not exist, or the cluster does not take them.
            BatchMismatchError: the cluster has another batch under its number.
        """
        id = query_id(rows)
        directory = self.query.staging(id) / str(batch)
        shares, writer = Shares.read(directory), self._writers.get(id) or self._writer(id)
        replayed = shares is not None
        if shares is None:
            self._remove_before(id, batch)
            shares = writer.decide(rows, directory)
        else:
            execute(rows)
        try:
            writer.send(rows.sparkSession, directory, shares, batch)
        except (TopicLostError, ChannelUnavailableError) as error:
            raise SinkError(f"{self.query.name}: {error}; {error.help}" if error.help else str(error)) from None
        self.query.written(batch, shares.messages, replayed=replayed)
        crash_point("before-spark-commit")

    def may_have_written(self, id: str, batch: int) -> bool:
        """Return whether the messages of a batch, or of a later one, were decided."""
        directories = self.query.staging(id).glob("[0-9]*")
        return any(int(path.name) >= batch and Shares.read(path) is not None for path in directories)

    def _remove_before(self, id: str, batch: int) -> None:
        """Delete what is stored of earlier batches, which Spark has committed."""
        for path in self.query.staging(id).glob("[0-9]*"):
            if int(path.name) < batch:
                shutil.rmtree(path, ignore_errors=True)

    def _writer(self, id: str) -> ExactlyOnce:
        query, cluster = self.query, Cluster(connections(self.query.options))
        name = writer_name(Path(query.application).name, query.streamlet, query.query, id)
        topic, limit = query.options.get("topic"), None
        if topic is not None:
            with suppress(TopicLostError, ChannelUnavailableError):  # reported when messages are sent
                limit = int(cluster.settings(str(topic))["max.message.bytes"])
        self._writers[id] = ExactlyOnce(
            cluster, CompactedTable(cluster, WRITERS), str(topic or query.name), name, f"`{query.name}`", limit
        )
        return self._writers[id]


def connections(options: Mapping[str, object]) -> Connections:
    """Return the connections that the options of Spark's connector describe.

    Arguments:
        options: the options of the sink.
    """
    settings = {name.removeprefix("kafka."): str(value) for name, value in options.items() if name.startswith("kafka.")}
    connection = Connection(java_settings(settings), librdkafka_settings(settings))
    return Connections(connection, connection, connection)
