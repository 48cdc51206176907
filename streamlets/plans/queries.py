"""Checks of a query that was built: sink, output mode, operators, state, and real-time mode."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from blueprint.catalog import InletSettings, TopicProblem
from blueprint.diagnostics import Diagnostic, Label, finding
from blueprint.logic import Buildable
from blueprint.plan import InletPlan
from blueprint.trigger import RealTime, Trigger
from streamlets.api.source_location import SourceLocation
from streamlets.channels.kafka.deduplication import TIME
from streamlets.channels.registry import CHANNEL_TYPES
from streamlets.plans import syntax
from streamlets.plans.build_errors import spark_message
from streamlets.plans.frame_origins import earliest_ancestor, origin
from streamlets.plans.places import Places, span_of
from streamlets.plans.real_time import DEDUPLICATION, unsupported_operators, unsupported_sink, unsupported_sources
from streamlets.plans.state import Unbounded, has_operator, unbounded
from streamlets.spark.plan_tree import PlanNode, lists, plan_tree
from streamlets.spark.stream_writer import NOT_CONTINUOUS, WriterFacts, facts, rows_of
from streamlets.triggers import trigger_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_SESSION_WINDOW = re.compile(r"session_window#\d+(-T\d+ms)?")
_MODES = ("append", "update", "complete")


@dataclass(frozen=True)
class CheckedQuery:
    """A query as it would be started; properties that Spark computes are cached.

    Arguments:
        name: its name within the streamlet; "" if the author starts it without a name.
        writer: its writer.
        own_sink: whether it writes to a sink of the author.
        trigger: the trigger in the author's code.
        place: the location of the author's call.
    """

    name: str
    writer: DataStreamWriter
    own_sink: bool
    trigger: Trigger | None
    place: SourceLocation | None

    @property
    def description(self) -> str:
        """Its description for findings."""
        return f"the query `{self.name}`" if self.name else "the query"

    @cached_property
    def facts(self) -> WriterFacts:
        """The properties of its writer."""
        return facts(self.writer)

    @cached_property
    def plan(self) -> PlanNode:
        """The analyzed plan."""
        return plan_tree(rows_of(self.writer))


def query_findings(
    query: CheckedQuery, streamlet: Buildable, inlets: Iterable[InletPlan], directory: str, places: Places
) -> Iterator[Diagnostic]:
    """Yield the findings of a query; if Spark rejects its plan, there is no further finding of the plan.

    Arguments:
        inlets: the inlets that the query reads.
        directory: the parent directory of the empty streams of all inlets.
    """
    facts, rows = query.facts, rows_of(query.writer)
    place = query.place
    if query.own_sink and facts.lacks_sink:
        yield finding(
            "query-without-sink",
            f"{query.description} has no sink",
            span_of(place),
            help=('set a sink, such as `.format("console")` or `.foreachBatch(...)`; file formats also need a `path`',),
        )
    if facts.continuous:
        yield finding(
            "continuous-trigger",
            f"{query.description} has a continuous trigger, which is not supported",
            span_of(place),
            causes=("Spark's continuous processing supports neither state nor graceful shutdown",),
            help=(NOT_CONTINUOUS,),
        )
    if facts.mode not in _MODES:
        return
    reason = _rejection(rows, facts.mode)
    if reason:
        yield _rejected(query, rows, facts.mode, reason, places)
        return
    if any(_groups_by_session_only(node) for node in query.plan.all()):
        frame = earliest_ancestor(rows, lambda frame: any(map(_groups_by_session_only, plan_tree(frame).all())))
        yield finding(
            "unsupported-operator",
            "Spark rejects this streaming query: session windows require another grouping column",
            span_of(_origin_place(frame, places) or place),
            help=("group by the window and another column",),
        )
        return
    for operator in unbounded(query.plan, facts.mode):
        yield _unbounded_state(operator, rows, facts.mode, place, places)
    yield from _real_time(query, rows, streamlet, inlets, directory)


def _rejection(rows: DataFrame, mode: str) -> str:
    """Return why Spark would not start a query of these rows in this mode; "" if it would start it."""
    from pyspark.errors import AnalysisException

    checker, modes = _checker(rows.sparkSession._jvm)  # noqa: SLF001 - Spark checks it only when a query starts
    try:
        checker.checkForStreaming(rows._jdf.queryExecution().analyzed(), modes[mode])  # noqa: SLF001
    except AnalysisException as error:
        operation = (error.getMessageParameters() or {}).get("operation")
        return f"Spark does not support output mode `{mode}` for {operation}" if operation else spark_message(error)
    return ""


@cache
def _checker(jvm: Any) -> tuple[Any, dict[str, Any]]:
    """Return Spark's checker of queries and its output modes, cached because each part of a Java name is a JVM call."""
    modes = jvm.org.apache.spark.sql.streaming.OutputMode
    checker = jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
    return checker, {"append": modes.Append(), "update": modes.Update(), "complete": modes.Complete()}


def _groups_by_session_only(node: PlanNode) -> bool:
    """Return whether a node groups by session windows only, which Spark rejects when it plans the first batch."""
    keys = lists(node.rest) if node.name == "Aggregate" and node.streaming else []
    return len(keys) > 1 and _SESSION_WINDOW.fullmatch(keys[0]) is not None


def _rejected(query: CheckedQuery, rows: DataFrame, mode: str, reason: str, places: Places) -> Diagnostic:
    operator = _origin_place(earliest_ancestor(rows, lambda frame: bool(_rejection(frame, mode))), places)
    place = query.place
    others = [other for other in _MODES if other != mode and not _rejection(rows, other)]
    if others:
        at = (place and syntax.mention(mode, place)) or place
        help = ["use " + " or ".join(f'`output_mode="{other}"`' for other in others)]
        if "without watermark" in reason:
            help.insert(0, _watermark_help(rows))
        also = [Label(operator.span, "the reason is here")] if operator and operator != at else []
        headline = f"{query.description} cannot be written in output mode `{mode}`"
        return finding("output-mode", headline, span_of(at), also=also, causes=(reason,), help=help)
    first, _, rest = reason.partition(". ")
    elsewhere = operator is not None and place is not None and operator.line != place.line
    also = [Label(place.span, f"in {query.description}")] if place and elsewhere else []
    at = operator or place
    return finding("unsupported-operator", f"Spark rejects this streaming query: {first}", span_of(at), also=also,
                   causes=(rest,) if rest else (), help=_alternative(reason))  # fmt: skip


def _watermark_help(rows: DataFrame) -> str:
    """Return how a group gets a watermark. A query has one, so that rows with one do not get another."""
    plan = rows._jdf.queryExecution().analyzed().toString()  # noqa: SLF001 - no public way
    columns = list(dict.fromkeys(_WATERMARK.findall(plan)))
    if TIME in columns:
        return "set `deduplicate.watermark` of the inlet to the column of the window, whose watermark it is then"
    if columns:
        listed = " or ".join(f"`{column}`" for column in columns)
        return f"group by {listed}, which has the watermark of the query, or by a window of it"
    return "group by a time with a watermark, or by a window of it: add `.withWatermark(...)` before"


_WATERMARK = re.compile(r"EventTimeWatermark (?:[0-9a-f-]{36}, )?(\w+)#")


def _alternative(reason: str) -> tuple[str, ...]:
    """Return the alternatives to common operations that Spark rejects."""
    for part, help in _ALTERNATIVES.items():
        if part in reason:
            return (help,)
    return ()


_ALTERNATIVES = {
    "Redefining watermark": "remove `.withWatermark(...)`: the rows have the watermark of the inlet's "
    "`deduplicate.watermark`; set that to the column of the window",
    "Sorting is not supported": "sort the records where they are read, or sort each batch in `foreachBatch`",
    "outer join": "give both sides a watermark, and join on the watermarked times or on a range of them",
    "Outer join": "give both sides a watermark, and join on the watermarked times or on a range of them",
    "dropDuplicatesWithinWatermark": "add `.withWatermark(...)` on a timestamp column before it",
    "Window function is not supported": "group by `F.window(...)` of a time, or rank each batch in `foreachBatch`",
    "Distinct aggregations": "use `F.approx_count_distinct`, or drop duplicates before the aggregation",
}


def _unbounded_state(
    operator: Unbounded, rows: DataFrame, mode: str, place: SourceLocation | None, places: Places
) -> Diagnostic:
    frame = earliest_ancestor(rows, lambda frame: has_operator(frame, mode, operator))
    return finding(
        "unbounded-state",
        f"the state of {operator.what} grows without bound",
        span_of(_origin_place(frame, places) or place),
        causes=(operator.why,),
        help=(operator.remedy,),
    )


def _origin_place(frame: DataFrame, places: Places) -> SourceLocation | None:
    created = origin(frame)
    return places.own(created.place) if created is not None else None


def _real_time(
    query: CheckedQuery, rows: DataFrame, streamlet: Buildable, inlets: Iterable[InletPlan], directory: str
) -> Iterator[Diagnostic]:
    plan, place, mode = streamlet.plan, query.place, query.facts.mode
    setting = trigger_of(plan, query.name, None)
    if not isinstance(trigger_of(plan, query.name, query.trigger), RealTime):
        return
    trigger = (place and syntax.argument(place, 3, "trigger")) or place
    if streamlet.slow_topics:
        if setting is None:  # verification reports a trigger in the settings itself
            id, channel = next(iter(streamlet.slow_topics.items()))
            yield finding(
                "real-time-channel",
                f"{query.description} has a real-time trigger, but the channel of its topic `{id}` does not support it",
                span_of(trigger),
                causes=(f"the channel of `{id}` is `{channel}`",),
                help=('use `processing_time("0 seconds")` for batches without a pause',),
            )
        return
    problems = [problem for inlet in inlets
                for problem in _real_time_problems(inlet, streamlet.channels.get(inlet.topic, ""))]  # fmt: skip
    if not isinstance(
        plan.settings.trigger, RealTime
    ):  # verification reports what does not fit the trigger of a streamlet
        for problem in problems:
            yield finding(problem.code, problem.message, span_of(trigger), causes=problem.causes, help=problem.help)
    unsupported = [f"the source `{source}`" for source in unsupported_sources(query.plan, directory)]
    # The deduplication of an inlet has a finding of its own.
    unsupported += (part for part in unsupported_operators(rows) or () if part != DEDUPLICATION or not problems)
    unsupported += filter(None, (unsupported_sink(query.facts) if query.own_sink else "",))
    causes = [f"real-time mode does not support {part}" for part in unsupported]
    if mode != "update":
        causes.append(f"real-time mode supports only output mode `update`, and the query has `{mode}`")
    causes += [
        f"the inlet `{inlet.name}` has dead letters, and Spark does not report in real-time mode what a query omits"
        for inlet in plan.inlets
        if inlet.on_invalid == "dead-letters"
    ]
    if plan.settings.replicas is not None and setting is None:  # verification reports a trigger in the settings
        causes.append("the streamlet has `replicas`, and in real-time mode each partition has a task of its own")
    if causes:
        yield finding(
            "real-time-plan",
            f"{query.description} cannot run in real time",
            span_of(place),
            causes=causes,
            help=("use a `processing-time` trigger, or remove what real-time mode does not support",),
        )


def _real_time_problems(inlet: InletPlan, channel: str) -> list[TopicProblem]:
    """Return the problems of an inlet's settings that it has only because of a real-time trigger.

    Arguments:
        channel: the channel of its topic; one that is not known has no problems.
    """
    if channel not in CHANNEL_TYPES:
        return []
    inlet_problems = CHANNEL_TYPES[channel].traits.inlet_problems
    settings = InletSettings(inlet.streamlet, inlet.name, inlet.options, inlet.contract, {})
    known = tuple(inlet_problems(settings))
    return [problem for problem in inlet_problems(replace(settings, real_time=True)) if problem not in known]
