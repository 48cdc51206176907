"""The channels and topics of a plan, which its streamlets share wherever they run."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from blueprint.plan import ApplicationPlan, TopicPlan
from streamlets.channels.base import (
    Channel,
    TopicDamagedError,
    TopicLostError,
    TopicResource,
    TopicWriteError,
    UnknownConnectionError,
)
from streamlets.channels.dead_letters import dead_letter_contract
from streamlets.channels.registry import CHANNEL_TYPES, DEFAULT
from streamlets.channels.waiting import required_topics
from streamlets.runner.events.run_events import TopicDiffers
from streamlets.runner.state_directory.directory import StateDirectory

if TYPE_CHECKING:
    from blueprint.avro.model import Contract
    from blueprint.catalog import Connector


def channels_of(plan: ApplicationPlan, state: StateDirectory) -> dict[str, Channel]:
    """Return the channels that store the plan's topics, by name."""
    return {name: CHANNEL_TYPES[name].open(state.topics) for name in sorted({topic.channel for topic in plan.topics})}


def stored_channels(state: StateDirectory) -> dict[str, Channel]:
    """Return the channels of the application that last ran on a state directory, and the default one, by name.

    Channels that are not installed are not among them, see `topics_without_channel`.
    """
    names = {DEFAULT, *(channel for channel, _, _ in described_topics(state))}
    return {name: CHANNEL_TYPES[name].open(state.topics) for name in sorted(names) if name in CHANNEL_TYPES}


def topics_without_channel(state: StateDirectory) -> dict[str, tuple[str, ...]]:
    """Return the names of the topics that the application had when it last ran, by channel, of channels that are not
    installed. Whether they exist, and what is in them, is not known."""
    missing: dict[str, list[str]] = {}
    for channel, name, _ in sorted(described_topics(state)):
        missing.setdefault(channel, []).append(name)
    return {channel: tuple(names) for channel, names in missing.items() if channel not in CHANNEL_TYPES}


def stored_topics(state: StateDirectory, plans: Sequence[TopicPlan] = ()) -> tuple[TopicResource, ...]:
    """Return all topics of a state directory, including earlier versions, sorted by channel and name.

    Arguments:
        state: the state directory.
        plans: the topics of the current version. The settings of the others are those that their channel has stored,
            without secrets.
    """
    described = described_topics(state)
    planned = {(plan.channel, plan.name): plan for plan in plans}
    topics: list[TopicResource] = []
    for channel_name, channel in stored_channels(state).items():
        names = channel.topics()
        if names is None:
            names = tuple(sorted(name for of, name, _ in described if of == channel_name))
        ids = {name: id for of, name, id in described if of == channel_name}
        bare = {name: TopicPlan(ids.get(name, name), name, channel_name, False, (), (), {}) for name in names}
        for name, plan in bare.items():
            with suppress(UnknownConnectionError):  # the run ended before it stored the connection, so before it wrote
                topics.append(channel.topic(planned.get((channel_name, name), plan)))
    return tuple(topics)


def described_topics(state: StateDirectory) -> set[tuple[str, str, str]]:
    """Return the channels, names and ids of the topics of the version that last ran."""
    try:
        topics = json.loads(state.descriptor_file.read_text(encoding="utf-8"))["topics"]
        return {(topic.get("channel", DEFAULT), topic.get("name", id), id) for id, topic in topics.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # none has run, or its descriptor is damaged
        return set()


def make_topics(plan: ApplicationPlan, state: StateDirectory) -> Mapping[str, TopicResource]:
    """Create the topics of an application that do not exist yet, and return the resources of all by id.

    A topic that cannot be created does not stop the others. External topics that streamlets wait for need not exist.

    Raises:
        TopicLostError, TopicWriteError, TopicDamagedError, OSError: a topic cannot be created.
    """
    topics, failures = topics_of(plan, state), []
    for id, resource in required_topics(plan, topics).items():
        try:
            resource.create(contracts_of_writers(plan, id))
        except (TopicLostError, TopicWriteError, TopicDamagedError, OSError) as error:
            failures.append(error)
    if len(failures) > 1:
        raise TopicWriteError("; ".join(dict.fromkeys(map(str, failures)))) from failures[0]
    if failures:
        raise failures[0]
    return topics


def topics_of(plan: ApplicationPlan, state: StateDirectory) -> dict[str, TopicResource]:
    """Return the topics of an application by id; they need not exist."""
    channels = channels_of(plan, state)
    return {topic.id: channels[topic.channel].topic(topic) for topic in plan.topics}


def differences_of(topics: Iterable[TopicResource]) -> Iterator[TopicDiffers]:
    """Yield the differences between existing topics and the plan, with remedies.

    Raises:
        TopicLostError, OSError: a topic cannot be compared.
    """
    for topic in topics:
        for difference in topic.differences():
            help = difference.help or "`flow topics apply` alters the topic"
            yield TopicDiffers(
                time.time(), topic.plan.name, difference.setting, difference.planned, difference.existing, help
            )


def contracts_of_writers(plan: ApplicationPlan, topic: str) -> tuple[Contract, ...]:
    """Return the contracts of a topic's writers.

    Arguments:
        plan: the application.
        topic: the id of the topic.
    """
    written = [
        outlet.contract for streamlet in plan.streamlets for outlet in streamlet.outlets if outlet.topic == topic
    ]
    letters = [dead_letter_contract() for streamlet in plan.streamlets if streamlet.dead_letters == topic]
    return tuple({contract.fingerprint: contract for contract in (*written, *letters)}.values())


def connectors_of(plan: ApplicationPlan) -> tuple[Connector, ...]:
    """Return the connectors that Spark needs on its class path for the channels and sinks of an application."""
    traits = [CHANNEL_TYPES[name].traits for name in sorted({topic.channel for topic in plan.topics})]
    of_channels = [channel.connector for channel in traits if channel.connector is not None]
    of_streamlets = [connector for own in plan.streamlets for connector in own.descriptor.external.connectors]
    return tuple(dict.fromkeys((*of_channels, *of_streamlets)))
