"""`SpoutKind`: spouts run in the runner's process, their programs in processes of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from blueprint.plan import StreamletPlan
from streamlets.channels.base import TopicResource
from streamlets.ingress.spouts.generator_unit import GeneratorUnit
from streamlets.ingress.spouts.program_unit import ProgramUnit
from streamlets.ingress.spouts.streamlet import GeneratorSpout
from streamlets.project.loading import streamlet_of
from streamlets.project.modules import project_at
from streamlets.runner.events.record_events import RowsInState
from streamlets.runner.events.status import UnitId
from streamlets.runner.hosts import HostContext
from streamlets.runner.supervision.facts import Unit
from streamlets.runner.topics import channels_of


class SpoutKind:
    """Streamlets without inlets and without Spark."""

    def host(self, context: HostContext) -> SpoutHost:
        """Return the host of all spouts of a run."""
        return SpoutHost(context)


class SpoutHost:
    """The spouts of a run."""

    def __init__(self, context: HostContext) -> None:
        channels = channels_of(context.plan, context.state)
        topics = {topic.id: channels[topic.channel].topic(topic) for topic in context.plan.topics}
        self.units = tuple(_unit(plan, topics, context) for plan in context.plan.streamlets)

    def rows_in_state(self, rows: Mapping[UnitId, int | None]) -> Iterable[RowsInState]:
        """Return nothing: spouts have no state."""
        return ()

    def stop(self) -> None:
        """Do nothing: all units have ended, and what is left of a program ends with the runner."""


def _unit(plan: StreamletPlan, topics: Mapping[str, TopicResource], context: HostContext) -> Unit:
    if "cmd" in plan.parameters:
        return ProgramUnit(plan, topics, context)
    return GeneratorUnit(plan, topics, context, partial(_load, plan))


def _load(plan: StreamletPlan) -> GeneratorSpout:
    loaded = streamlet_of(plan, project_at(plan.directory))
    assert isinstance(loaded, GeneratorSpout)
    return loaded
