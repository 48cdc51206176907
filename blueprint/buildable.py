"""What can be built of an application's logic, also when verification found errors in other parts of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from blueprint.catalog import ChannelTraits
from blueprint.diagnostics import Diagnostic, Severity, Span
from blueprint.parameters import ParameterError, parameter_values
from blueprint.plan import Isolation, StreamletPlan
from blueprint.planning import streamlet_plan, topics_of
from blueprint.resolved import isolation, spark_places, spark_settings
from blueprint.rules.draft import Draft

if TYPE_CHECKING:
    from blueprint.comparison.descriptor import DescribedQuery


@dataclass(frozen=True, slots=True)
class Buildable:
    """A streamlet whose class, schemas and parameters hold, whatever else is wrong with the application.

    Arguments:
        plan: its settings; the topic of a port that is bound to none is "".
        place: where the blueprint names it.
        slow_topics: its topics on channels that have no real time, with the channel's name, by topic id.
        spark_places: where each of its Spark settings stands, by full name.
        state: whether to find the columns that its queries keep in state, for which Spark runs a batch without rows.
    """

    plan: StreamletPlan
    place: Span
    slow_topics: Mapping[str, str] = field(default_factory=dict)
    spark_places: Mapping[str, Span] = field(default_factory=dict)
    state: bool = False


@dataclass(frozen=True, slots=True)
class BuildableApplication:
    """All that can be built.

    Arguments:
        name: the application's; folder: where its modules are imported from, absolute.
        streamlets: in the order of the blueprint.
        spark: Spark settings of the whole application.
        isolation: whether streamlets share the process that such settings are for.
    """

    name: str
    folder: str
    streamlets: tuple[Buildable, ...]
    spark: Mapping[str, str]
    isolation: Isolation = "none"


@dataclass(frozen=True, slots=True)
class BuiltQuery:
    """A query that logic gave: what a description says of it, and where the author asks for it."""

    described: DescribedQuery
    place: Span | None = None


Queries = Mapping[str, Mapping[str, BuiltQuery]]
"""Queries by streamlet and name, of those streamlets whose logic could be built."""


@dataclass(frozen=True, slots=True)
class BuiltLogic:
    """What came of building: findings in any order, and the queries there are."""

    findings: tuple[Diagnostic, ...] = ()
    queries: Queries = field(default_factory=dict)


class LogicCheck(Protocol):
    """Builds the logic of streamlets and tells what is wrong with it. `streamlets.plans` has one."""

    def __call__(self, application: BuildableApplication) -> BuiltLogic:
        """Never raises for what a user's code does."""


def buildable(draft: Draft, *, state: bool = False) -> BuildableApplication:
    """The streamlets of a draft that no finding of another rule already explains the failure of.

    Arguments:
        state: as in `Buildable`.
    """
    folder = Path(draft.blueprint.folder).resolve()
    topics = defaultdict(str, topics_of(draft))
    return BuildableApplication(
        name=folder.name or "application",
        folder=str(folder),
        streamlets=tuple(
            Buildable(
                streamlet_plan(draft, ref, topics, None, folder),
                entry.key,
                _slow_topics(draft, ref),
                spark_places(draft.settings, ref),
                state,
            )
            for ref, entry in draft.blueprint.streamlets.items()
            if _holds(draft, ref)
        ),
        spark=spark_settings(draft.settings),
        isolation=isolation(draft.settings),
    )


def _holds(draft: Draft, ref: str) -> bool:
    descriptor = draft.descriptor(ref)
    if descriptor is None or descriptor.parameter_problems or _refused(descriptor.problems):
        return False
    ports = (*descriptor.inlets, *descriptor.outlets)
    if len({port.name for port in ports}) < len(ports):
        return False
    if any(port.contract is None or _refused(port.problems) for port in ports):
        return False
    try:
        values = parameter_values(descriptor.parameters, draft.given(ref, "parameters"))
    except ParameterError:
        return False
    return {parameter.key for parameter in descriptor.parameters if not parameter.optional} <= set(values)


def _refused(problems: Iterable[Diagnostic]) -> bool:
    return any(problem.severity is Severity.ERROR for problem in problems)


def _slow_topics(draft: Draft, ref: str) -> dict[str, str]:
    found = {}
    for binding in draft.wiring.bindings:
        facts = draft.topics.get(binding.topic)
        traits: ChannelTraits | None = draft.channels.get(facts.channel) if facts is not None else None
        if binding.key.streamlet == ref and traits is not None and not traits.real_time:
            found[binding.topic] = traits.name
    return found
