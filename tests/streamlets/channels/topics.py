"""Topics on the delta channel for tests, without Spark, and what all tests of topics share."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path

from blueprint.avro.model import Contract
from blueprint.plan import TopicPlan
from streamlets.channels.base import TopicResource
from streamlets.channels.delta.channel import DeltaChannel
from streamlets.channels.delta.topic import DeltaTopic
from streamlets.testkit.channels import READING, WIDER, append, batch, contract, ids_of, inlet, outlet

__all__ = [
    "READING",
    "WIDER",
    "Clock",
    "add",
    "append",
    "batch",
    "contract",
    "ids_of",
    "inlet",
    "made",
    "outlet",
    "topic_plan",
]


class Clock:
    """A clock that advances by a second with every call."""

    def __init__(self) -> None:
        self._ticks = itertools.count(1_700_000_000)

    def __call__(self) -> float:
        return float(next(self._ticks))


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
