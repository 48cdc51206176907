"""`TopicSettings`: what a topic of the Kafka channel is created with, and how its messages are read and written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from blueprint.plan import TopicPlan
from streamlets.channels.kafka.cluster import layout
from streamlets.channels.kafka.settings import (
    FORMAT,
    NUMERIC_TIMES,
    ON_DATA_LOSS,
    SUBJECT,
    TOMBSTONES,
    Format,
    OnDataLoss,
    Tombstones,
)
from streamlets.contract.wire.json_rules import Unit
from streamlets.contract.wire.registry import SubjectName

_NOT_CONFIGURATION = ("name", "partitions", "replicas")


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """The settings of a topic.

    Arguments:
        partitions: the number of its partitions; None for the default of the cluster.
        replicas: the number of replicas of each partition; None for the default of the cluster.
        config: its configuration, by Kafka's names.
        format: the format of its messages.
        on_data_loss: whether a reader fails when records were deleted that it had not read, or continues after them.
        registry: for the format `confluent`, the settings of the client of the schema registry.
        subject: for the format `confluent`, the strategy that names subjects.
        tombstones: whether a message without a value is an invalid record, or is skipped.
        numeric_times: for the format `json`, the unit of times that are numbers.
    """

    partitions: int | None = None
    replicas: int | None = None
    config: Mapping[str, str] = field(default_factory=dict)
    format: Format = "avro"
    on_data_loss: OnDataLoss = "fail"
    registry: Mapping[str, object] = field(default_factory=dict)
    subject: SubjectName = "topic"
    tombstones: Tombstones = "invalid"
    numeric_times: Unit = "milliseconds"

    @classmethod
    def of(cls, plan: TopicPlan) -> TopicSettings:
        """Return the settings of a topic."""
        partitions, replicas = layout(plan.options, plan.channel_options)
        config = _texts(plan.options.get("topic"))
        return cls(
            partitions,
            replicas,
            {key: value for key, value in config.items() if key not in _NOT_CONFIGURATION},
            FORMAT.of(plan.options),
            ON_DATA_LOSS.of(plan.options),
            _group(plan.options.get("schema-registry")),
            SUBJECT.of(plan.options),
            TOMBSTONES.of(plan.options),
            NUMERIC_TIMES.of(plan.options),
        )


def _texts(options: object) -> dict[str, str]:
    """Return free-form settings as Kafka expects them."""
    return {key: _text(value) for key, value in _group(options).items()}


def _group(options: object) -> dict[str, object]:
    """Return free-form settings with their types, which the client of the schema registry requires."""
    return {str(key): value for key, value in options.items()} if isinstance(options, Mapping) else {}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
