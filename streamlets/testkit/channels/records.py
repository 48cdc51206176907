"""Contracts, records and plans of ports for the tests of channels."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from blueprint.avro.model import Contract
from blueprint.avro.sources.loading import parse_contract
from blueprint.core_settings import InletSettings
from blueprint.plan import InletPlan, OutletPlan
from streamlets.channels.base import TopicResource
from streamlets.contract.types import arrow_schema


def contract(*fields: tuple[str, object], name: str = "Reading") -> Contract:
    """Return a contract.

    Arguments:
        fields: the name and the Avro type of each field.
        name: the name of the record.
    """
    record = {"type": "record", "name": name, "fields": [{"name": n, "type": t} for n, t in fields]}
    return parse_contract(json.dumps(record))


READING = contract(("id", "long"), ("src", ["null", "string"]))
"""The contract of most records of the suite."""

WIDER = contract(("id", "long"), ("src", ["null", "string"]), ("value", ["null", "double"]))
"""A later version of `READING`."""


def batch(ids: Iterable[int], of: Contract = READING) -> pa.RecordBatch:
    """Return records.

    Arguments:
        ids: the value of the field `id` of each record.
        of: the contract, `READING` or one with further fields that may be null.
    """
    rows = [{"id": i, "src": f"s{i}"} for i in ids]
    return pa.RecordBatch.from_pylist(rows, schema=arrow_schema(of))


def append(
    topic: TopicResource,
    rows: Iterable[pa.RecordBatch],
    of: Contract,
    sequence: int,
    *,
    writer: str = "w",
    partition_by: tuple[str, ...] = (),
) -> bool:
    """Append records in a commit, with an appender of its own.

    Arguments:
        topic: the topic.
        rows: the records.
        of: their contract.
        sequence: the number of the append.
        writer: the id of the writer.
        partition_by: the columns that partition the records.

    Returns:
        Whether it was committed.
    """
    with topic.appender(of, writer=writer, partition_by=partition_by) as appender:
        return appender.append(rows, sequence)


def ids_of(batches: Iterable[pa.RecordBatch]) -> list[int]:
    """Return the values of the field `id` of records, in their order.

    Arguments:
        batches: the records.
    """
    return [id for batch in batches for id in batch.column("id").to_pylist()]


def inlet(
    topic: str, of: Contract = READING, options: Mapping[str, object] | None = None, **settings: Any
) -> InletPlan:
    """Return the plan of the inlet `reader.in`.

    Arguments:
        topic: the id of its topic.
        of: its contract.
        options: settings that the channel defines.
        settings: settings of every inlet, such as `max_records`.
    """
    return InletPlan("reader", "in", None, of, topic, InletSettings(**settings), options or {})


def outlet(topic: str, of: Contract = READING, name: str = "out", **settings: Any) -> OutletPlan:
    """Return the plan of an outlet of the streamlet `writer`.

    Arguments:
        topic: the id of its topic.
        of: its contract.
        name: its name.
        settings: further fields of `OutletPlan`, such as `on_invalid`.
    """
    return OutletPlan("writer", name, None, of, topic, **settings)
