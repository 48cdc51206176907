"""What an application needs to be allowed in Kafka clusters: topics, groups and ids of transactions, as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from blueprint.plan import ApplicationPlan, TopicPlan
from streamlets.channels.kafka.appender import WRITERS, transaction_prefix
from streamlets.channels.kafka.channel import KafkaChannel
from streamlets.channels.kafka.settings import INTERNAL_PREFIX

_SINK = "kafka"
_WRITERS, _READS = "the last appends of writers", "commands and writers read topics with it"

Resource = Literal["topic", "group", "transactional-id"]


@dataclass(frozen=True, slots=True)
class Right:
    """A right on a resource of a cluster.

    Arguments:
        servers: the servers of the cluster.
        resource: the type of the resource.
        name: its name, or the beginning of the names of several.
        prefixed: whether it is the beginning of names.
        operations: the operations, by Kafka's names.
        reason: what the application does with it, one sentence without a full stop.
    """

    servers: str
    resource: Resource
    name: str
    prefixed: bool
    operations: tuple[str, ...]
    reason: str


def rights(plan: ApplicationPlan, channel: KafkaChannel) -> tuple[Right, ...]:
    """Return the rights that an application needs, by cluster and resource.

    Arguments:
        plan: the application.
        channel: the channel on its state directory, which knows the names of topics.
    """
    topics = [topic for topic in plan.topics if topic.channel == channel.name]
    found = [right for topic in topics for right in _of_topic(plan, topic, channel)]
    sinks = (used for streamlet in plan.streamlets for used in streamlet.descriptor.external.sinks)
    found += [right for used in sinks if used.sink == _SINK for right in _of_sink(used.options)]
    return tuple(sorted(dict.fromkeys(found), key=lambda right: (right.servers, right.resource, right.name)))


def _of_topic(plan: ApplicationPlan, topic: TopicPlan, channel: KafkaChannel) -> Iterator[Right]:
    servers, name = topic.location, channel.topic(topic).plan.name
    prefix = str(INTERNAL_PREFIX.of(topic.channel_options))
    written, read = bool(topic.producers), bool(topic.consumers)
    operations = ["Describe", "DescribeConfigs", "Read"]  # `flow tail` and replays read what is written
    operations += ["Write"] if written else []
    operations += ["Create"] if topic.managed else []
    does = " and ".join([*(["writes"] if written else []), *(["reads"] if read else [])]) or "has"
    yield Right(servers, "topic", name, False, tuple(operations), f"the application {does} it")
    for internal, why in (("schemas", "the schemas of writers"), ("writers", _WRITERS)):
        needed = ("Describe", "Read", "Write", "Create")
        yield Right(servers, "topic", f"{prefix}_{internal}", False, needed, f"it has {why}, for all applications")
    if written:
        ids = f"{transaction_prefix(f'{prefix}_writers')}/{name}/"
        reason = "exactly-once outlets, dead letters, tasks, spouts and replays are written in transactions"
        yield Right(servers, "transactional-id", ids, True, ("Describe", "Write"), reason)
    # `alterConsumerGroupOffsets` needs the right to read the group; Spark's source has groups of its own.
    if read:
        groups = f"{plan.name}."
        yield Right(servers, "group", groups, True, ("Read", "Describe"), "the positions of inlets are shown there")
        yield Right(servers, "group", "spark-kafka-", True, ("Read", "Describe"), "Spark's Kafka source uses them")
    yield Right(servers, "group", "streamlets", False, ("Read", "Describe"), _READS)


def _of_sink(options: Mapping[str, object]) -> Iterator[Right]:
    """Yield the rights of a sink `kafka`; without the option `topic`, the records have the names of topics."""
    servers, topic = str(options.get("kafka.bootstrap.servers", "")), str(options.get("topic", "*"))
    once = options.get("guarantee") == "exactly-once"
    operations = ("Describe", "DescribeConfigs", "Write") if once else ("Describe", "Write")
    yield Right(servers, "topic", topic, False, operations, "a sink writes it")
    if once:
        needed = ("Describe", "Read", "Write", "Create")
        yield Right(servers, "topic", WRITERS, False, needed, f"it has {_WRITERS}, for all applications")
        ids = f"{transaction_prefix(WRITERS)}/{'' if topic == '*' else f'{topic}/'}"
        yield Right(servers, "transactional-id", ids, True, ("Describe", "Write"), "a sink sends in transactions")
        yield Right(servers, "group", "streamlets", False, ("Read", "Describe"), _READS)


def command(right: Right, principal: str) -> str:
    """Return the call of Kafka's `kafka-acls` that allows a right.

    Arguments:
        principal: whom it is for, such as `User:flow`.
    """
    pattern = " --resource-pattern-type prefixed" if right.prefixed else ""
    operations = "".join(f" --operation {operation}" for operation in right.operations)
    return (
        f"kafka-acls.sh --bootstrap-server {right.servers} --add --allow-principal {principal}"
        f"{operations} --{right.resource} '{right.name}'{pattern}"
    )
