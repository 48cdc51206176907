"""The suite for channels of others has the tests that fit a channel, and finds what only its traits promise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from streamlets.channels.base import Channel, Position, TopicResource
from streamlets.channels.base.optional import optional_methods
from streamlets.channels.channel_type import ChannelType
from streamlets.channels.delta.channel import DeltaChannel
from streamlets.channels.delta.topic import DeltaTopic
from streamlets.channels.registry import CHANNEL_TYPES
from streamlets.override import override
from streamlets.testkit.channels import ChannelBench, ChannelSuite
from streamlets.testkit.channels.fitting import needed_traits

METHODS = {**dict(optional_methods(Channel)), **dict(optional_methods(TopicResource))}
TRAITS = sorted({*METHODS.values()})


def suite_tests(suite: type, trait: str = "", *, spark: bool = True) -> list[str]:
    """Return the tests of a suite, those of a trait only or with Spark only if so requested."""
    names = [name for name, needed in needed_traits(suite) if needed == trait] if trait else dir(suite)
    tests = [name for name in names if name.startswith("test_") and callable(getattr(suite, name))]
    return tests if spark else [name for name in tests if not getattr(getattr(suite, name), "pytestmark", [])]


def test_each_trait_with_methods_has_a_test() -> None:
    """Also a trait that is added later."""
    assert [trait for trait in TRAITS if not suite_tests(ChannelSuite, trait)] == []


def test_a_suite_has_the_tests_that_fit_its_channel() -> None:
    """The default channel has some traits only. A subclass of its suite has the same tests."""

    class Suite(ChannelSuite):
        channel = CHANNEL_TYPES["delta"]

    class Derived(Suite):
        pass

    own = {trait for trait in TRAITS if getattr(Suite.channel.traits, trait)}
    assert own
    for suite in (Suite, Derived):
        missing = {*suite_tests(ChannelSuite)} - {*suite_tests(suite)}
        assert missing == {name for name, trait in needed_traits(ChannelSuite) if trait not in own}


def doing_nothing(name: str) -> Any:
    """Return an override of an optional method that does what the default does."""
    default = getattr(Channel, name, None) or getattr(TopicResource, name)
    if isinstance(default, property):
        return property(lambda _: False)

    @wraps(default)
    def method(self: Any, *arguments: Any, **named: Any) -> Any:
        return default(self, *arguments, **named)

    del vars(method)["_channel_trait"]
    return method


def claiming(trait: str) -> ChannelType:
    """Return the default channel with a trait whose methods do nothing."""
    claimed: dict[str, Any] = {trait: True}
    traits = replace(CHANNEL_TYPES["delta"].traits, **claimed)

    def body(base: type) -> dict[str, Any]:
        own = {name for name, needed in optional_methods(base) if needed == trait}
        return {"traits": traits, **{name: doing_nothing(name) for name in own}}

    topics: Callable[..., TopicResource] = type("ClaimingTopic", (DeltaTopic,), body(TopicResource))

    def topic(self: Any, plan: Any) -> TopicResource:
        return topics(self.root, plan, self.clock, self._timer)

    channels: Callable[..., Channel] = type("Claiming", (DeltaChannel,), {**body(Channel), "topic": topic})
    methods = {"traits": traits, "open": lambda _, directory: channels(directory)}
    kind: ChannelType = type("ClaimingType", (ChannelType,), methods)()
    return kind


class DoingNothing(ChannelBench):
    """A bench whose methods for traits do nothing either, so that only the topic can fail."""

    late_options: Mapping[str, object] = {}
    altered: Mapping[str, object] = {}

    @override
    def add_invalid(self, topic: TopicResource) -> None:
        pass

    @override
    def lose(self, topic: TopicResource, until: Position) -> None:
        pass

    @override
    def shown_progress(self, topic: TopicResource, group: str) -> Position:
        return Position("{}")


@pytest.mark.parametrize("trait", [trait for trait in TRAITS if trait != "real_time"])
def test_a_trait_without_its_methods_fails(trait: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """The methods exist, or the class could not be defined, and do nothing: each test without Spark finds it. Real-time
    mode is tested with Spark only."""
    tests = suite_tests(ChannelSuite, trait, spark=False)
    assert tests
    for name in tests:
        bench = DoingNothing(claiming(trait), tmp_path / name, request)
        with pytest.raises(Exception):  # noqa: B017 - an assertion, or what reads the result
            getattr(ChannelSuite(), name)(bench)


def test_a_test_asks_for_what_only_the_storage_can_do(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """The error names the trait and the method to override."""
    bench = ChannelBench(claiming("loses_records"), tmp_path, request)
    with pytest.raises(NotImplementedError, match="`delta` has the trait `loses_records`: override `lose` in its"):
        ChannelSuite().test_lost_records_are_reported(bench)
