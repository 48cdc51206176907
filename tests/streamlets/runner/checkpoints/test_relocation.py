"""Readers move to the copy of a topic: their checkpoints have the position there, and nothing else changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from blueprint.comparison import describe_plan, read_descriptor, to_json
from blueprint.plan import ApplicationPlan, TopicPlan
from streamlets.channels.base import Position
from streamlets.channels.delta.topic import DeltaTopic
from streamlets.runner.checkpoints.checkpoint import read_checkpoint
from streamlets.runner.checkpoints.relocation import RelocationError, relocate, relocations, store_moved
from streamlets.runner.state_directory.directory import StateDirectory
from tests.streamlets.channels.topics import add, made
from tests.streamlets.runner.checkpoints.test_checkpoint import written

END = '{"copied": {"0": 208}}'


@pytest.fixture
def state(tmp_path: Path) -> StateDirectory:
    return StateDirectory(tmp_path, "app")


@pytest.fixture
def topic(tmp_path: Path) -> DeltaTopic:
    """Return a topic with two commits."""
    topic = made(tmp_path / "topics")
    for number in range(2):
        add(topic, number, [number])
    return topic


def _position(topic: DeltaTopic, *, unread: bool = False) -> str:
    position = topic.end().json
    if unread:
        add(topic, 9, [9])
    return position


@pytest.mark.parametrize("named", [True, False])
def test_readers_at_the_end_are_moved(state: StateDirectory, topic: DeltaTopic, *, named: bool) -> None:
    """Only the position in this topic is replaced, in the last committed batch; again without effect."""
    end, source = _position(topic), "in" if named else "0"
    other = "rates" if named else "1"
    directory = written(
        state.checkpoints, "average.out", {3: {source: "{}", other: "7"}, 4: {source: end, other: "8"}}, 4, named=named
    )
    written(state.checkpoints, "elsewhere.out", {0: {source: "12"}}, 0, named=named)
    before = read_checkpoint(directory).committed
    (found,) = relocations(state, topic)
    assert found.reader == f"average.out ({source})"
    for _ in range(2):
        relocate([found], Position(END))
        after = read_checkpoint(directory)
        assert after.committed is not None and before is not None and after.planned is None and not after.damage
        assert after.committed.positions == {source: END, other: "8"}
        assert (after.committed.time, after.committed.settings) == (before.time, before.settings)
    assert not (directory / "offsets" / ".4.crc").exists()  # that of the earlier content
    assert not relocations(state, topic)


def test_a_reader_with_unread_records_is_refused(state: StateDirectory, topic: DeltaTopic) -> None:
    """Its position has no counterpart in a copy."""
    written(state.checkpoints, "average.out", {0: {"in": _position(topic, unread=True)}}, 0)
    with pytest.raises(RelocationError, match=r"average\.out has not read 1 record of `readings`") as refused:
        relocations(state, topic)
    assert "--available-now" in refused.value.help


def test_a_reader_in_the_middle_of_a_batch_is_refused(state: StateDirectory, topic: DeltaTopic) -> None:
    """The batch is replayed on the channel that it was planned on."""
    written(state.checkpoints, "average.out", {0: {"in": "{}"}, 1: {"in": _position(topic)}}, 0)
    with pytest.raises(RelocationError, match="ended in the middle of a batch"):
        relocations(state, topic)


def test_the_next_run_finds_the_topic_at_its_new_place(state: StateDirectory) -> None:
    """The descriptor of the last run has the new channel of this topic, and otherwise stays."""
    places = {"a": "delta", "b": "delta"}

    def plan() -> ApplicationPlan:
        topics = tuple(TopicPlan(id, id, channel, True, (), (), {}) for id, channel in places.items())
        return ApplicationPlan(name="app", blueprint="blueprint.conf", directory=".", streamlets=(), topics=topics)

    state.directory.mkdir()
    state.descriptor_file.write_text(to_json(describe_plan(plan())))
    places["a"] = places["b"] = "kafka"
    store_moved(state, plan(), "a")
    stored = read_descriptor(state.descriptor_file.read_text(), "descriptor.json").descriptor
    assert {id: topic.channel for id, topic in stored.topics.items()} == {"a": "kafka", "b": "delta"}
    store_moved(state, plan(), "unknown")
