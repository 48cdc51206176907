"""Taps: tests write records to topics and read records of topics and sinks with them."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blueprint.avro.model import Contract
from blueprint.avro.sources.loading import load_contract
from streamlets.api.ports import Schema
from streamlets.api.source_location import UNKNOWN, author_location
from streamlets.channels.base import Appender, Position, TopicResource
from streamlets.contract.types import spark_schema
from streamlets.egress.base import SinkFiles
from streamlets.testkit.failures import error_with_findings
from streamlets.testkit.records import from_batches, to_batches

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


class InletTap:
    """Writes records to a topic as its producers would.

    Arguments:
        topic: the topic.
        contract: the contract of the records, unless a `put` has a schema.
    """

    def __init__(self, topic: TopicResource, contract: Contract) -> None:
        self._topic = topic
        self._contract = contract
        self._appenders: dict[str, Appender] = {}  # by contract

    def put(self, records: object, schema: Schema | None = None) -> None:
        """Append records in one commit; the next step reads them.

        Arguments:
            records: dicts by field name, an Arrow table, or a DataFrame of pandas or Spark.
            schema: the schema of a writer that differs from the inlet's, in any form that an outlet accepts;
                relative paths start in the directory of the caller's file.

        Raises:
            RecordError: a record breaks the schema; no record is appended.
            TestkitError: the schema is invalid.
        """
        contract = self._contract if schema is None else _contract(schema)
        batches = to_batches(records, contract)
        if batches:
            appender = self._appenders.get(contract.json)
            if appender is None:
                appender = self._topic.appender(contract, writer=f"testkit-{uuid.uuid4().hex}")
                self._appenders[contract.json] = appender
            appender.append(batches, 0 if appender.last is None else appender.last + 1)


class OutletTap:
    """Reads a topic as its consumers would, in the order of commits.

    Rows of one batch have no order: sort them before a comparison, or compare sets.
    """

    def __init__(self, topic: TopicResource, contract: Contract) -> None:
        self._topic = topic
        self._contract = contract
        self._taken: Position | None = None

    def take(self) -> list[dict[str, Any]]:
        """Return the records since the previous `take`."""
        end = self._topic.end()
        records = from_batches(self._topic.scan(self._contract, self._taken, end), self._contract)
        self._taken = end
        return records

    def all(self) -> list[dict[str, Any]]:
        """Return all records from the beginning; it does not affect `take`."""
        return from_batches(self.batches(), self._contract)

    def batches(self) -> list[pa.RecordBatch]:
        """Return all records from the beginning as Arrow batches."""
        return list(self._topic.scan(self._contract))


class TopicTap(InletTap):
    """Writes records to a topic as its producers do, and reads it as its consumers do.

    Arguments:
        topic: the topic.
        written: the contract of the records of `put`.
        read: the contract of the records that are read.
    """

    def __init__(self, topic: TopicResource, written: Contract, read: Contract) -> None:
        super().__init__(topic, written)
        self._read = OutletTap(topic, read)

    def take(self) -> list[dict[str, Any]]:
        """Return the records since the previous `take`."""
        return self._read.take()

    def all(self) -> list[dict[str, Any]]:
        """Return all records from the beginning; it does not affect `take`."""
        return self._read.all()

    def batches(self) -> list[pa.RecordBatch]:
        """Return all records from the beginning as Arrow batches."""
        return self._read.batches()


class SinkTap:
    """Reads the files that a sink has written; the rows have no order.

    Arguments:
        session: returns a session; called when rows are read.
        files: the files.
        contract: the contract of the rows; None for a sink of the author, for which Spark determines the schema.

    Attributes:
        path: the directory of the files.
    """

    def __init__(self, session: Callable[[], SparkSession], files: SinkFiles, contract: Contract | None = None) -> None:
        self.path = files.root
        self._session = session
        self._files = files
        self._contract = contract
        self._taken: set[str] = set()

    def take(self) -> list[dict[str, Any]]:
        """Return the rows since the previous `take`."""
        paths = self._files.paths(self._session())
        rows = self._rows([path for path in paths if path not in self._taken])
        self._taken.update(paths)
        return rows

    def all(self) -> list[dict[str, Any]]:
        """Return all rows; it does not affect `take`."""
        return self._rows(self._files.paths(self._session()))

    def _rows(self, paths: list[str]) -> list[dict[str, Any]]:
        if not paths:
            return []
        reader = self._files.reader(self._session())
        if self._contract is None:
            return [row.asDict(recursive=True) for row in reader.load(paths).collect()]
        frame = reader.schema(spark_schema(self._contract)).load(paths)
        return from_batches(frame.toArrow().to_batches(), self._contract)


def _contract(schema: Schema) -> Contract:
    place = author_location() or UNKNOWN
    loaded = load_contract(schema, base_directory=Path(place.file).parent, declared=place.span)
    if loaded.contract is None:
        raise error_with_findings("the schema cannot be loaded:", loaded.problems)
    return loaded.contract
