"""Positions in the form of Spark's Kafka source."""

from __future__ import annotations

import pytest

from streamlets.channels.base import Position
from streamlets.channels.kafka.offsets import Offsets


def test_offsets_have_the_form_of_spark() -> None:
    """They are a JSON object of topics and partitions, and read again as they were."""
    offsets = Offsets("readings", {1: 7, 0: 5})
    assert offsets.to_position() == Position('{"readings": {"0": 5, "1": 7}}')
    assert Offsets.from_position(offsets.to_position()) == offsets


@pytest.mark.parametrize(
    "text",
    ["", "7", "[]", "{}", '{"a": {}, "b": {}}', '{"topic": "x", "tables": {}}', '{"a": {"0": "1"}}', '{"a": {"x": 1}}'],
)
def test_other_documents_are_refused(text: str) -> None:
    """Positions of other channels, and of sources with several topics, are not offsets."""
    with pytest.raises(ValueError):
        Offsets.from_position(Position(text))
