"""`ApplicationPlan`: the verified blueprint with every setting resolved. All later steps use only this."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from blueprint.avro.model import Contract
from blueprint.catalog import SparkArtifacts, StreamletDescriptor
from blueprint.quantities import Duration

STATE_DIRECTORY = ".flow"
"""The name of the default state directory, next to the blueprint; `--state-dir` sets another one."""


@dataclass(frozen=True, slots=True)
class ProcessingTime:
    """A micro-batch every `interval`; 0 means as fast as possible."""

    interval: Duration


@dataclass(frozen=True, slots=True)
class AvailableNow:
    """All available data, in as many batches as the limits require, then the end."""


@dataclass(frozen=True, slots=True)
class RealTime:
    """Record by record, with a checkpoint every `interval`, for channels that support it."""

    interval: Duration


SHORTEST_REAL_TIME = Duration(5 * 10**9)
"""The shortest interval of a real-time trigger that Spark accepts, unless `SHORTEST_REAL_TIME_SETTING` is set."""

SHORTEST_REAL_TIME_SETTING = "spark.sql.streaming.realTimeMode.minBatchDuration"

Trigger = ProcessingTime | AvailableNow | RealTime


@dataclass(frozen=True, slots=True)
class Retry:
    """The restart settings of a failed unit. The formula is in `streamlets/runner/supervision/backoff.py`."""

    enabled: bool = True
    max_attempts: int = 2147483647
    min_backoff: Duration = Duration(10**9)
    max_backoff: Duration = Duration(3600 * 10**9)
    random_factor: float = 0.0
    stable_period: Duration = Duration(60 * 10**9)


RETRY_OPTIONS = "pstl.retry."
"""The prefix of PSTL's options of a query that set its `Retry`."""


STUCK_AFTER = Duration(600 * 10**9)
"""The default time after which a running batch is reported as stuck."""


@dataclass(frozen=True, slots=True)
class InletPlan:
    """An inlet connected to its topic. `max_records` limits a batch, in whole commits; None means no limit.

    `options` are the settings of the topic's channel that are set for the inlet, as in `TopicPlan.options`.
    `on_invalid` is the handling of stored data that is not a record.
    """

    streamlet: str
    name: str
    attribute: str | None
    contract: Contract
    topic: str
    max_records: int | None = None
    starting: Literal["earliest", "latest"] = "earliest"
    options: Mapping[str, object] = field(default_factory=dict)
    on_invalid: Literal["fail", "dead-letters"] = "fail"


@dataclass(frozen=True, slots=True)
class OutletPlan:
    """An outlet connected to its topic; `topic` is the id of the topic.

    `options` are the settings of the topic's channel that are set for the outlet, as in `TopicPlan.options`.
    """

    streamlet: str
    name: str
    attribute: str | None
    contract: Contract
    topic: str
    partition_by: tuple[str, ...] = ()
    on_invalid: Literal["fail", "dead-letters"] = "fail"
    extra: Literal["fail", "drop"] = "fail"
    options: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TopicPlan:
    """A topic.

    Arguments:
        id: its name in the blueprint.
        name: the physical name, on its channel.
        channel: the name of the channel that stores it.
        managed: whether the application creates it.
        producers: the outlets that write it, as `streamlet.port`.
        consumers: the inlets that read it, as `streamlet.port`.
        options: the settings of the channel that are set for the topic, with their types, by key; `Setting.of` returns
            the default of others. Groups of free-form settings, such as `topic`, are dicts by dotted key.
        channel_options: the settings of the application for the channel, by their keys below `flow.<channel>`.
        location: what distinguishes topics of the same name on the channel, such as the servers; "" for nothing.
    """

    id: str
    name: str
    channel: str
    managed: bool
    producers: tuple[str, ...]
    consumers: tuple[str, ...]
    options: Mapping[str, object]
    channel_options: Mapping[str, object] = field(default_factory=dict)
    location: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamletPlan:
    """A streamlet with every setting resolved.

    Arguments:
        parameters: the values by key, typed: int, str, float, bool, `Duration`, `MemorySize`, dict.
        trigger: None means the trigger of the code, otherwise the default of the runner.
        retry: the restart settings of its units.
        retry_set: the fields of `retry` that the configuration sets. They override the options of a query in the code.
        spark: the Spark settings of this streamlet's session.
        volume_mounts: the directory of each mount by name.
        queries: the triggers that the settings define, by query name.
        dead_letters: the id of the topic for rows that violate a contract; None when no port needs it.
        directory: the directory of the blueprint, from which relative paths in the settings start.
        source_evolution: whether sources are named in the checkpoint (the default), so that inlets may change.
        stuck_after: the time after which a running batch is reported as stuck.
        kind: the name of what runs it: `spark`, or another one of the class.
        tasks: the id of the topic with the tasks of a batch source; None for other streamlets.
    """

    ref: str
    class_name: str
    descriptor: StreamletDescriptor
    parameters: Mapping[str, object] = field(default_factory=dict)
    inlets: tuple[InletPlan, ...] = ()
    outlets: tuple[OutletPlan, ...] = ()
    trigger: Trigger | None = None
    retry: Retry = Retry()
    spark: Mapping[str, str] = field(default_factory=dict)
    volume_mounts: Mapping[str, str] = field(default_factory=dict)
    queries: Mapping[str, Trigger] = field(default_factory=dict)
    dead_letters: str | None = None
    group: str | None = None
    source_evolution: bool = True
    directory: str = "."
    retry_set: frozenset[str] = frozenset()
    stuck_after: Duration = STUCK_AFTER
    kind: str = "spark"
    tasks: str | None = None


Isolation = Literal["none", "process"]
"""Where streamlets run: all in one Spark, or each streamlet or group in a process with its own Spark."""


Access = Literal["owner", "group"]
"""Who may read the state directory: only the user who runs the application, or also the group of the directory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationPlan:
    """A verified application.

    Arguments:
        name: the name of the application.
        blueprint: the path of the blueprint.
        directory: the directory from which modules are imported and relative paths start.
        streamlets: the streamlets in topological order (producers first), ties by name.
        topics: the topics sorted by id.
        spark: the Spark settings of the whole application (`flow.runtimes.spark`).
        isolation: the isolation unless the command line overrides it.
        state_access: who may read the state directory.
        artifacts: the packages and jars for Spark that the settings name.
    """

    name: str
    blueprint: str
    directory: str
    streamlets: tuple[StreamletPlan, ...]
    topics: tuple[TopicPlan, ...]
    spark: Mapping[str, str]
    isolation: Isolation = "none"
    state_access: Access = "owner"
    artifacts: SparkArtifacts = field(default_factory=SparkArtifacts)

    def streamlet(self, ref: str) -> StreamletPlan:
        """Return the streamlet `ref`.

        Raises:
            KeyError: it does not exist.
        """
        for plan in self.streamlets:
            if plan.ref == ref:
                return plan
        raise KeyError(ref)

    def topic(self, topic_id: str) -> TopicPlan:
        """Return the topic `topic_id`.

        Raises:
            KeyError: it does not exist.
        """
        for plan in self.topics:
            if plan.id == topic_id:
                return plan
        raise KeyError(topic_id)

    def inlets_of(self, topic_id: str) -> tuple[InletPlan, ...]:
        """Return the inlets that read a topic."""
        return tuple(inlet for plan in self.streamlets for inlet in plan.inlets if inlet.topic == topic_id)

    def producers_of(self, ref: str) -> tuple[str, ...]:
        """Return the streamlets, other than `ref`, that write a topic which `ref` reads, sorted."""
        topics = {inlet.topic for inlet in self.streamlet(ref).inlets}
        producers = {path.rpartition(".")[0] for topic in self.topics if topic.id in topics for path in topic.producers}
        return tuple(sorted(producers - {ref}))
