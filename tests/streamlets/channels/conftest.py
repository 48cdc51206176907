"""Queries on the topics of the delta channel, for the tests that need Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from blueprint.plan import TopicPlan
from streamlets.channels.delta.topic import DeltaTopic
from streamlets.channels.registry import CHANNEL_TYPES
from streamlets.override import override
from streamlets.testkit.channels import ChannelBench, QueryBench

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


class DeltaBench(ChannelBench):
    """The delta channel with topics named like their ids, for tests of messages and paths."""

    @override
    def plan(self, id: str, *, managed: bool = True, options: Mapping[str, object] | None = None) -> TopicPlan:
        return replace(super().plan(id, managed=managed, options=options), name=id)


class Bench(QueryBench):
    """The delta channel, and queries on it."""

    def topic(self, name: str) -> DeltaTopic:
        """Return a topic, created if it does not exist."""
        topic = super().topic(name)
        assert isinstance(topic, DeltaTopic)
        return topic


@pytest.fixture
def own_session(spark: SparkSession) -> Iterator[SparkSession]:
    """Return a new session; remaining queries are stopped after the test."""
    session = spark.newSession()
    yield session
    for query in session.streams.active:
        query.stop()


@pytest.fixture
def bench(own_session: SparkSession, request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    """Return the delta channel in a new directory with a new session."""
    return Bench(DeltaBench(CHANNEL_TYPES["delta"], tmp_path, request), own_session)
