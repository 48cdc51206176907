"""The settings of topics on the kafka channel, and of its clusters."""

from __future__ import annotations

from typing import Literal, get_args

from blueprint.setting import Scope, Setting
from blueprint.setting_types import BOOLEAN, DURATION, OPTIONS, POSITIVE, STRING, STRINGS, choice
from streamlets.contract.wire.json_rules import UNITS

CLUSTER = Setting("cluster", STRING, "The cluster that stores the topic, else `default`.", scope=Scope.TOPIC)
SERVERS = Setting(
    "bootstrap.servers", STRING, "The servers of the cluster: `host:port, ...`; they replace `cluster`.",
    scope=Scope.TOPIC,
)  # fmt: skip
PARTITIONS = Setting("topic.partitions", POSITIVE, "The number of partitions of the topic.", scope=Scope.TOPIC)
REPLICAS = Setting("topic.replicas", POSITIVE, "The number of copies of each partition.", scope=Scope.TOPIC)
CONNECTION_CONFIG = Setting(
    "connection-config", OPTIONS, "Client settings for producers and consumers.", scope=Scope.TOPIC
)
PRODUCER_CONFIG = Setting("producer-config", OPTIONS, "Client settings for producers.", scope=Scope.TOPIC)
CONSUMER_CONFIG = Setting("consumer-config", OPTIONS, "Client settings for consumers.", scope=Scope.TOPIC)


Format = Literal["avro", "confluent", "plain-avro", "json", "bytes"]
"""The formats of messages: Avro single-object encoding, Confluent's wire format, Avro without a header, JSON objects,
and the bytes or the string of the only field."""

OnDataLoss = Literal["fail", "continue"]

Tombstones = Literal["invalid", "skip"]

Guarantee = Literal["at-least-once", "exactly-once"]

FORMAT = Setting("format", choice(*get_args(Format)), "The format of messages.", "avro", scope=Scope.TOPIC)
ON_DATA_LOSS = Setting(
    "on-data-loss", choice(*get_args(OnDataLoss)), "What a reader does when unread records were deleted.", "fail",
    scope=Scope.TOPIC,
)  # fmt: skip
REGISTRY = Setting(
    "schema-registry", OPTIONS, "The client settings of the schema registry, such as `url`.",
    scope=Scope.TOPIC,
)  # fmt: skip
SUBJECT = Setting(
    "subject", choice("topic", "record", "topic-record"), "How the subjects of the schema registry are named.", "topic",
    scope=Scope.TOPIC,
)  # fmt: skip
TOMBSTONES = Setting(
    "tombstones", choice(*get_args(Tombstones)), "What a message without a value is: `invalid`, or skipped.", "invalid",
    scope=Scope.TOPIC,
)  # fmt: skip

NUMERIC_TIMES = Setting(
    "numeric-times", choice(*UNITS), "For the format `json`: the unit of times that are numbers, or `invalid`.",
    "milliseconds", scope=Scope.TOPIC,
)  # fmt: skip

STAGED = Setting(
    "staged", BOOLEAN, "Whether a batch is stored before it is sent, so that a replay repeats it exactly.", "false",
    scope=Scope.OUTLET,
)  # fmt: skip
GUARANTEE = Setting(
    "guarantee", choice(*get_args(Guarantee)), "How often a record of a batch may be in the topic after a failure.",
    "at-least-once", scope=Scope.OUTLET,
)  # fmt: skip
DEDUPLICATE_KEYS = Setting(
    "deduplicate.keys", STRINGS, "The columns that the doubles of a record have in common.", scope=Scope.INLET,
    columns=True,
)  # fmt: skip
DEDUPLICATE_HEADERS = Setting(
    "deduplicate.by-headers", BOOLEAN, "Whether doubles are recognized by the headers of a staged outlet.", "false",
    scope=Scope.INLET,
)  # fmt: skip
DEDUPLICATE_WATERMARK = Setting(
    "deduplicate.watermark", STRING, "The column with the time of a record; with headers, else the message's time.",
    scope=Scope.INLET, columns=True,
)  # fmt: skip
DEDUPLICATE_WITHIN = Setting(
    "deduplicate.within", DURATION, "How much later than a record its doubles may arrive.", "1 hour", scope=Scope.INLET
)

SETTINGS = (
    CLUSTER, SERVERS, PARTITIONS, REPLICAS, CONNECTION_CONFIG, PRODUCER_CONFIG, CONSUMER_CONFIG,
    FORMAT, ON_DATA_LOSS, REGISTRY, SUBJECT, TOMBSTONES, NUMERIC_TIMES,
    STAGED, GUARANTEE, DEDUPLICATE_KEYS, DEDUPLICATE_HEADERS, DEDUPLICATE_WATERMARK, DEDUPLICATE_WITHIN,
)  # fmt: skip
"""The settings of a topic and of its ports."""

TOPIC_PREFIX = Setting(
    "topic-prefix", STRING,
    "The beginning of the names of topics for dead letters and tasks, else the application's name and `.`.",
)  # fmt: skip
INTERNAL_PREFIX = Setting(
    "internal-prefix", STRING, "The beginning of the names of the topics `..._schemas` and `..._writers`.",
    "_streamlets",
)  # fmt: skip

_CLUSTER = "clusters.<name>."

CLUSTER_SETTINGS = (
    TOPIC_PREFIX,
    INTERNAL_PREFIX,
    Setting(f"{_CLUSTER}bootstrap.servers", STRING, "The servers of the cluster: `host:port, ...`."),
    Setting(f"{_CLUSTER}topic.partitions", POSITIVE, "The number of partitions of topics that do not set theirs."),
    Setting(f"{_CLUSTER}topic.replicas", POSITIVE, "The number of copies of each partition, unless the topic sets it."),
    Setting(f"{_CLUSTER}connection-config", OPTIONS, "Client settings for producers and consumers."),
    Setting(f"{_CLUSTER}producer-config", OPTIONS, "Client settings for producers."),
    Setting(f"{_CLUSTER}consumer-config", OPTIONS, "Client settings for consumers."),
)
"""The settings of a cluster, which its topics use where they have none of their own."""
