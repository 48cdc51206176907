"""The interfaces of `flow verify --plans` to the logic of streamlets, and of `--sample` to the data of sources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from blueprint.core_settings import ApplicationSettings
from blueprint.diagnostics import Diagnostic, Severity, Span
from blueprint.plan import StreamletPlan

if TYPE_CHECKING:  # descriptors are compared by a few commands only
    from blueprint.comparison.descriptor import Queries


@dataclass(frozen=True, slots=True)
class Buildable:
    """A streamlet with a valid class, schemas and parameters, whatever else is wrong with the application.

    Arguments:
        plan: its plan. The topic of a port that is not connected is "".
        place: the place of its name in the blueprint.
        slow_topics: the channel of each of its topics on a channel without real-time support, by topic id.
        channels: the channel of each of its topics, by topic id.
        spark_places: the places of its Spark settings, by full name.
        state: whether to determine the state columns of its queries, for which Spark runs a batch without rows.
    """

    plan: StreamletPlan
    place: Span
    slow_topics: Mapping[str, str] = field(default_factory=dict)
    channels: Mapping[str, str] = field(default_factory=dict)
    spark_places: Mapping[str, Span] = field(default_factory=dict)
    state: bool = False


@dataclass(frozen=True, slots=True)
class BuildableApplication:
    """The part of an application whose logic can be built.

    Arguments:
        name: the name of the application.
        directory: the absolute directory from which its modules are imported.
        streamlets: its streamlets in the order of the blueprint.
        settings: the settings of the application.
    """

    name: str
    directory: str
    streamlets: tuple[Buildable, ...]
    settings: ApplicationSettings


@dataclass(frozen=True, slots=True)
class BuiltLogic:
    """The result of building logic.

    Arguments:
        findings: the findings, in any order.
        queries: the queries by streamlet and name.
        without: the number of streamlets that have no logic, because their kind does not run on Spark.
    """

    findings: tuple[Diagnostic, ...] = ()
    queries: Queries = field(default_factory=dict)
    without: int = 0


@dataclass(frozen=True, slots=True)
class SampleProblem:
    """A part of a schema that does not fit a sample of the data that a source reads.

    Arguments:
        code: the code of the finding.
        streamlet: the source.
        headline: the problem, in one sentence.
        place: the place of the field in the schema; None for the place of the source's settings.
        causes: an example.
        help: what to do.
        severity: the severity; None for the one of the code.
    """

    code: str
    streamlet: str
    headline: str
    place: Span | None = None
    causes: tuple[str, ...] = ()
    help: tuple[str, ...] = ()
    severity: Severity | None = None


class SampleCheck(Protocol):
    """Compares the schemas of sources with samples of their data. `streamlets.sampling` implements it."""

    def __call__(self, application: BuildableApplication) -> Iterable[SampleProblem]:
        """Return the problems of the sources of an application."""


class LogicCheck(Protocol):
    """Builds the logic of streamlets and reports findings about it. `streamlets.plans` implements it."""

    def __call__(self, application: BuildableApplication) -> BuiltLogic:
        """Build the logic of an application. Exceptions of the user's code become findings."""
