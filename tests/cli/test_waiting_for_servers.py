"""Waiting for the servers of topics: a server that does not answer is named, and the wait ends."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from blueprint.plan import ApplicationPlan, OutletPlan, StreamletPlan, TopicPlan
from blueprint.quantities import Duration
from streamlets.channels import waiting
from streamlets.channels.delta.channel import DeltaChannel
from streamlets.channels.kafka import reachability
from streamlets.channels.registry import CHANNEL_TYPES
from streamlets.channels.waiting import await_servers, patience_of, refusal
from streamlets.checks import Check, State
from tests.streamlets.channels.topics import READING, made, topic_plan

if TYPE_CHECKING:
    from tests.cli.conftest import Flow

TOPICS = (TopicPlan("t", "t", "kafka", True, (), (), {"bootstrap.servers": "one:1"}, location="one:1"),)
DOWN = Check("Kafka one:1", State.ERROR, "the cluster does not answer")
UP = Check("Kafka one:1", State.OK, "1 broker")


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[Check]:
    """Return the list of the answers of Kafka clusters; the last one is repeated."""
    answers: list[Check] = []

    def check(topics: Sequence[TopicPlan]) -> Iterator[Check]:
        assert topics
        yield answers.pop(0) if len(answers) > 1 else answers[0]

    monkeypatch.setattr(CHANNEL_TYPES["kafka"], "check", check)
    monkeypatch.setattr(waiting, "_QUIET", 0.01)
    monkeypatch.setattr(waiting, "_PAUSE", 0.05)
    return answers


def test_servers_that_answer_later_are_awaited(answers: list[Check]) -> None:
    """The wait is announced once."""
    answers += [DOWN, DOWN, UP]
    announced: list[str] = []
    assert await_servers(TOPICS, announced.append) is None
    assert announced == ["kafka one:1"]


def test_servers_that_never_answer(answers: list[Check]) -> None:
    """After the patience the last failure is returned."""
    answers += [DOWN]
    assert await_servers(TOPICS, lambda _: None, patience=0.2) == DOWN


def test_a_refusal_ends_the_wait(answers: list[Check]) -> None:
    """Wrong credentials do not become right by waiting."""
    refused = Check("Kafka one:1", State.ERROR, "refused", lasting=True)
    answers += [refused, UP]
    assert await_servers(TOPICS, lambda _: None) == refused


def test_an_error_of_a_check_is_raised(answers: list[Check]) -> None:
    """It is not lost in the thread that checks."""
    with pytest.raises(IndexError):
        await_servers(TOPICS, lambda _: None)


def test_topics_without_servers_need_no_wait() -> None:
    """The delta channel has nothing to check."""
    topic = TopicPlan("t", "t", "delta", True, (), (), {})
    assert await_servers([topic], lambda _: pytest.fail("nothing to wait for")) is None


def test_the_longest_open_timeout_of_an_outlet_is_the_patience_of_a_start() -> None:
    """A run waits for servers at least as long as each of its streamlets would; half a minute without a setting."""
    plan = ApplicationPlan(name="plant", blueprint="", directory=".", streamlets=(), topics=())
    assert patience_of(plan) == 30.0
    for seconds, expected in ((5, 30.0), (90, 90.0)):
        outlet = OutletPlan("gauges", "out", None, READING, "readings", open_timeout=Duration(seconds * 10**9))
        gauges = StreamletPlan(ref="gauges", class_name="", descriptor=cast("Any", None), outlets=(outlet,))
        assert patience_of(replace(plan, streamlets=(gauges,))) == expected


def test_why_a_channel_accepts_no_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its server does not answer, its topic does not exist, or it raises an error; "" if it accepts records."""
    topic = made(tmp_path)
    assert refusal(topic, ()) == ""
    assert refusal(DeltaChannel(tmp_path).topic(topic_plan("others")), ()) == "the topic `others` does not exist"
    monkeypatch.setattr(CHANNEL_TYPES["delta"], "check", lambda topics: [DOWN])
    assert refusal(topic, ()) == "Kafka one:1: the cluster does not answer"
    monkeypatch.setattr(CHANNEL_TYPES["delta"], "check", lambda topics: 1 // 0)
    assert refusal(topic, ()) == "integer division or modulo by zero"


def test_a_run_names_the_servers_that_do_not_answer(
    flow: Flow, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`flow run` prints what it waits for, then one error with the servers and the reason, and exits with 1."""
    monkeypatch.setattr(waiting, "_QUIET", 0.01)
    monkeypatch.setattr(waiting, "PATIENCE", 0.0)
    monkeypatch.setattr(reachability, "_PATIENCE", 0.5)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # no one listens here
        servers = f"127.0.0.1:{unused.getsockname()[1]}"
        setting = f'flow.kafka.clusters.default.bootstrap.servers="{servers}"'
        result = flow("run", "examples/sensors", "flow.channel=kafka", setting, "--state-dir", str(tmp_path))
    assert (result.code, result.out) == (1, "")
    announced, error, *_ = result.err.splitlines()
    assert announced == f"waiting for kafka {servers} ..."
    assert error.startswith(f"error: Kafka {servers}: the cluster does not answer: ") and "Connection refused" in error
    assert result.err.count("error:") == 1
