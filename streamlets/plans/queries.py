"""Checks of a query that was built: output mode, operators, state, real time, and whether it goes anywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from blueprint.diagnostics import Diagnostic, Label, finding
from blueprint.logic import Buildable
from blueprint.plan import RealTime, Trigger
from streamlets.api.declared import Declared
from streamlets.plans import pinpoint
from streamlets.plans.lineage import first_with, made
from streamlets.plans.places import Places, span_of
from streamlets.plans.raised import message_of
from streamlets.plans.real_time import refused_operators
from streamlets.plans.state import Unbounded, holds, unbounded
from streamlets.spark.plan_tree import PlanNode, lists, plan_tree
from streamlets.spark.stream_writer import WriterFacts, facts, rows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_SESSION_WINDOW = re.compile(r"session_window#\d+(-T\d+ms)?")
_MODES = ("append", "update", "complete")


@dataclass(frozen=True)
class CheckedQuery:
    """A query as it would be started; what Spark knows of it is asked once.

    Arguments:
        name: within the streamlet; "" for one that the author starts without a name.
        own_sink: whether it goes to a sink of the author's.
        trigger: the author's wish.
        place: where the author asked for it.
    """

    name: str
    writer: DataStreamWriter
    own_sink: bool
    trigger: Trigger | None
    place: Declared | None

    @property
    def called(self) -> str:
        """How findings speak of it."""
        return f"the query `{self.name}`" if self.name else "the query"

    @cached_property
    def told(self) -> WriterFacts:
        """What its writer has been told."""
        return facts(self.writer)

    @cached_property
    def plan(self) -> PlanNode:
        """Its analyzed plan."""
        return plan_tree(rows_of(self.writer))


def query_findings(query: CheckedQuery, streamlet: Buildable, places: Places) -> Iterator[Diagnostic]:
    """What is wrong with a query; when Spark refuses its plan, nothing more is said of the plan."""
    told, rows = query.told, rows_of(query.writer)
    place = query.place
    if query.own_sink and told.lacks_sink:
        yield finding(
            "query-without-sink",
            f"{query.called} does not say where its rows go",
            span_of(place),
            help=('name a sink, such as `.format("console")` or `.foreachBatch(...)`; files need a `path`, too',),
        )
    if told.mode not in _MODES:
        return
    refusal = _refusal(rows, told.mode)
    if refusal:
        yield _refused(query, rows, told.mode, refusal, places)
        return
    if any(_lonely_session(node) for node in query.plan.all()):
        alone = _made_at(first_with(rows, lambda frame: any(map(_lonely_session, plan_tree(frame).all()))), places)
        yield finding(
            "unsupported-operator",
            "Spark refuses this in a stream: session windows without another column to group by",
            span_of(alone or place),
            help=("group by a column beside the window",),
        )
        return
    for found in unbounded(query.plan, told.mode):
        yield _grows(found, rows, told.mode, place, places)
    yield from _real_time(query, rows, told.mode, streamlet)


def _refusal(rows: DataFrame, mode: str) -> str:
    """Why Spark would not start a query of these rows in this mode; "" when it would."""
    from pyspark.errors import AnalysisException

    checker, modes = _checker(rows.sparkSession._jvm)  # noqa: SLF001 - Spark asks this only when a query starts
    try:
        checker.checkForStreaming(rows._jdf.queryExecution().analyzed(), modes[mode])  # noqa: SLF001
    except AnalysisException as error:
        operation = (error.getMessageParameters() or {}).get("operation")
        return f"Spark has no output mode `{mode}` for {operation}" if operation else message_of(error)
    return ""


@cache
def _checker(jvm: Any) -> tuple[Any, dict[str, Any]]:
    """What refuses queries in a JVM, and the output modes; each part of such a name takes a call."""
    modes = jvm.org.apache.spark.sql.streaming.OutputMode
    checker = jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
    return checker, {"append": modes.Append(), "update": modes.Update(), "complete": modes.Complete()}


def _lonely_session(node: PlanNode) -> bool:
    """Whether a node groups by session windows alone, which Spark refuses only once it plans the first batch."""
    keys = lists(node.rest) if node.name == "Aggregate" and node.streaming else []
    return len(keys) > 1 and _SESSION_WINDOW.fullmatch(keys[0]) is not None


def _refused(query: CheckedQuery, rows: DataFrame, mode: str, refusal: str, places: Places) -> Diagnostic:
    operator = _made_at(first_with(rows, lambda frame: bool(_refusal(frame, mode))), places)
    place = query.place
    others = [other for other in _MODES if other != mode and not _refusal(rows, other)]
    if others:
        at = (place and pinpoint.mention(mode, place)) or place
        help = ["write it with " + " or ".join(f'`output_mode="{other}"`' for other in others)]
        if "without watermark" in refusal:
            help.insert(0, "group by a time, or a window of it, that has a watermark: `.withWatermark(...)` before")
        also = [Label(operator.span, "because of this")] if operator and operator != at else []
        headline = f"{query.called} cannot be written in output mode `{mode}`"
        return finding("output-mode", headline, span_of(at), also=also, causes=(refusal,), help=help)
    first, _, rest = refusal.partition(". ")
    apart = operator is not None and place is not None and operator.line != place.line
    also = [Label(place.span, f"in {query.called}")] if place and apart else []
    at = operator or place
    return finding("unsupported-operator", f"Spark refuses this in a stream: {first}", span_of(at), also=also,
                   causes=(rest,) if rest else (), help=_instead(refusal))  # fmt: skip


def _instead(refusal: str) -> tuple[str, ...]:
    """What an author may do instead, for what authors try most."""
    for part, help in _INSTEAD.items():
        if part in refusal:
            return (help,)
    return ()


_INSTEAD = {
    "Sorting is not supported": "sort where the records are read, or each batch in a `foreachBatch`",
    "outer join": "give both sides a watermark, and join on the watermarked times or on a range of them",
    "Outer join": "give both sides a watermark, and join on the watermarked times or on a range of them",
    "dropDuplicatesWithinWatermark": "put `.withWatermark(...)` on a column of time before it",
    "Window function is not supported": "group by `F.window(...)` of a time, or rank each batch with `foreachBatch`",
    "Distinct aggregations": "count with `F.approx_count_distinct`, or drop duplicates before",
}


def _grows(found: Unbounded, rows: DataFrame, mode: str, place: Declared | None, places: Places) -> Diagnostic:
    operator = _made_at(first_with(rows, lambda frame: holds(frame, mode, found)), places) or place
    return finding(
        "unbounded-state",
        f"the state of {found.what} grows for ever",
        span_of(operator),
        causes=(found.why,),
        help=(found.remedy,),
    )


def _made_at(frame: DataFrame, places: Places) -> Declared | None:
    how = made(frame)
    return places.own(how.place) if how is not None else None


def _real_time(query: CheckedQuery, rows: DataFrame, mode: str, streamlet: Buildable) -> Iterator[Diagnostic]:
    plan, place = streamlet.plan, query.place
    set_ = plan.queries.get(query.name) or plan.trigger
    if not isinstance(set_ or query.trigger, RealTime):
        return
    if streamlet.slow_topics:
        if set_ is None:  # what is set, verification has told at the setting's place
            id, channel = next(iter(streamlet.slow_topics.items()))
            at = (place and pinpoint.argument(place, 3, "trigger")) or place
            yield finding(
                "real-time-channel",
                f"{query.called} has a real-time trigger, and its topic `{id}` is on a channel without real time",
                span_of(at),
                causes=(f"`{id}` is carried by `{channel}`",),
                help=('take `processing_time("0 seconds")` for batches without a pause',),
            )
        return
    operators = refused_operators(rows) or ()
    causes = [f"it has {operator}, which real-time mode does not do" for operator in operators]
    if mode != "update":
        causes.append(f"it is written in output mode `{mode}`, and real-time mode writes in `update` only")
    if causes:
        yield finding(
            "real-time-plan",
            f"{query.called} cannot run in real time",
            span_of(place),
            causes=causes,
            help=("take a `processing-time` trigger, or leave out what real-time mode does not have",),
        )
