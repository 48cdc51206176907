"""`ApplicationPlan`: the verified blueprint with every setting resolved. All that comes after reads only this."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from blueprint.avro.model import Contract
from blueprint.catalog import StreamletDescriptor
from blueprint.quantities import Duration, MemorySize


@dataclass(frozen=True, slots=True)
class ProcessingTime:
    """A micro-batch every `interval`; 0 means as fast as it goes."""

    interval: Duration


@dataclass(frozen=True, slots=True)
class AvailableNow:
    """All there is, in as many batches as limits ask for, then the end."""


@dataclass(frozen=True, slots=True)
class RealTime:
    """Record by record, with a checkpoint every `interval` (Kafka only)."""

    interval: Duration


Trigger = ProcessingTime | AvailableNow | RealTime


@dataclass(frozen=True, slots=True)
class Retry:
    """How a failed unit is restarted; the formula stands in `streamlets/runner/supervision/backoff.py`."""

    enabled: bool = True
    max_attempts: int = 2147483647
    min_backoff: Duration = Duration(10**9)
    max_backoff: Duration = Duration(3600 * 10**9)
    random_factor: float = 0.0
    stable_period: Duration = Duration(60 * 10**9)


STUCK_AFTER = Duration(600 * 10**9)
"""How long a batch runs before it is reported as stuck, unless a setting says otherwise."""


@dataclass(frozen=True, slots=True)
class InletPlan:
    """An inlet joined to its topic. `max_records` limits a batch to whole commits; None when nothing does."""

    streamlet: str
    name: str
    attribute: str | None
    contract: Contract
    topic: str
    max_records: int | None = None
    starting: Literal["earliest", "latest"] = "earliest"


@dataclass(frozen=True, slots=True)
class OutletPlan:
    """An outlet joined to its topic; `topic` is the topic's id."""

    streamlet: str
    name: str
    attribute: str | None
    contract: Contract
    topic: str
    partition_by: tuple[str, ...] = ()
    on_invalid: Literal["fail", "dead-letters"] = "fail"
    extra: Literal["fail", "drop"] = "fail"


@dataclass(frozen=True, slots=True)
class Retention:
    """How long a topic's records stay.

    Arguments:
        time: after which they may go; None for ever.
        size: of the topic, beyond which the oldest may go; None for any.
        keep_unread: whether they stay until every known reader has committed them.
    """

    time: Duration | None = None
    size: MemorySize | None = None
    keep_unread: bool = True

    @property
    def limited(self) -> bool:
        """Whether anything ever goes."""
        return self.time is not None or self.size is not None


@dataclass(frozen=True, slots=True)
class TopicPlan:
    """A topic: `id` is the blueprint's name, `name` the physical one. Writers and readers are port paths `ref.port`."""

    id: str
    name: str
    channel: str
    managed: bool
    producers: tuple[str, ...]
    consumers: tuple[str, ...]
    options: Mapping[str, object]
    retention: Retention = Retention()


@dataclass(frozen=True, slots=True)
class StreamletPlan:
    """A streamlet with every setting resolved.

    Arguments:
        parameters: values by key, typed: int, str, float, bool, `Duration`, `MemorySize`, dict.
        trigger: None means the code's, else the runner's default.
        retry: how its units are restarted; retry_set: which of its fields `flow` sets, so that the options of a query
            in the code do not.
        spark: Spark settings of this streamlet's session.
        volume_mounts: mount name to folder.
        queries: trigger per query name, where the settings give one.
        dead_letters: id of the topic that takes rows which broke a contract; None when no port asks for it.
        folder: where relative paths in its settings start: the blueprint's.
        source_evolution: whether sources are named in the checkpoint (default), so that inlets may change.
        stuck_after: how long a batch runs before it is reported as stuck.
    """

    ref: str
    class_name: str
    descriptor: StreamletDescriptor
    parameters: Mapping[str, object]
    inlets: tuple[InletPlan, ...]
    outlets: tuple[OutletPlan, ...]
    trigger: Trigger | None
    retry: Retry
    spark: Mapping[str, str]
    volume_mounts: Mapping[str, str]
    queries: Mapping[str, Trigger]
    dead_letters: str | None = None
    group: str | None = None
    source_evolution: bool = True
    folder: str = "."
    retry_set: frozenset[str] = frozenset()
    stuck_after: Duration = STUCK_AFTER


Isolation = Literal["none", "process"]
"""Where streamlets run: all on one Spark, or each (each group) in a process with a Spark of its own."""


Access = Literal["owner", "group"]
"""Who may read an application's state directory: the user who runs it, or also the directory's group."""


@dataclass(frozen=True, slots=True)
class ApplicationPlan:
    """A verified application.

    Arguments:
        name: the application's.
        blueprint: the blueprint's file; folder: where modules and relative paths start from.
        streamlets: in topological order (producers first), ties by name; topics: sorted by id.
        spark: Spark settings of the whole application (`flow.runtimes.spark`).
        isolation: unless the command line says otherwise.
        state_access: who may read its state directory.
    """

    name: str
    blueprint: str
    folder: str
    streamlets: tuple[StreamletPlan, ...]
    topics: tuple[TopicPlan, ...]
    spark: Mapping[str, str]
    isolation: Isolation = "none"
    state_access: Access = "owner"

    def streamlet(self, ref: str) -> StreamletPlan:
        """The streamlet called `ref`; KeyError when there is none."""
        for plan in self.streamlets:
            if plan.ref == ref:
                return plan
        raise KeyError(ref)

    def topic(self, topic_id: str) -> TopicPlan:
        """The topic called `topic_id`; KeyError when there is none."""
        for plan in self.topics:
            if plan.id == topic_id:
                return plan
        raise KeyError(topic_id)

    def inlets_of(self, topic_id: str) -> tuple[InletPlan, ...]:
        """The inlets that read a topic."""
        return tuple(inlet for plan in self.streamlets for inlet in plan.inlets if inlet.topic == topic_id)

    def producers_of(self, ref: str) -> tuple[str, ...]:
        """The streamlets that write a topic which `ref` reads, sorted, without itself."""
        topics = {inlet.topic for inlet in self.streamlet(ref).inlets}
        found = {path.rpartition(".")[0] for topic in self.topics if topic.id in topics for path in topic.producers}
        return tuple(sorted(found - {ref}))
