"""Taps: topics in the hands of a test, to put records in and take records out."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blueprint.avro.loading import load_contract
from blueprint.avro.model import Contract
from streamlets.channels.base import Position, TopicResource, Txn
from streamlets.declared import UNKNOWN, authors_call
from streamlets.ports import Schema
from streamlets.testkit.failures import refuse
from streamlets.testkit.records import from_batches, to_batches

if TYPE_CHECKING:
    import pyarrow as pa


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


def _loaded(schema: Schema) -> Contract:
    place = authors_call() or UNKNOWN
    loaded = load_contract(schema, base_folder=Path(place.file).parent, declared=place.span)
    if loaded.contract is None:
        raise refuse("the schema cannot be loaded", loaded.problems)
    return loaded.contract
