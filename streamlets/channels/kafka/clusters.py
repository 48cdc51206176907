"""`ClusterState`: what the topics of one cluster share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from blueprint.avro.model import Contract
from streamlets.channels.base import TopicLostError
from streamlets.channels.kafka.cluster_client import Cluster
from streamlets.channels.kafka.cluster_errors import ClusterError
from streamlets.channels.kafka.compacted import CompactedTable
from streamlets.channels.kafka.schemas import PublishedSchemas
from streamlets.channels.kafka.topic_settings import TopicSettings
from streamlets.contract.wire.avro_formats import Confluent, PlainAvro, SingleObject
from streamlets.contract.wire.format import WireFormat
from streamlets.contract.wire.registry import SchemaRegistry
from streamlets.contract.wire.text_formats import JsonText, SingleField


@dataclass(slots=True)
class ClusterState:
    """A cluster, with the schemas and the writers of its topics.

    Arguments:
        cluster: the cluster.
        directory: where schemas are kept.
        prefix: the beginning of the names of internal topics, and of the ids of transactions without `_`.
    """

    cluster: Cluster
    directory: Path
    prefix: str = "_streamlets"
    schemas: PublishedSchemas = field(init=False)
    writers: CompactedTable = field(init=False)
    _registries: dict[str, SchemaRegistry] = field(default_factory=dict)
    _limits: dict[str, int | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.schemas = PublishedSchemas(self.cluster, self.directory, f"{self.prefix}_schemas")
        self.writers = CompactedTable(self.cluster, f"{self.prefix}_writers")

    def wire(self, topic: str, settings: TopicSettings) -> Callable[[Contract | None], WireFormat]:
        """Return a function that returns the format of a topic for a writer's or a reader's contract.

        The contract is the schema of all messages in formats that do not name one.
        """

        def needed(contract: Contract | None) -> Contract:
            if contract is None:
                raise ValueError(
                    f"messages of the format `{settings.format}` do not name their schema, so the topic `{topic}` can "
                    "only be read with the schema of an inlet"
                )
            return contract

        match settings.format:
            case "avro":
                return lambda contract: SingleObject(partial(self.schemas.find, topic))
            case "confluent":
                return lambda contract: Confluent(self.registry(topic, settings))
            case "plain-avro":
                return lambda contract: PlainAvro(needed(contract))
            case "json":
                return lambda contract: JsonText(needed(contract), settings.numeric_times)
            case "bytes":
                return lambda contract: SingleField(needed(contract))

    def contracts(self, topic: str, settings: TopicSettings) -> Iterable[Contract]:
        """Return the contracts of a topic's writers; none for formats whose messages do not name them."""
        match settings.format:
            case "avro":
                return self.schemas.of(topic).values()
            case "confluent":
                return self.registry(topic, settings).contracts().values()
        return ()

    def message_limit(self, topic: str) -> int | None:
        """Return the largest message size of a topic in bytes; None if the cluster does not allow asking for it."""
        if topic not in self._limits:
            try:
                self._limits[topic] = int(self.cluster.settings(topic)["max.message.bytes"])
            except (ClusterError, TopicLostError):
                self._limits[topic] = None
        return self._limits[topic]

    def registry(self, topic: str, settings: TopicSettings) -> SchemaRegistry:
        """Return the schemas of a topic in its schema registry."""
        if topic not in self._registries:
            self._registries[topic] = SchemaRegistry(settings.registry, topic, settings.subject)
        return self._registries[topic]


@dataclass(frozen=True, slots=True)
class ClusterTopic:
    """A topic of a cluster, as its records are read and written.

    Arguments:
        name: its name.
        settings: its settings.
        state: the state of its cluster.
    """

    name: str
    settings: TopicSettings
    state: ClusterState

    @property
    def cluster(self) -> Cluster:
        """The cluster."""
        return self.state.cluster
