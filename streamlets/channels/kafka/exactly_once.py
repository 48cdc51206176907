"""`ExactlyOnce`: the batches of an outlet or a sink, each message of which readers of committed records see once.

A batch is stored first, and it is decided which tasks send which messages (`shares.py`). Then each task sends its share
in transactions of its own (`transactions.py`). A replay finds the decision, and each task what it has committed.

The share of a small batch is sent by the driver, whose producer stays open: opening one takes half a second.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from streamlets.channels.kafka.appender import transaction_prefix
from streamlets.channels.kafka.cluster_client import VISIBLE_PATIENCE, Cluster
from streamlets.channels.kafka.compacted import CompactedTable
from streamlets.channels.kafka.shares import Share, Shares
from streamlets.channels.kafka.transactions import LETTER, Progress, Sending, Sent, ShareSender, send_share
from streamlets.part_files import write_part_files
from streamlets.storage.crash import crash_point

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SMALL_MESSAGES, _SMALL_BYTES = 20_000, 8 * 2**20
_BATCH_SIZE, _REQUEST_SIZE = 1_000_000, 1_048_576


@dataclass(slots=True)
class ExactlyOnce:
    """Sends the batches of an outlet or a sink.

    Arguments:
        cluster: the cluster.
        writers: the entries of writers.
        topic: the topic of messages without a column `topic`, and for messages to people.
        name: the name of the writer, the same in all attempts and different for each checkpoint; see `writer_name`.
        query: the query and the outlet, for messages to people.
        limit: the largest message that the topic takes, in bytes; None if that is not known.
    """

    cluster: Cluster
    writers: CompactedTable
    topic: str
    name: str
    query: str
    limit: int | None = None
    _driver: ShareSender | None = None
    _known: dict[str, Progress] = field(default_factory=dict)
    _read: int = -1

    def decide(self, messages: DataFrame, directory: Path) -> Shares:
        """Store the messages of a batch, and decide how they are sent.

        Arguments:
            messages: messages with the columns of `transactions.py`; executed once.
            directory: the directory of the batch; what an abandoned attempt has left there is deleted.
        """
        shutil.rmtree(directory, ignore_errors=True)
        shares = store(messages, directory)
        shares.write(directory)
        crash_point("after-shared-out")
        return shares

    def send(
        self, session: SparkSession, directory: Path, shares: Shares, batch: int, topics: Iterable[str] = ()
    ) -> None:
        """Send what earlier attempts have not committed, and wait until readers of topics see it.

        Arguments:
            session: the Spark whose executors send.
            directory: the directory of the batch.
            shares: how the batch is sent.
            batch: the number of the batch.
            topics: the topics; none if nobody waits for the messages.

        Raises:
            BatchMismatchError: the cluster has another batch under its number.
            RecordTooLargeError, TopicLostError, ClusterError: as for `ShareSender.send`.
        """
        if not shares.tasks:
            return
        if self._read < 0:
            self.writers.create()
            entries = self.writers.refreshed()
            own = {key: value for key, value in entries.items() if key.startswith(f"{self.topic}/{self.name}:")}
            self._known, self._read = {key: Progress.from_json(value) for key, value in own.items()}, self.writers.end
        sendings = [self._sending(directory, shares, number, share, batch) for number, share in enumerate(shares.tasks)]
        for sending, sent in zip(sendings, self._sent(session, sendings), strict=True):
            if isinstance(sent, Exception):
                raise sent
            self._known[sending.name] = sent.progress
        for topic in topics:
            self.cluster.await_committed(topic, self.cluster.stored(topic), VISIBLE_PATIENCE)

    def _sent(self, session: SparkSession, sendings: list[Sending]) -> Iterable[Sent | Exception]:
        if len(sendings) == 1:
            self._driver = self._driver or ShareSender(self.cluster)
            return [self._driver.send(sendings[0])]
        return session.sparkContext.parallelize(sendings, len(sendings)).map(send_share).collect()

    def _sending(self, directory: Path, shares: Shares, number: int, share: Share, batch: int) -> Sending:
        name = f"{self.topic}/{self.name}:{number}"
        files = tuple(str(directory / file) for file in share.files)
        return Sending(
            connections=self.cluster.connections,
            writers=self.writers.topic,
            prefix=transaction_prefix(self.writers.topic),
            name=name,
            query=self.query,
            batch=batch,
            shares=shares.id,
            share=replace(share, files=files),
            topic=self.topic,
            known=self._known.get(name, Progress()),
            since=self._read,
            settings=self._settings(),
        )

    def _settings(self) -> dict[str, object]:
        """Return the settings of producers that the user has not chosen, by librdkafka's names.

        librdkafka does not split a batch of several messages that is larger than the topic allows.
        """
        chosen = self.cluster.connections.producer.librdkafka
        defaults = {"compression.type": "lz4", "message.max.bytes": _REQUEST_SIZE}
        size = min(_BATCH_SIZE, self.limit) if self.limit is not None else _BATCH_SIZE
        return {"batch.size": size, **{key: value for key, value in defaults.items() if key not in chosen}}


def store(messages: DataFrame, directory: Path) -> Shares:
    """Store messages in a new directory below the directory of their batch; return how they are shared out to tasks.

    Arguments:
        messages: messages with the columns of `transactions.py`; executed once.
        directory: the directory of the batch.
    """
    id = uuid.uuid4().hex
    files = write_part_files(messages, directory / id)
    crash_point("after-staging")
    sizes = [(f"{id}/{file.relative_to(directory / id)}", _count(file)) for file in files]
    small = sum(count for _, count in sizes) <= _SMALL_MESSAGES and _bytes(files) <= _SMALL_BYTES
    tasks = 1 if small else messages.sparkSession.sparkContext.defaultParallelism
    letters = sum(_count(file, LETTER) for file in files) if LETTER in messages.columns else 0
    return Shares.of(id, sizes, tasks, letters)


def writer_name(*parts: str) -> str:
    """Return the name of a writer from its parts, such as the streamlet, the query and the id of its checkpoint.

    A new checkpoint numbers its batches from 0 again, so it is another writer.
    """
    return ":".join(quote(part, safe="") for part in parts)


def _count(file: Path, column: str = "") -> int:
    """Return the number of messages in a file, or of those with a value in a column."""
    import pyarrow.parquet as pq

    if not column:
        return int(pq.read_metadata(file).num_rows)
    values = pq.read_table(file, columns=[column]).column(column)
    return len(values) - int(values.null_count)


def _bytes(files: Iterable[Path]) -> int:
    return sum(file.stat().st_size for file in files)
