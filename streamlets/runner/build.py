"""From a plan to units: topics made, a site for each streamlet, and a unit for each site."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from blueprint.plan import ApplicationPlan
from streamlets.channels.base import Channel, TopicResource
from streamlets.channels.dead_letters import dead_letter_contract
from streamlets.runner.events.model import CheckpointMended, UnitId
from streamlets.runner.spark.host import SparkHost
from streamlets.runner.spark.listening import Listening
from streamlets.runner.spark.site import Site
from streamlets.runner.spark.units import Log, StreamletUnit
from streamlets.runner.state_folder.folder import StateFolder
from streamlets.runner.supervision.facts import Fact, Seen
from streamlets.runner.supervision.workers import Workers

if TYPE_CHECKING:
    from blueprint.avro.model import Contract

# Builds and starts at one time; more would only queue up in the JVM.
_WORKERS = 4


@dataclass(frozen=True, slots=True)
class Application:
    """What a run supervises, and the topics it owns."""

    units: tuple[StreamletUnit, ...]
    topics: Mapping[str, TopicResource]
    producers: Mapping[str, tuple[str, ...]]
    sites: Mapping[str, Site]

    def output_mode(self, unit: UnitId) -> str:
        """The output mode of a unit's query; empty when it has not started or is the author's own."""
        return self.sites[unit.streamlet].output_modes.get(unit.query, "")


def channels_of(plan: ApplicationPlan, state: StateFolder) -> dict[str, Channel]:
    """The channels that the plan's topics lie on, by name."""
    from streamlets.channels.delta import DeltaChannel

    known: dict[str, Callable[[], Channel]] = {"delta": lambda: DeltaChannel(state.topics)}
    return {name: known[name]() for name in sorted({topic.channel for topic in plan.topics})}


def launch(
    plan: ApplicationPlan,
    state: StateFolder,
    *,
    host: SparkHost,
    bounded: bool,
    report: Callable[[Fact], None],
    log: Log,
) -> Application:
    """Make the topics and the units; nothing runs yet.

    Arguments:
        bounded: whether everything works off what there is and ends.
        report: takes the units' facts, from any thread.
        log: takes the full text of each failure.

    Raises:
        TopicLostError, TopicWriteError, OSError: a topic cannot be made.
    """
    channels = channels_of(plan, state)
    topics = {topic.id: channels[topic.channel].topic(topic) for topic in plan.topics}
    for id, resource in topics.items():
        resource.create(_contracts(plan, id))
    listening, workers = Listening(), Workers(_WORKERS)
    units, sites = [], {}
    for streamlet in plan.streamlets:
        site = Site(
            plan.name,
            plan.folder,
            streamlet,
            host=host,
            topics=topics,
            channels=channels,
            checkpoints=state.checkpoints,
            listening=listening,
            bounded=bounded,
            told=_teller(streamlet.ref, report),
        )
        sites[streamlet.ref] = site
        units.append(StreamletUnit(UnitId(streamlet.ref, ""), site, streamlet.retry, workers, report, log))
    producers = {streamlet.ref: plan.producers_of(streamlet.ref) for streamlet in plan.streamlets}
    return Application(tuple(units), topics, producers, sites)


def _teller(ref: str, report: Callable[[Fact], None]) -> Callable[[str, str], None]:
    return lambda query, what: report(Seen(CheckpointMended(time.time(), UnitId(ref, query), what)))


def _contracts(plan: ApplicationPlan, topic: str) -> tuple[Contract, ...]:
    """The contracts of a topic's writers."""
    written = [
        outlet.contract for streamlet in plan.streamlets for outlet in streamlet.outlets if outlet.topic == topic
    ]
    letters = [dead_letter_contract() for streamlet in plan.streamlets if streamlet.dead_letters == topic]
    return tuple({contract.fingerprint: contract for contract in (*written, *letters)}.values())
