"""What the tests of topics share: contracts, records, topics without Spark."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from blueprint.avro.model import Contract
from blueprint.avro.sources.loading import parse_contract
from blueprint.plan import InletPlan, OutletPlan, TopicPlan
from streamlets.channels.base import Txn
from streamlets.channels.delta import DeltaChannel, DeltaTopic
from streamlets.contract.types import arrow_schema


def contract(*fields: tuple[str, object], name: str = "Reading") -> Contract:
    """A contract of these fields."""
    record = {"type": "record", "name": name, "fields": [{"name": n, "type": t} for n, t in fields]}
    return parse_contract(json.dumps(record))


READING = contract(("id", "long"), ("src", ["null", "string"]))
WIDER = contract(("id", "long"), ("src", ["null", "string"]), ("value", ["null", "double"]))


class Clock:
    """A clock that moves a second with every look."""

    def __init__(self) -> None:
        self._ticks = itertools.count(1_700_000_000)

    def __call__(self) -> float:
        return float(next(self._ticks))


def batch(ids: Iterable[int], of: Contract = READING) -> pa.RecordBatch:
    """Records with these ids."""
    rows = [{"id": i, "src": f"s{i}"} for i in ids]
    return pa.RecordBatch.from_pylist(rows, schema=arrow_schema(of))


def topic_plan(name: str, *, managed: bool = True) -> TopicPlan:
    """A topic called `name`."""
    return TopicPlan(name, name, "delta", managed, (), (), {})


def made(root: Path, name: str = "readings", clock: Clock | None = None) -> DeltaTopic:
    """A topic that has been created."""
    topic = DeltaChannel(root, clock=clock or Clock()).topic(topic_plan(name))
    topic.create()
    return topic


def add(topic: DeltaTopic, number: int, ids: Iterable[int], of: Contract = READING) -> None:
    """One commit of the writer `w`."""
    topic.append([batch(ids, of)], of, Txn("w", number))


def ids_of(batches: Iterable[pa.RecordBatch]) -> list[int]:
    """The ids of records, in their order."""
    return [i for found in batches for i in found.column("id").to_pylist()]


def inlet(topic: str, of: Contract = READING, **settings: object) -> InletPlan:
    """The inlet `reader.in` on a topic."""
    return InletPlan("reader", "in", None, of, topic, **settings)  # type: ignore[arg-type]


def outlet(topic: str, of: Contract = READING, name: str = "out", **settings: object) -> OutletPlan:
    """An outlet of `writer` to a topic."""
    return OutletPlan("writer", name, None, of, topic, **settings)  # type: ignore[arg-type]
