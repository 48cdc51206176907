"""A query writes to one channel, also its dead letters; what was not verified is refused when the query is built."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from blueprint.plan import TopicPlan
from streamlets.api.errors import StreamletError
from streamlets.runner.units.binding import TopicBinding
from tests.streamlets.channels.topics import outlet


class RecordingChannel:
    """A channel that keeps what `writer` was called with."""

    def __init__(self) -> None:
        self.dead_letters: list[Any] = []
        self.versions: list[str] = []

    def writer(self, rows: Any, branches: Any, dead_letters: Any, query: Any) -> Any:
        """Keep the topic of the dead letters, and the version that they have."""
        self.dead_letters.append(dead_letters)
        self.versions.append(query.version)
        return SimpleNamespace(outputMode=lambda mode: mode)


def binding(channels: dict[str, RecordingChannel], *outlets: Any, **topics: str) -> TopicBinding:
    """Return the binding of a streamlet with outlets to topics on channels, given as `topic=channel`."""
    resources = {
        id: SimpleNamespace(plan=TopicPlan(id, id, channel, True, (), (), {})) for id, channel in topics.items()
    }
    plan: Any = SimpleNamespace(ref="writer", outlets=outlets, dead_letters="letters", version="1.2")
    return TopicBinding(plan=plan, session=None, topics=resources, channels=channels, checkpoints=Path())  # type: ignore[arg-type]


def write(bound: TopicBinding, *outlets: str) -> Any:
    """Build a query that writes outlets."""
    parts: dict[str, Callable[[Any], Any]] = {name: lambda frame: frame for name in outlets}
    return bound.write(None, parts, query="q", output_mode="append")  # type: ignore[arg-type]


A = outlet("a", name="a", on_invalid="dead-letters")
B = outlet("b", name="b")


def test_a_query_cannot_write_to_two_channels() -> None:
    """The message has the channels and what to do. Each outlet alone can be written."""
    channels = {"delta": RecordingChannel(), "toy": RecordingChannel()}
    bound = binding(channels, A, B, a="toy", b="delta", letters="toy")
    with pytest.raises(StreamletError, match=r"`q` writes to topics on several channels \(delta, toy\)"):
        write(bound, "a", "b")
    write(bound, "a")
    write(bound, "b")
    assert channels["toy"].dead_letters == [bound.topics["letters"]]
    assert channels["toy"].versions == ["1.2"], "dead letters have the version of the plan"
    assert channels["delta"].dead_letters == [None], "the outlet `b` has no dead letters"


def test_dead_letters_are_on_the_channel_of_their_query() -> None:
    """Otherwise the query is refused when it is built, not when the first row breaks its contract."""
    bound = binding({"toy": RecordingChannel()}, A, a="toy", letters="delta")
    with pytest.raises(StreamletError, match=r"of `writer\.a` are on the channel `delta`.*`a` is on `toy`"):
        write(bound, "a")
