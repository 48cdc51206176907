"""A topic is compared with the blueprint: what differs, what can be altered, and what that may cost."""

from __future__ import annotations

from typing import Any

import pytest

from streamlets.channels.kafka.cluster_client import Existing
from streamlets.channels.kafka.comparison import differences
from streamlets.channels.kafka.topic_settings import TopicSettings

CONFIG = {"retention.ms": "3600000", "retention.bytes": "-1", "cleanup.policy": "delete,compact", "max": "1"}


def found(**settings: Any) -> list[Any]:
    return list(differences(TopicSettings(**settings), Existing("id", 2, 1), CONFIG))


def test_equal_settings_do_not_differ() -> None:
    """Settings that the blueprint does not have are not compared, and notations of a value are equal."""
    assert not found()
    config = {"retention.ms": "3600000.0", "cleanup.policy": "compact, delete"}
    assert not found(partitions=2, replicas=1, config=config)


def test_partitions_can_be_added() -> None:
    """More partitions are possible and final; fewer are not possible."""
    (more,) = found(partitions=3)
    assert str(more) == "`topic.partitions` is `2`, and the blueprint sets `3`"
    assert more.alterable and "cannot be removed again" in more.warning and not more.help
    (fewer,) = found(partitions=1)
    assert not fewer.alterable and "set `topic.partitions = 2`" in fewer.help


def test_replicas_are_moved_with_kafkas_tool() -> None:
    """Kafka's interface for clients cannot move replicas."""
    (difference,) = found(replicas=3)
    assert not difference.alterable and "kafka-reassign-partitions" in difference.help


@pytest.mark.parametrize(
    ("name", "value", "deletes"),
    [
        ("retention.ms", "1000", True),
        ("retention.ms", "7200000", False),
        ("retention.ms", "-1", False),
        ("retention.bytes", "1000", True),
        ("cleanup.policy", "delete", True),
        ("max", "2", False),
    ],
)
def test_what_may_delete_records_is_named(name: str, value: str, deletes: bool) -> None:
    """A shorter or smaller retention and another policy delete records; a longer retention does not."""
    (difference,) = found(config={name: value})
    assert difference.alterable
    assert bool(difference.warning) is deletes


def test_a_configuration_that_the_cluster_does_not_have() -> None:
    """A misspelt name is reported, and cannot be altered."""
    (difference,) = found(config={"retention.msec": "1"})
    assert str(difference) == "`topic.retention.msec` does not exist, and the blueprint sets `1`"
    assert not difference.alterable and difference.help
