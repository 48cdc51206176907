"""Maintenance of topics by the runner: retention by committed positions, and reports of missed records."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from blueprint.quantities import duration
from streamlets.channels.base import Missed, Reader, TopicResource
from streamlets.channels.delta.channel import DeltaChannel
from streamlets.runner import maintenance
from streamlets.runner.maintenance import maintaining
from tests.streamlets.channels.test_retention import reader_at
from tests.streamlets.channels.topics import add, ids_of, made, topic_plan


def run(topics: list[TopicResource], readers: list[Reader], rounds: int = 1) -> tuple[list[Missed], list[str]]:
    """Return the missed records and the errors that some rounds of maintenance report."""
    reported: list[Missed] = []
    errors: list[str] = []
    counted = Rounds(rounds)
    with maintaining(
        [*topics, counted],  # type: ignore[list-item]
        lambda topic: readers,
        reported.append,
        lambda topic, error: errors.append(f"{topic.plan.id}: {error}"),
    ):
        assert counted.over.wait(300)
    return reported, errors


class Rounds:
    """A topic without records that counts the rounds of maintenance.

    Arguments:
        wanted: after how many rounds `over` is set.
    """

    plan = topic_plan("rounds")

    def __init__(self, wanted: int) -> None:
        self.over = threading.Event()
        self._left = wanted

    def maintain(self, readers: object) -> None:
        """Count a round."""
        self._left -= 1
        if not self._left:
            self.over.set()

    def missed(self) -> tuple[Missed, ...]:
        """Return nothing."""
        return ()


def test_rounds_apply_retention_and_report_missed_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records that a forced purge dropped while nothing ran are reported once. A broken topic does not keep the others
    from being maintained."""
    monkeypatch.setattr(maintenance, "EVERY", 0.01)
    made(tmp_path)
    plan = topic_plan("readings")
    channel = DeltaChannel(tmp_path)
    topics: list[TopicResource] = [
        channel.topic(type(plan)(name, name, "delta", True, (), (), {"retention.time": duration("1 ms")}))
        for name in ("broken", "readings")
    ]
    topic = topics[1]
    assert topic.plan.name == "readings"
    for number in range(5):
        add(made(tmp_path), number, range(number * 10, number * 10 + 10))
    made(tmp_path).purge([reader_at(made(tmp_path), 0, 5, "slow.in")], force=True)
    for number in (5, 6):  # versions 7 and 8: the purge was one, too
        add(made(tmp_path), number, range(number * 10, number * 10 + 10))
    reported, errors = run(topics, [reader_at(made(tmp_path), 7)], rounds=3)
    assert [(missed.reader, missed.records) for missed in reported] == [("slow.in", 45)]
    assert ids_of(topic.scan()) == list(range(60, 70))
    assert {error.partition(":")[0] for error in errors} == {"broken"}
