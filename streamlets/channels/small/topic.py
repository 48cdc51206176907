"""`SmallTopic`: a topic whose author writes how commits are stored."""

from __future__ import annotations

import abc
import json
import pickle
import time
from base64 import b64encode
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from streamlets.channels.base import (
    METADATA,
    METADATA_DDL,
    Appender,
    Lag,
    Position,
    TopicLostError,
    TopicResource,
    TopicSummary,
    WriterSummary,
)
from streamlets.channels.metadata import with_metadata
from streamlets.channels.records import conversion
from streamlets.channels.replays import Replays
from streamlets.channels.small.appender import SmallAppender
from streamlets.channels.small.commits import Commit, Content, WriterState, batches_in, contract_of
from streamlets.override import override

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from blueprint.avro.model import Contract
    from blueprint.plan import InletPlan, TopicPlan

FORMAT = "streamlets_small_topic"
"""The name of the data source in Spark."""


class SmallTopic(TopicResource):
    """A topic whose commits have numbers, and which Spark reads by scans, one task per batch.

    A position has the id of the topic and the number of the last commit before it. The topic is pickled, because tasks
    run in processes of their own: it must not keep connections.

    Arguments:
        plan: the name and the settings of the topic.
        directory: the directory of the topic in the directory of the channel. It need not exist.
    """

    def __init__(self, plan: TopicPlan, directory: Path) -> None:
        self.plan = plan
        self.directory = directory

    @property
    @abc.abstractmethod
    def id(self) -> str:
        """The id of the topic, which distinguishes it from a later one with its name.

        Raises:
            TopicLostError: the topic does not exist; `not_found` returns the error.
        """

    @abc.abstractmethod
    def make(self) -> None:
        """Create the topic with a new id, unless it exists. Several processes may call this at the same time.

        If it exists, it keeps its id, its commits and the states of its writers.
        """

    @abc.abstractmethod
    def newest(self) -> int:
        """Return the number of the last commit, also if its records were dropped; 0 before the first one.

        Raises:
            TopicLostError: the topic does not exist.
        """

    @abc.abstractmethod
    def commits(self, after: int, until: int) -> Iterable[Commit]:
        """Return commits in the order of their numbers, without their content.

        All of them are published completely. Numbers may be missing.

        Arguments:
            after: the number of a commit, or 0, which is not included: the first commit has a larger one.
            until: the largest number, which is included. If it equals `after`, there are no commits.

        Returns:
            The commits. `records` is 0 for those whose records were dropped, and for those that have none.

        Raises:
            TopicLostError: the topic does not exist.
        """

    @abc.abstractmethod
    def data(self, commit: int) -> bytes | None:
        """Return the data of a commit, as `publish` got it; None if it was dropped.

        Arguments:
            commit: the number of a commit with records, not a `Commit`.
        """

    @abc.abstractmethod
    def claim(self, writer: str, epoch: int) -> WriterState:
        """Return the state of a writer, after storing the epoch that it is opened with, in one transaction.

        `WriterState.claimed` has the rule. A claim of the epoch that is stored need not write.

        Arguments:
            writer: the id of the writer, which may be a new one.
            epoch: the epoch.

        Returns:
            The state that is stored now: the stored sequence and marker with this epoch. A new writer has the sequence
            and the marker of `WriterState()`.

        Raises:
            WriterFencedError: the writer was opened with a higher epoch.
            TopicLostError: the topic does not exist.
            TopicWriteError: the state cannot be stored.
        """

    @abc.abstractmethod
    def publish(self, writer: str, state: WriterState, content: Content) -> bool:
        """Add a commit with the next number and replace the state of its writer, in one durable transaction.

        `WriterState.admits` has the rule, for the stored state of the writer.

        Arguments:
            writer: the id of the writer.
            state: the state to store, with the sequence and the epoch of the commit.
            content: the records, with their contract and their number for `Commit`.

        Returns:
            Whether it was published; False if this commit of the writer, or a later one, was published before.

        Raises:
            WriterFencedError: the writer was opened with a higher epoch.
            TopicLostError: the topic does not exist.
            TopicWriteError: the records cannot be stored.
        """

    def not_found(self) -> TopicLostError:
        """Return the error of a topic that does not exist."""
        return TopicLostError(f"the topic `{self.plan.name}` does not exist")

    def position(self, commit: int) -> Position:
        """Return the position after a commit.

        Arguments:
            commit: the number of the commit; 0 for the beginning of the topic.
        """
        return Position(json.dumps({"topic": self.id, "commit": commit}))

    def number(self, position: Position | None) -> int:
        """Return the number of the last commit before a position; 0 at the beginning of the topic.

        Arguments:
            position: the position; None for the beginning of the topic.

        Raises:
            TopicLostError: the position is not one of this topic.
        """
        if position is None:
            position = self.position(0)
        content = json.loads(position.json)
        if content["topic"] != self.id:
            raise TopicLostError(f"the topic `{self.plan.name}` was deleted and created again after it was read")
        return int(content["commit"])

    def advance(self, after: Position, until: Position, records: int) -> Position:
        """Return the end of a batch: after whole commits with at most a number of records, and after one at least.

        Arguments:
            after: the position where the batch begins.
            until: the last position that is allowed.
            records: the maximum number of records of several commits.
        """
        number, taken = self.number(after), 0
        for commit in self.commits(number, self.number(until)):
            if taken and taken + commit.records > records:
                break
            number, taken = commit.number, taken + commit.records
        return self.position(number)

    @override
    def create(self, contracts: Iterable[Contract]) -> None:
        if self.plan.managed:
            self.make()
        else:
            self.newest()

    @override
    def read(
        self, session: SparkSession, inlet: InletPlan, *, name: str, metadata: bool = False, replicas: int | None = None
    ) -> DataFrame:
        from pyspark.sql.types import StructField, StructType, _parse_datatype_string

        from streamlets.contract.types import spark_schema

        schema = spark_schema(inlet.contract)
        if metadata:
            schema = StructType([*schema.fields, StructField(METADATA, _parse_datatype_string(METADATA_DDL))])
        reading = b64encode(pickle.dumps((self, inlet, metadata))).decode()
        reader = session.readStream.format(FORMAT).schema(schema).option("reading", reading)
        return (reader.name(name) if name else reader).load()

    @override
    def appender(
        self, contract: Contract, *, writer: str, epoch: int = 0, partition_by: tuple[str, ...] = ()
    ) -> Appender:
        return SmallAppender(self, contract, writer, epoch)

    @override
    def scan(
        self,
        reader: Contract | None = None,
        after: Position | None = None,
        until: Position | None = None,
        *,
        metadata: bool = False,
    ) -> Iterator[pa.RecordBatch]:
        for commit in self._between(after, until):
            if not commit.records or (data := self.data(commit.number)) is None:
                continue
            convert, first = conversion(contract_of(commit.contract), reader), 0
            for batch in batches_in(data):
                rows = convert(batch)
                yield with_metadata(rows, str(commit.number), first, int(commit.time * 1000)) if metadata else rows
                first += batch.num_rows

    @override
    def end(self) -> Position:
        return self.position(self.newest())

    @override
    def lag(self, at: Position | None, *, reader: str = "") -> Lag:
        unread = [commit for commit in self._between(at, None) if commit.records]
        age = max(0.0, time.time() - unread[0].time) if unread else 0.0
        return Lag(sum(commit.records for commit in unread), age)

    @override
    def count(self, after: Position | None, until: Position, *, reader: str = "") -> int:
        return sum(commit.records for commit in self._between(after, until))

    @override
    def owns(self, position: Position) -> bool:
        try:
            return self.number(position) >= 0
        except (TopicLostError, ValueError, KeyError, TypeError):
            return False

    @override
    def shown(self, position: Position) -> str:
        return f"commit {self.number(position)}"

    @override
    def summary(self) -> TopicSummary:
        commits = [commit for commit in self._between(None, None) if commit.records]
        writers = []
        for contract in self._contracts(commits):
            own = [commit for commit in commits if commit.contract == contract.json]
            records, size = sum(commit.records for commit in own), sum(commit.bytes for commit in own)
            writers.append(
                WriterSummary(contract.record.name, contract.fingerprint, (), records, size, commits=len(own))
            )
        total, size = sum(commit.records for commit in commits), sum(commit.bytes for commit in commits)
        return TopicSummary(self.plan.name, total, size, commits[-1].time if commits else None, tuple(writers))

    @override
    def contracts(self) -> tuple[Contract, ...]:
        return self._contracts(commit for commit in self._between(None, None) if commit.records)

    @property
    @override
    def replays(self) -> Replays:
        replays = Replays(self.directory / "replays", self.id)
        self.directory.mkdir(parents=True, exist_ok=True)  # a topic on a server has none of its own
        return replays

    def _between(self, after: Position | None, until: Position | None) -> Iterable[Commit]:
        return self.commits(self.number(after), self.newest() if until is None else self.number(until))

    def _contracts(self, commits: Iterable[Commit]) -> tuple[Contract, ...]:
        return tuple(map(contract_of, dict.fromkeys(commit.contract for commit in commits)))
