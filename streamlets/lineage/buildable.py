"""The streamlets of a plan as the check of logic takes them."""

from __future__ import annotations

from blueprint.diagnostics import Span
from blueprint.logic import Buildable, BuildableApplication
from blueprint.plan import ApplicationPlan


def buildable_application(plan: ApplicationPlan) -> BuildableApplication:
    """Return the application of a plan, whose streamlets can all be built."""
    place = Span(plan.blueprint, 1, 1, 1, 1)
    channels = {topic.id: topic.channel for topic in plan.topics}
    streamlets = tuple(Buildable(streamlet, place, channels=channels) for streamlet in plan.streamlets)
    return BuildableApplication(plan.name, plan.directory, streamlets, plan.settings)
