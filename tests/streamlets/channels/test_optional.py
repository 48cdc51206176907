"""The traits of a channel describe its abilities: they are compared with the methods of its classes."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from blueprint.catalog import ChannelTraits
from streamlets.channels.base import Channel, Position, Reader, TopicResource
from streamlets.channels.base.optional import optional_methods
from streamlets.channels.delta.channel import DeltaChannel
from streamlets.channels.delta.topic import DeltaTopic

DRUM = ChannelTraits(name="drum", loses_records=True)


def methods(traits: ChannelTraits, **more: Any) -> dict[str, Any]:
    """Return the body of a class of topics with the methods of `DRUM`, and further ones."""
    known = {
        "fails_on_loss": property(lambda topic: True),
        "lost": lambda topic, reader: (),
        "skipped": lambda topic, reader, until, records: (),
    }
    return {"traits": traits, **known, **more}


def test_each_optional_method_belongs_to_a_trait() -> None:
    """The trait of an optional method is a field of the traits of a channel, which is off by default."""
    traits = [trait for base in (Channel, TopicResource) for _, trait in optional_methods(base)]
    assert {*traits} < {field.name for field in fields(ChannelTraits)}
    assert not any(getattr(ChannelTraits(name="drum"), trait) for trait in traits)


def test_a_misspelt_method_is_an_error_of_its_class() -> None:
    """The class cannot be defined, so the module of the plug-in cannot be imported."""
    body = methods(DRUM)
    drum: Any = type("DrumTopic", (TopicResource,), dict(body))
    assert drum.traits is DRUM
    body["skiped"] = body.pop("skipped")
    with pytest.raises(TypeError, match="trait `loses_records`, but `DrumTopic` does not override `skipped`"):
        type("DrumTopic", (TopicResource,), body)


def test_a_method_without_its_trait_is_an_error_of_its_class() -> None:
    """Nothing would call the method."""
    with pytest.raises(TypeError, match="overrides `late_operator`, but the channel lacks the trait `late_records`"):
        type("DrumTopic", (TopicResource,), methods(DRUM, late_operator=lambda topic, inlet: "dedupe"))


def test_a_class_without_traits_leaves_its_methods_to_subclasses() -> None:
    """Several channels may share a class of topics; the traits of each are checked."""
    body = methods(DRUM)
    del body["traits"]
    shared = type("Shared", (TopicResource,), body)
    assert type("DrumTopic", (shared,), {"traits": DRUM})
    with pytest.raises(TypeError, match="overrides `fails_on_loss`"):
        type("PlainTopic", (shared,), {"traits": ChannelTraits(name="plain")})


def test_a_channel_without_a_trait_has_defaults() -> None:
    """Callers need not ask first: nothing is lost, late, invalid, unused or different."""
    topic: Any = DeltaTopic.__new__(DeltaTopic)
    channel: Any = DeltaChannel.__new__(DeltaChannel)
    reader, end = Reader("r", None), Position("{}")
    assert (topic.lost(reader), topic.skipped(reader, end, 0), topic.fails_on_loss) == ((), (), False)
    assert (topic.late_operator(None), topic.invalid_count(None, {}), topic.differences()) == (None, 0, ())
    assert topic.shown_with(None, print) is topic
    assert (channel.unused(()), channel.source_partitions(None), channel.forget_inlets("s")) == ((), 0, None)
