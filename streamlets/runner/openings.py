"""What the inlets of an application require of their producers before their streamlets start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from blueprint.plan import ApplicationPlan, InletPlan
from streamlets.runner.supervision.gate import Opening


def openings_of(plan: ApplicationPlan) -> Mapping[str, tuple[Opening, ...]]:
    """Return the requirements of each streamlet's inlets, by the name of the streamlet.

    Only the streamlets of the application count as producers: whether others write a topic is not known.
    """
    return {
        streamlet.ref: tuple(opening for inlet in streamlet.inlets for opening in _openings(plan, inlet))
        for streamlet in plan.streamlets
    }


def _openings(plan: ApplicationPlan, inlet: InletPlan) -> Iterator[Opening]:
    producers, settings = plan.writers_of(inlet.topic) - {inlet.streamlet}, inlet.settings
    limited = settings.open_timeout.nanoseconds > 0
    if producers and (settings.sequential or settings.sync_open or limited):
        yield Opening(
            producers=producers,
            opened=len(producers) if settings.sync_open else int(limited),
            within=settings.open_timeout.seconds if limited else None,
            sequential=settings.sequential,
        )
