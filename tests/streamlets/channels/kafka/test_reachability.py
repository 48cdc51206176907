"""A cluster answers, or the check has the reason."""

from __future__ import annotations

import socket
from dataclasses import replace

import pytest

from blueprint.plan import TopicPlan
from streamlets.channels.kafka import reachability
from streamlets.channels.kafka.reachability import check_clusters, transaction_problem
from streamlets.checks import State


def _topic(id: str, servers: str, timeout: int | None = None) -> TopicPlan:
    own = {} if timeout is None else {"producer-config": {"transaction.timeout.ms": timeout}}
    return TopicPlan(id, id, "kafka", True, ("writer.out",), (), {"bootstrap.servers": servers, **own})


@pytest.mark.spark  # needs Java
def test_a_cluster_that_answers(kafka_broker: str) -> None:
    """A cluster is checked once for all its topics."""
    (check,) = check_clusters([_topic("a", kafka_broker), _topic("b", kafka_broker)])
    assert (check.subject, check.state, check.detail) == (f"Kafka {kafka_broker}", State.OK, "1 broker")


@pytest.mark.spark  # needs Java
def test_a_cluster_that_refuses_long_transactions(kafka_broker: str) -> None:
    """The longest of its writers counts; a cluster that is only read is not asked."""
    answer, problem = check_clusters([_topic("a", kafka_broker, 900_001), _topic("b", kafka_broker)])
    assert (answer.state, problem.state) == (State.OK, State.WARNING)
    assert problem.subject == f"Kafka {kafka_broker} transactions"
    assert "is 900001, and the brokers accept up to 900000" in problem.detail
    read = replace(_topic("a", kafka_broker, 900_001), producers=())
    assert [check.state for check in check_clusters([read])] == [State.OK]


def test_a_cluster_with_too_few_brokers_for_transactions() -> None:
    """What brokers do not show is not judged."""
    settings = {"transaction.state.log.min.isr": "2", "transaction.max.timeout.ms": "900000"}
    problem = transaction_problem(settings, 1, 60_000)
    assert problem is not None
    assert problem[0].startswith("2 brokers must store their state")
    assert transaction_problem(settings, 2, 900_000) is None
    assert transaction_problem({}, 1, 10_000_000) is None


def test_a_cluster_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason is that of the client's last attempt."""
    monkeypatch.setattr(reachability, "_PATIENCE", 1.0)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # no one listens here
        (check,) = check_clusters([_topic("a", f"127.0.0.1:{unused.getsockname()[1]}")])
    assert check.state is State.ERROR and "Connection refused" in check.detail and check.help
