"""Contracts, records and topics for tests, without Spark."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from blueprint.avro.model import Contract
from blueprint.avro.sources.loading import parse_contract
from blueprint.core_settings import InletSettings
from blueprint.plan import InletPlan, OutletPlan, TopicPlan
from streamlets.channels.base import TopicResource
from streamlets.channels.delta.channel import DeltaChannel
from streamlets.channels.delta.topic import DeltaTopic
from streamlets.contract.types import arrow_schema


def contract(*fields: tuple[str, object], name: str = "Reading") -> Contract:
    """Return a contract with these fields."""
    record = {"type": "record", "name": name, "fields": [{"name": n, "type": t} for n, t in fields]}
    return parse_contract(json.dumps(record))


READING = contract(("id", "long"), ("src", ["null", "string"]))
WIDER = contract(("id", "long"), ("src", ["null", "string"]), ("value", ["null", "double"]))


class Clock:
    """A clock that advances by a second with every call."""

    def __init__(self) -> None:
        self._ticks = itertools.count(1_700_000_000)

    def __call__(self) -> float:
        return float(next(self._ticks))


def batch(ids: Iterable[int], of: Contract = READING) -> pa.RecordBatch:
    """Return records with these ids."""
    rows = [{"id": i, "src": f"s{i}"} for i in ids]
    return pa.RecordBatch.from_pylist(rows, schema=arrow_schema(of))


def topic_plan(name: str, *, managed: bool = True) -> TopicPlan:
    """Return the plan of a topic."""
    return TopicPlan(name, name, "delta", managed, (), (), {})


def made(root: Path, name: str = "readings", clock: Clock | None = None) -> DeltaTopic:
    """Return a topic that has been created."""
    topic = DeltaChannel(root, clock=clock or Clock()).topic(topic_plan(name))
    topic.create()
    return topic


def add(topic: TopicResource, number: int, ids: Iterable[int], of: Contract = READING) -> None:
    """Append records in a commit of the writer `w`."""
    append(topic, [batch(ids, of)], of, number)


def append(
    topic: TopicResource,
    rows: Iterable[pa.RecordBatch],
    of: Contract,
    sequence: int,
    *,
    writer: str = "w",
    partition_by: tuple[str, ...] = (),
) -> bool:
    """Append records in a commit; return whether it was committed."""
    with topic.appender(of, writer=writer, partition_by=partition_by) as appender:
        return appender.append(rows, sequence)


def ids_of(batches: Iterable[pa.RecordBatch]) -> list[int]:
    """Return the ids of records, in their order."""
    return [id for batch in batches for id in batch.column("id").to_pylist()]


def inlet(
    topic: str, of: Contract = READING, options: Mapping[str, object] | None = None, **settings: Any
) -> InletPlan:
    """Return the plan of the inlet `reader.in` of a topic."""
    return InletPlan("reader", "in", None, of, topic, InletSettings(**settings), options or {})


def outlet(topic: str, of: Contract = READING, name: str = "out", **settings: object) -> OutletPlan:
    """Return the plan of an outlet of `writer` to a topic."""
    return OutletPlan("writer", name, None, of, topic, **settings)  # type: ignore[arg-type]
