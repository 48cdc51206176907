"""Which topics can be fused: the records pass from their producer to their only reader within one query.

This is decided from the plan alone. Whether the logic of the streamlets allows it, too, is known when it is built.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace

from blueprint.avro.model import Contract
from blueprint.catalog import SPARK
from blueprint.core_settings import InletSettings, StreamletSettings
from blueprint.plan import ApplicationPlan, InletPlan, OutletPlan, StreamletPlan, TopicPlan
from blueprint.trigger import AvailableNow, RealTime

_ANY = {"group": None, "retry_set": frozenset[str]()}
"""The settings in which fused streamlets may differ: which process they prefer, and what is set and not default."""


@dataclass(frozen=True, slots=True)
class FusedTopic:
    """A topic that can be fused, with the ports that it joins."""

    topic: TopicPlan
    outlet: OutletPlan
    inlet: InletPlan


@dataclass(frozen=True, slots=True)
class Fusion:
    """The result of the pass over the plan.

    Arguments:
        chains: the topics of each sequence of streamlets that can be one query, in the order of the records.
        refusals: why other topics that need not be durable cannot be fused, by their ids.
    """

    chains: tuple[tuple[FusedTopic, ...], ...] = ()
    refusals: Mapping[str, str] = field(default_factory=dict)

    @property
    def topics(self) -> frozenset[str]:
        """The ids of the topics that can be fused."""
        return frozenset(fused.topic.id for chain in self.chains for fused in chain)


def fusion_of(plan: ApplicationPlan) -> Fusion:
    """Return which topics of a plan can be fused, and why others cannot.

    Arguments:
        plan: the application, or the part of it that runs on one Spark. Its topics know the ports of the application.
    """
    fused: dict[str, FusedTopic] = {}  # by producer
    refusals: dict[str, str] = {}
    for topic in plan.topics:
        if topic.durable:
            continue
        joined = _fused(plan, topic)
        if isinstance(joined, str):
            refusals[topic.id] = joined
        else:
            fused[joined.outlet.streamlet] = joined
    readers = {joined.inlet.streamlet for joined in fused.values()}
    heads = [own.ref for own in plan.streamlets if own.ref in fused and own.ref not in readers]
    chains = tuple(tuple(_chain(fused, head)) for head in heads)
    reached = {joined.topic.id for chain in chains for joined in chain}
    cyclic = [joined.topic.id for joined in fused.values() if joined.topic.id not in reached]
    return Fusion(chains, refusals | dict.fromkeys(cyclic, "it is part of a cycle of such topics"))


def _chain(fused: Mapping[str, FusedTopic], ref: str) -> Iterator[FusedTopic]:
    """Yield the topics from a streamlet on to the end of its chain."""
    while (joined := fused.get(ref)) is not None:
        yield joined
        ref = joined.inlet.streamlet


def _fused(plan: ApplicationPlan, topic: TopicPlan) -> FusedTopic | str:
    """Return a topic with its ports if it can be fused, or else the first reason why it cannot."""
    if plan.settings.fuse == "off":
        return "`flow.fuse` is `off`"
    if plan.settings.isolation == "process":
        return "with `flow.isolation = process` its producer and its reader run in processes of their own"
    if reason := _of_topic(topic):
        return reason
    streamlets = {streamlet.ref: streamlet for streamlet in plan.streamlets}
    producer = streamlets.get(topic.producers[0].rpartition(".")[0])
    consumer = streamlets.get(topic.consumers[0].rpartition(".")[0])
    if producer is None or consumer is None:
        return "one of its streamlets is not a query on Spark"
    for streamlet in (producer, consumer):
        if streamlet.kind != SPARK:
            return f"`{streamlet.ref}` is of the kind `{streamlet.kind.name}`"
    outlet = next((outlet for outlet in producer.outlets if outlet.topic == topic.id), None)
    inlet = next((inlet for inlet in consumer.inlets if inlet.topic == topic.id), None)
    if outlet is None or inlet is None:
        return "it is the topic of dead letters"
    refusal = _of_ports(producer, outlet, consumer, inlet) or _of_settings(producer.settings, consumer.settings)
    return refusal or FusedTopic(topic, outlet, inlet)


def _of_topic(topic: TopicPlan) -> str:
    """Return why a topic must be stored because of its own settings and ports; "" if it need not be."""
    if not topic.managed:
        return "it is not managed by the application, so that others may read or write it"
    if len(topic.producers) != 1:
        return f"it has {len(topic.producers)} producers, not one"
    if len(topic.consumers) != 1:
        return f"it has {len(topic.consumers)} readers, not one"
    if topic.options:
        return f"it has settings that only a stored topic has: {_listed(topic.options)}"
    return ""


def _of_ports(producer: StreamletPlan, outlet: OutletPlan, consumer: StreamletPlan, inlet: InletPlan) -> str:
    """Return why records cannot pass from an outlet to an inlet within a query; "" if they can."""
    if producer.ref == consumer.ref:
        return f"`{producer.ref}` reads what it writes"
    if len(producer.outlets) != 1:
        return f"`{producer.ref}` has {len(producer.outlets)} outlets, not one"
    if len(consumer.inlets) != 1:
        return f"`{consumer.ref}` has {len(consumer.inlets)} inlets, not one"
    if not consumer.outlets:
        return f"`{consumer.ref}` is an egress, whose sink is its own"
    if outlet.partition_by:
        return f"`{outlet.streamlet}.{outlet.name}` has keys (`partition-by`), by which a stored topic orders records"
    if outlet.options or inlet.options:
        return f"a port has settings of its channel: {_listed({**outlet.options, **inlet.options})}"
    if outlet.open_timeout.nanoseconds:
        return f"`{outlet.streamlet}.{outlet.name}` waits for the channel (`open-timeout`)"
    if changed := _different(inlet.settings, InletSettings()):
        return f"`{inlet.streamlet}.{inlet.name}` has settings of its own: {_listed(changed)}"
    if not _reads_as_written(outlet.contract, inlet.contract):
        return f"`{inlet.streamlet}.{inlet.name}` reads the records with other types or defaults than they are written"
    return ""


def _of_settings(producer: StreamletSettings, consumer: StreamletSettings) -> str:
    """Return why two streamlets cannot be one query because of their settings; "" if they can."""
    if changed := _different(replace(producer, **_ANY), replace(consumer, **_ANY)):  # type: ignore[arg-type]
        return f"its producer and its reader have different settings: {_listed(changed)}"
    if isinstance(producer.trigger, AvailableNow | RealTime) or producer.queries:
        return "fused queries have no triggers of single queries, and none that is `available-now` or `real-time`"
    if producer.ends_with_producers:
        return "its reader ends with its producers (`end`)"
    return ""


def _reads_as_written(writer: Contract, reader: Contract) -> bool:
    """Return whether a reader's fields are fields of the writer with the same types, so that nothing is resolved."""
    written = {own.name: own.schema for own in writer.record.fields}
    inner = {name: definition for name, definition in reader.names.items() if name != reader.record.name}
    named = all(writer.names.get(name) == definition for name, definition in inner.items())
    same = writer.fingerprint == reader.fingerprint
    return same or (named and all(written.get(own.name) == own.schema for own in reader.record.fields))


def _different(one: object, other: object) -> tuple[str, ...]:
    """Return the keys of the fields in which two settings of a class differ."""
    names = (own.name for own in fields(one))  # type: ignore[arg-type]
    return tuple(name.replace("_", "-") for name in names if getattr(one, name) != getattr(other, name))


def _listed(names: Mapping[str, object] | tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))
