"""Requests to a cluster that is busy with changes of its own."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from streamlets.channels.kafka.cluster import connections
from streamlets.channels.kafka.cluster_client import Cluster
from streamlets.channels.kafka.cluster_errors import ClusterError


def cluster_with(monkeypatch: pytest.MonkeyPatch, *answers: int | KafkaError) -> Cluster:
    """Return a cluster with a topic of one partition; requests for its offset have these answers."""
    cluster = Cluster(connections({"bootstrap.servers": "here:1"}, {}))
    left = list(answers)

    def ask(request: Any, *, keys: bool = False) -> Any:
        future: Future[Any] = Future()
        answer = left.pop(0)
        if isinstance(answer, KafkaError):
            future.set_exception(KafkaException(answer))
        else:
            future.set_result(SimpleNamespace(offset=answer))
        return {TopicPartition("t", 0): future}

    monkeypatch.setattr(cluster, "existing", lambda topic: SimpleNamespace(partitions=1))
    monkeypatch.setattr(cluster, "ask", ask)
    return cluster


def test_a_partition_gets_its_leader_shortly_after_it_was_created(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its offsets are requested again."""
    missing = KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION)
    assert cluster_with(monkeypatch, missing, missing, 7).latest("t") == {0: 7}


def test_other_errors_are_reported_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """They do not pass by themselves."""
    with pytest.raises(ClusterError, match="here:1 refused"):
        cluster_with(monkeypatch, KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED), 7).latest("t")
