"""`ApplicationPlan`: the verified blueprint with every setting resolved. All later steps use only this."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from blueprint.avro.model import Contract
from blueprint.catalog import SPARK, Kind, SparkArtifacts, StreamletDescriptor
from blueprint.core_settings import ApplicationSettings, Extra, InletSettings, OnInvalid, StreamletSettings
from blueprint.hocon.text_place import TextPlace
from blueprint.quantities import Duration

STATE_DIRECTORY = ".flow"
"""The name of the default state directory, next to the blueprint; `--state-dir` sets another one."""


@dataclass(frozen=True, slots=True)
class InletPlan:
    """An inlet connected to its topic.

    `options` are the settings of the topic's channel that are set for the inlet, as in `TopicPlan.options`.
    `on_invalid` is the handling of stored data that is not a record.
    """

    streamlet: str
    name: str
    attribute: str | None
    contract: Contract
    topic: str
    settings: InletSettings = field(default_factory=InletSettings)
    options: Mapping[str, object] = field(default_factory=dict)
    on_invalid: OnInvalid = "fail"


@dataclass(frozen=True, slots=True)
class ReturnCondition:
    """The condition under which the records of an outlet return into a cycle.

    Arguments:
        records: a SQL expression over a record. A record for which it is false or null leaves the cycle.
        otherwise: the outlet of the streamlet that such records leave to; None for the dead letters.
        place: the place of the expression.
    """

    records: str
    otherwise: str | None = None
    place: TextPlace | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class OutletPlan:
    """An outlet connected to its topic; `topic` is the id of the topic.

    `options` are the settings of the topic's channel that are set for the outlet, as in `TopicPlan.options`. `returns`
    is set if the topic leads back to the streamlet and `allow-cycles` limits the records that do so. `open_timeout` is
    how long the streamlet waits for the channel of the topic before it starts.
    """

    streamlet: str
    name: str
    attribute: str | None
    contract: Contract
    topic: str
    partition_by: tuple[str, ...] = ()
    on_invalid: OnInvalid = "fail"
    extra: Extra = "fail"
    options: Mapping[str, object] = field(default_factory=dict)
    returns: ReturnCondition | None = None
    open_timeout: Duration = Duration(0)


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
        durable: whether its records must be stored; see `blueprint.fusion`.
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
    durable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamletPlan:
    """A streamlet with every setting resolved.

    Arguments:
        settings: its settings, with the application's where it has none of its own.
        parameters: the values by key, typed: int, str, float, bool, `Duration`, `MemorySize`, dict.
        volume_mounts: the directory of each mount by name.
        dead_letters: the id of the topic for rows that violate a contract; None when no port needs it.
        directory: the directory of the blueprint, from which relative paths in the settings start.
        kind: what runs it.
        tasks: the id of the topic with its tasks; None if its kind has none.
        secrets: the values of the application's secrets, as its configuration defines them.
        texts: the places of the texts among the parameters that a file configures, by key.
        version: the version of the application, which the run sets and dead letters have; "" outside of a run.
    """

    ref: str
    class_name: str
    descriptor: StreamletDescriptor
    settings: StreamletSettings = field(default_factory=StreamletSettings)
    parameters: Mapping[str, object] = field(default_factory=dict)
    inlets: tuple[InletPlan, ...] = ()
    outlets: tuple[OutletPlan, ...] = ()
    volume_mounts: Mapping[str, str] = field(default_factory=dict)
    dead_letters: str | None = None
    directory: str = "."
    kind: Kind = SPARK
    tasks: str | None = None
    secrets: frozenset[str] = field(default=frozenset(), repr=False, compare=False)
    texts: Mapping[str, TextPlace] = field(default_factory=dict, repr=False, compare=False)
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationPlan:
    """A verified application.

    Arguments:
        name: the name of the application.
        blueprint: the path of the blueprint.
        directory: the directory from which modules are imported and relative paths start.
        streamlets: the streamlets in topological order (producers first), ties by name.
        topics: the topics sorted by id.
        settings: its settings; the command line may override the isolation.
        artifacts: the packages and jars for Spark that the settings name.
    """

    name: str
    blueprint: str
    directory: str
    streamlets: tuple[StreamletPlan, ...]
    topics: tuple[TopicPlan, ...]
    settings: ApplicationSettings = field(default_factory=ApplicationSettings)
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

    def writers_of(self, topic_id: str) -> frozenset[str]:
        """Return the streamlets that write a topic.

        Raises:
            KeyError: it does not exist.
        """
        return frozenset(path.rpartition(".")[0] for path in self.topic(topic_id).producers)

    def producers_of(self, ref: str) -> tuple[str, ...]:
        """Return the streamlets, other than `ref`, that write a topic which `ref` reads, sorted."""
        writers = frozenset[str]().union(*(self.writers_of(inlet.topic) for inlet in self.streamlet(ref).inlets))
        return tuple(sorted(writers - {ref}))
