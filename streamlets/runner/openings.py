"""What streamlets require of their producers before they start, which end with their producers, and the cycles."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

from blueprint.plan import ApplicationPlan, InletPlan
from streamlets.runner.supervision.dependencies import Dependencies
from streamlets.runner.supervision.gate import Opening


def dependencies_of(plan: ApplicationPlan) -> Dependencies:
    """Return the requirements of an application's streamlets on each other, at their start and at their end."""
    producers = {streamlet.ref: plan.producers_of(streamlet.ref) for streamlet in plan.streamlets}
    return Dependencies(producers, openings_of(plan), ending_in(plan), cycles_of(plan), outlets_of(plan))


def cycles_of(plan: ApplicationPlan) -> tuple[Mapping[str, frozenset[str]], ...]:
    """Return the cycles of an application: the streamlets of each, with the outlets that lead to one of them."""
    readers: dict[str, set[str]] = defaultdict(set)
    for streamlet in plan.streamlets:
        for inlet in streamlet.inlets:
            readers[inlet.topic].add(streamlet.ref)
    edges = {
        streamlet.ref: {reader for outlet in streamlet.outlets for reader in readers[outlet.topic]}
        for streamlet in plan.streamlets
    }
    return tuple(
        {
            streamlet.ref: frozenset(outlet.name for outlet in streamlet.outlets if readers[outlet.topic] & members)
            for streamlet in plan.streamlets
            if streamlet.ref in members
        }
        for members in _cyclic(edges)
    )


def _cyclic(edges: Mapping[str, set[str]]) -> list[set[str]]:
    """Return the strongly connected components of a graph that have a cycle."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError:
        import networkx as nx  # slow to import, and only needed for a blueprint with a cycle

        graph = nx.DiGraph((source, target) for source, targets in edges.items() for target in targets)
        components = map(set, nx.strongly_connected_components(graph))
        return [nodes for nodes in components if len(nodes) > 1 or graph.has_edge(*(2 * list(nodes)))]
    return []


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


def outlets_of(plan: ApplicationPlan) -> Mapping[str, Mapping[str, float]]:
    """Return the topics whose channels each streamlet waits for before it starts, with the limit of each in seconds."""
    return {
        streamlet.ref: {
            outlet.topic: outlet.open_timeout.seconds
            for outlet in streamlet.outlets
            if outlet.open_timeout.nanoseconds > 0
        }
        for streamlet in plan.streamlets
    }


def ending_in(plan: ApplicationPlan) -> frozenset[str]:
    """Return the streamlets that end when their producers have ended.

    A streamlet with an inlet whose topic has other writers than streamlets of the application, or none, goes on: when
    those end is not known.
    """
    return frozenset(
        streamlet.ref
        for streamlet in plan.streamlets
        if streamlet.settings.ends_with_producers
        and (streamlet.inlets or streamlet.tasks)
        and all(_has_known_writers(plan, inlet) for inlet in streamlet.inlets)
    )


def _has_known_writers(plan: ApplicationPlan, inlet: InletPlan) -> bool:
    return plan.topic(inlet.topic).managed and bool(plan.writers_of(inlet.topic) - {inlet.streamlet})
