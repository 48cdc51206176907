"""What `flow verify --plans` asks about the logic of streamlets, as plain data. `streamlets.plans` answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from blueprint.comparison.descriptor import Queries
from blueprint.diagnostics import Diagnostic, Span
from blueprint.plan import Isolation, StreamletPlan


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
class BuiltLogic:
    """What came of building: findings in any order, and the queries there are."""

    findings: tuple[Diagnostic, ...] = ()
    queries: Queries = field(default_factory=dict)


class LogicCheck(Protocol):
    """Builds the logic of streamlets and tells what is wrong with it. `streamlets.plans` has one."""

    def __call__(self, application: BuildableApplication) -> BuiltLogic:
        """Never raises for what a user's code does."""
