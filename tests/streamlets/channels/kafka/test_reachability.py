"""A cluster answers, or the check has the reason."""

from __future__ import annotations

import socket

import pytest

from blueprint.plan import TopicPlan
from streamlets.channels.kafka import reachability
from streamlets.channels.kafka.reachability import check_clusters
from streamlets.checks import State


def _topic(id: str, servers: str) -> TopicPlan:
    return TopicPlan(id, id, "kafka", True, (), (), {"bootstrap.servers": servers})


@pytest.mark.spark  # needs Java
def test_a_cluster_that_answers(kafka_broker: str) -> None:
    """A cluster is checked once for all its topics."""
    (check,) = check_clusters([_topic("a", kafka_broker), _topic("b", kafka_broker)])
    assert (check.subject, check.state, check.detail) == (f"Kafka {kafka_broker}", State.OK, "1 broker")


def test_a_cluster_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason is that of the client's last attempt."""
    monkeypatch.setattr(reachability, "_PATIENCE", 1.0)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # no one listens here
        (check,) = check_clusters([_topic("a", f"127.0.0.1:{unused.getsockname()[1]}")])
    assert check.state is State.ERROR and "Connection refused" in check.detail and check.help
