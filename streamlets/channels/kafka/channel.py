"""The Kafka channel, which stores topics in a Kafka cluster."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from blueprint.plan import TopicPlan
from streamlets.channels.base import Branch, Channel, TopicQuery, TopicResource
from streamlets.channels.begun import BegunBatches
from streamlets.channels.kafka.cluster import connections
from streamlets.channels.kafka.cluster_client import Cluster
from streamlets.channels.kafka.clusters import ClusterState
from streamlets.channels.kafka.internal_names import is_internal, placed
from streamlets.channels.kafka.remembered import created, remembered
from streamlets.channels.kafka.settings import INTERNAL_PREFIX
from streamlets.channels.kafka.staging import StagedBatches
from streamlets.channels.kafka.topic import KafkaTopic
from streamlets.channels.kafka.traits import TRAITS
from streamlets.override import override

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter


_DIRECTORY = "_kafka"
_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")


class KafkaChannel(Channel):
    """A channel that stores topics in Kafka clusters.

    Arguments:
        root: the application's directory for topics, where the channel keeps what the clusters do not know.
        clock: returns the time in seconds since the epoch.
    """

    traits = TRAITS

    def __init__(self, root: Path, *, clock: Callable[[], float] = time.time) -> None:
        self.root = root.absolute() / _DIRECTORY
        self.clock = clock
        self.application = root.absolute().parent.name
        self._staged = StagedBatches(self.root / "staged")
        self._begun = BegunBatches(self.root / "begun")
        self._clusters: dict[str, ClusterState] = {}
        self._opened: dict[tuple[str, str], KafkaTopic] = {}  # by the servers of their cluster and their name

    @override
    def topic(self, plan: TopicPlan) -> KafkaTopic:
        if plan.name.startswith("_"):
            raise ValueError(f"invalid topic name `{plan.name}`: names that begin with `_` belong to Kafka itself")
        if not _NAME.fullmatch(plan.name) or plan.name in (".", ".."):
            raise ValueError(
                f"invalid topic name `{plan.name}`: Kafka allows up to 249 letters, digits, and the characters "
                "`.`, `_` and `-`"
            )
        internal, plan = is_internal(plan), placed(plan, self.application, self._topics)
        directory = self._topics / plan.name
        plan = remembered(plan, directory)
        topic = KafkaTopic(
            plan,
            self._cluster(plan),
            directory,
            self._inlets,
            self.clock,
            application=self.application,
            internal=internal,
        )
        self._opened[topic.cluster.name, plan.name] = topic
        return topic

    @override
    def writer(
        self,
        rows: DataFrame,
        branches: tuple[Branch[TopicResource], ...],
        dead_letters: TopicResource | None,
        query: TopicQuery,
    ) -> DataStreamWriter:
        from streamlets.channels.kafka.batch import BatchWriter

        batches = BatchWriter(
            branches=tuple(Branch(branch.outlet, branch.rows, _own(branch.topic)) for branch in branches),
            dead_letters=_own(dead_letters) if dead_letters is not None else None,
            query=query,
            begun=self._begun,
            staged=self._staged,
        )
        return rows.writeStream.foreachBatch(batches)

    @override
    def real_time_writer(
        self,
        rows: DataFrame,
        branches: tuple[Branch[TopicResource], ...],
        dead_letters: TopicResource | None,
        query: TopicQuery,
    ) -> DataStreamWriter:
        from streamlets.channels.kafka.real_time import real_time_writer

        own = tuple(Branch(branch.outlet, branch.rows, _own(branch.topic)) for branch in branches)
        letters = _own(dead_letters) if dead_letters is not None else None
        return real_time_writer(rows, own, letters, query)

    @override
    def source_partitions(self, rows: DataFrame) -> int:
        from streamlets.channels.kafka.real_time import source_partitions

        return source_partitions(rows, self._opened)

    @override
    def forget(self, streamlet: str, query: str, id: str) -> None:
        self._begun.forget(streamlet, query, id)
        self._staged.forget(streamlet, query, id)

    @override
    def forget_all(self) -> None:
        for directory in (self._staged.directory, self._begun.directory, self._inlets):
            shutil.rmtree(directory, ignore_errors=True)

    @override
    def forget_inlets(self, streamlet: str) -> None:
        shutil.rmtree(self._inlets / streamlet, ignore_errors=True)

    @override
    def may_have_written(self, streamlet: str, query: str, id: str, batch: int) -> bool:
        return self._begun.has(streamlet, query, id, batch)

    @override
    def has_decided(self, streamlet: str, query: str, id: str, batch: int) -> bool:
        """Return whether a batch of a staged or exactly-once outlet is stored; others are written again."""
        return self._staged.has_any(streamlet, query, id, batch)

    @override
    def unused(self, plans: Sequence[TopicPlan]) -> tuple[KafkaTopic, ...]:
        """Return the topics that the application has created and no longer has.

        Secrets are not stored with the settings of a topic, so the clusters of these topics have the settings of the
        other topics' clusters.
        """
        names = {placed(plan, self.application, self._topics).name for plan in plans}
        directories = sorted(self._topics.iterdir()) if self._topics.is_dir() else []
        unused = [path for path in directories if path.name not in names and created(path)]
        clusters = next((plan.channel_options for plan in plans), None)
        stored = [remembered(TopicPlan(path.name, path.name, self.name, True, (), (), {}), path) for path in unused]
        return tuple(
            self.topic(replace(plan, channel_options=clusters) if clusters is not None else plan) for plan in stored
        )

    @override
    def create_shared(self, plans: Sequence[TopicPlan]) -> None:
        for state in {id(cluster): cluster for cluster in map(self._cluster, plans)}.values():
            state.schemas.create()
            state.writers.create()

    @property
    def _topics(self) -> Path:
        return self.root / "topics"

    @property
    def _inlets(self) -> Path:
        return self.root / "inlets"

    def _cluster(self, plan: TopicPlan) -> ClusterState:
        settings = connections(plan.options, plan.channel_options)
        prefix = str(INTERNAL_PREFIX.of(plan.channel_options))
        key = json.dumps([asdict(settings), prefix], sort_keys=True)
        if key not in self._clusters:
            self._clusters[key] = ClusterState(Cluster(settings), self.root / "schemas", prefix)
        return self._clusters[key]


def _own(topic: TopicResource) -> KafkaTopic:
    if not isinstance(topic, KafkaTopic):
        raise TypeError(
            f"a query can write to one channel only, but the topic `{topic.plan.id}` is on `{topic.plan.channel}`"
        )
    return topic
