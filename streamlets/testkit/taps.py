"""Taps: topics in the hands of a test, to put records in and take records out."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blueprint.avro.model import Contract
from blueprint.avro.sources.loading import load_contract
from streamlets.api.ports import Schema
from streamlets.api.source_location import UNKNOWN, author_location
from streamlets.channels.base import Position, TopicResource, Txn
from streamlets.contract.types import spark_schema
from streamlets.testkit.failures import refuse
from streamlets.testkit.records import from_batches, to_batches

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrameReader, SparkSession


class InletTap:
    """Feeds a topic as its producers would.

    Arguments:
        topic: where the records go.
        contract: what they are written with unless a `put` says otherwise.
    """

    def __init__(self, topic: TopicResource, contract: Contract) -> None:
        self._topic = topic
        self._contract = contract
        self._writer = f"testkit-{uuid.uuid4().hex}"
        self._sequence = 0

    def put(self, records: object, schema: Schema | None = None) -> None:
        """Append records, all in one commit; the next step reads them.

        Arguments:
            records: dicts by field name, an Arrow table, or a DataFrame of pandas or Spark.
            schema: what they are written with, in any form an outlet takes, when a writer with another schema than
                the inlet's is meant; relative paths start beside the caller's file.

        Raises:
            RecordError: a record breaks the schema; nothing is appended then.
            TestkitError: the schema is none.
        """
        contract = self._contract if schema is None else _loaded(schema)
        batches = to_batches(records, contract)
        if batches:
            self._sequence += 1
            self._topic.append(batches, contract, Txn(self._writer, self._sequence))


class OutletTap:
    """Reads a topic as its consumers would, in the order of commits.

    Rows of one batch come in no order of their own: compare them sorted, or as a set.
    """

    def __init__(self, topic: TopicResource, contract: Contract) -> None:
        self._topic = topic
        self._contract = contract
        self._taken: Position | None = None

    def take(self) -> list[dict[str, Any]]:
        """The records that came since the last `take`."""
        end = self._topic.end()
        found = from_batches(self._topic.scan(self._contract, self._taken, end), self._contract)
        self._taken = end
        return found

    def all(self) -> list[dict[str, Any]]:
        """All records from the beginning; what `take` gives next stays the same."""
        return from_batches(self.batches(), self._contract)

    def batches(self) -> list[pa.RecordBatch]:
        """The same as Arrow batches."""
        return list(self._topic.scan(self._contract))


class TopicTap(InletTap, OutletTap):
    """A topic to put records in and take records out."""

    def __init__(self, topic: TopicResource, contract: Contract) -> None:
        InletTap.__init__(self, topic, contract)
        self._taken: Position | None = None


class SinkTap:
    """Reads the files that a sink has written, as whoever uses them would: rows in no order.

    Arguments:
        session: opens a session; only when rows are asked for.
        root: the directory of the files; format: Spark's name of their format, with options for Spark's reader.
        contract: of the rows; None for a query of the author's own, whose files say what is in them.
    """

    def __init__(
        self,
        session: Callable[[], SparkSession],
        root: Path,
        format: str,
        options: Mapping[str, str],
        contract: Contract | None = None,
    ) -> None:
        self.path = root
        self._session = session
        self._format = format
        self._options = dict(options)
        self._contract = contract
        self._taken: set[str] = set()

    def take(self) -> list[dict[str, Any]]:
        """The rows that came since the last `take`."""
        files = self._files()
        rows = self._rows([file for file in files if file not in self._taken])
        self._taken.update(files)
        return rows

    def all(self) -> list[dict[str, Any]]:
        """All rows; what `take` gives next stays the same."""
        return self._rows(self._files())

    def _files(self) -> list[str]:
        if (self.path / "_spark_metadata").exists():  # it knows which files are those of finished batches
            return sorted(self._reader().load(str(self.path)).inputFiles())
        files = (path for path in self.path.rglob("*") if path.is_file())
        return sorted(str(path) for path in files if not path.relative_to(self.path).as_posix().startswith(("_", ".")))

    def _rows(self, files: list[str]) -> list[dict[str, Any]]:
        if not files:
            return []
        reader = self._reader().option("basePath", str(self.path))
        if self._contract is None:
            return [row.asDict(recursive=True) for row in reader.load(files).collect()]
        frame = reader.schema(spark_schema(self._contract)).load(files)
        return from_batches(frame.toArrow().to_batches(), self._contract)

    def _reader(self) -> DataFrameReader:
        return self._session().read.format(self._format).options(**self._options)


def _loaded(schema: Schema) -> Contract:
    place = author_location() or UNKNOWN
    loaded = load_contract(schema, base_folder=Path(place.file).parent, declared=place.span)
    if loaded.contract is None:
        raise refuse("the schema cannot be loaded", loaded.problems)
    return loaded.contract
