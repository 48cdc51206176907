"""The channels and topics of a plan, which its streamlets share wherever they run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from blueprint.plan import ApplicationPlan
from streamlets.channels.base import Channel, TopicResource
from streamlets.channels.dead_letters import dead_letter_contract
from streamlets.runner.state_directory.directory import StateDirectory

if TYPE_CHECKING:
    from blueprint.avro.model import Contract


def channels_of(plan: ApplicationPlan, state: StateDirectory) -> dict[str, Channel]:
    """Return the channels that store the plan's topics, by name."""
    from streamlets.channels.delta import DeltaChannel

    known: dict[str, Callable[[], Channel]] = {"delta": lambda: DeltaChannel(state.topics)}
    return {name: known[name]() for name in sorted({topic.channel for topic in plan.topics})}


def make_topics(plan: ApplicationPlan, state: StateDirectory) -> Mapping[str, TopicResource]:
    """Create the topics of an application that do not exist yet, and return the resources of all by id.

    Raises:
        TopicLostError, TopicWriteError, OSError: a topic cannot be created.
    """
    channels = channels_of(plan, state)
    topics = {topic.id: channels[topic.channel].topic(topic) for topic in plan.topics}
    for id, resource in topics.items():
        resource.create(_contracts(plan, id))
    return topics


def _contracts(plan: ApplicationPlan, topic: str) -> tuple[Contract, ...]:
    """Return the contracts of a topic's writers."""
    written = [
        outlet.contract for streamlet in plan.streamlets for outlet in streamlet.outlets if outlet.topic == topic
    ]
    letters = [dead_letter_contract() for streamlet in plan.streamlets if streamlet.dead_letters == topic]
    return tuple({contract.fingerprint: contract for contract in (*written, *letters)}.values())
