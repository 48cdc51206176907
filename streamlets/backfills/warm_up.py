"""How far before a range a streamlet must read, so that its state is as if it had always run.

It is computed from the plans of its queries: how long their stateful operators keep a record. Windows and joins keep it
for their length and the delay of the watermark. This is event time, and ranges are of the time of commits; a record is
committed after its event, at most by the delay if the watermark is right, which counts once more. What has no limit,
or one that only the author's code knows, needs all earlier records.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from blueprint.comparison.stateful_operators import (
    AGGREGATION,
    DEDUPLICATION,
    JOIN,
    StatefulOperator,
    stateful_operator,
)
from blueprint.diagnostics import Severity
from blueprint.plan import ApplicationPlan
from blueprint.quantities import duration
from blueprint.wording import span
from streamlets.backfills.model import BackfillError
from streamlets.lineage.buildable import buildable_application
from streamlets.plans import check_logic
from streamlets.plans.built_streamlet import BuiltStreamlet
from streamlets.plans.queries import CheckedQuery
from streamlets.spark.plan_queries import stateful
from streamlets.spark.plan_tree import PlanNode
from streamlets.spark.plan_windows import windows

_DEDUPLICATE = "dedupe"
_DELAY = re.compile(r", (?P<delay>[\w ]+?)$")
_WATERMARKED = re.compile(r"#\d+L?-T\d+ms")
_INTERVAL = re.compile(r"INTERVAL '(?P<value>[^']+)' (?P<units>[A-Z]+(?: TO [A-Z]+)?)")
_SECONDS = {"DAY": 86_400, "HOUR": 3_600, "MINUTE": 60, "SECOND": 1}
_UNITS = tuple(_SECONDS)


@dataclass(frozen=True, slots=True)
class WarmUp:
    """What the state of a streamlet needs from before a range.

    Arguments:
        seconds: how long before the range its records begin; None for all earlier records, 0 for none.
        reason: why, for the end of a sentence.
    """

    seconds: float | None = 0.0
    reason: str = ""


class Queries:
    """Takes the queries of a streamlet that was built, and keeps what a backfill must know of them."""

    def __init__(self) -> None:
        self.outside: list[str] = []
        """The queries that write outside of the outlets."""
        self.needs: list[WarmUp] = []
        """What each query needs."""

    def __call__(self, built: BuiltStreamlet) -> None:
        """Look at the queries of a streamlet; see `LogicChecker`."""
        for query in built.queries:
            if query.own_sink:
                self.outside.append(query.name)
            self.needs.append(warm_up_of(query))


def warm_up(plan: ApplicationPlan) -> WarmUp:
    """Return the need of the only streamlet of a plan needs; Spark is started to build its logic.

    Raises:
        BackfillError: its logic cannot be built, or writes outside of its outlets.
        SessionError: Spark cannot be started.
    """
    ref, queries = plan.streamlets[0].ref, Queries()
    built = check_logic(buildable_application(plan), queries)
    if errors := [found for found in built.findings if found.severity is Severity.ERROR]:
        raise BackfillError(
            f"the logic cannot be built: {errors[0].headline}",
            "`flow verify --plans` shows all findings",
            refused=False,
        )
    if queries.outside:
        raise BackfillError(
            f"`{ref}` writes outside of its outlets, in its query `{queries.outside[0]}`: that would be written twice",
            "write these rows to an outlet, and to the outside in a streamlet of its own that reads its topic",
        )
    return max(queries.needs, key=lambda need: float("inf") if need.seconds is None else need.seconds, default=WarmUp())


def warm_up_of(query: CheckedQuery) -> WarmUp:
    """Return the need of a query for its state."""
    plan, mode = query.plan, query.facts.mode
    operators = [(node, operator) for node in plan.all() if (operator := stateful(node, mode))]
    if not operators:
        return WarmUp()
    delay = max(_delays(plan), default=None)
    seconds, reasons = delay or 0.0, []
    for node, operator in operators:
        own = _kept(plan, node, operator, mode, delay)
        if own is None:
            return WarmUp(None, f"{operator.phrase} in `{query.name}`, whose state has no limit that is known")
        seconds += own[0]
        reasons.append(f"{own[1]} in `{query.name}`")
    return WarmUp(seconds, " and ".join(dict.fromkeys(reasons)))


def _kept(
    plan: PlanNode, node: PlanNode, operator: StatefulOperator, mode: str, delay: float | None
) -> tuple[float, str] | None:
    """Return the seconds for which an operator keeps a record, and why; None if that has no limit that is known."""
    if delay is None or mode == "complete":
        return None
    watermark = f"a watermark of {span(delay)}"
    if operator is AGGREGATION:
        lengths = list(_lengths(plan))
        if not lengths or not _WATERMARKED.search(node.rest):
            return None
        return max(lengths) + delay, f"windows of {span(max(lengths))} and {watermark}"
    if operator is DEDUPLICATION:
        return 2 * delay, f"{operator.phrase} with {watermark}"
    if operator is stateful_operator(_DEDUPLICATE):
        return (delay, f"{operator.phrase} with {watermark}") if _WATERMARKED.search(node.rest) else None
    if operator is JOIN:
        return _kept_by_join(plan, node, delay, watermark)
    return None


def _kept_by_join(plan: PlanNode, node: PlanNode, delay: float, watermark: str) -> tuple[float, str] | None:
    """Return the same for a join: by its range of time, or by windows that are equal on both sides."""
    if any(not list(_delays(child)) for child in node.children) or not _WATERMARKED.search(node.rest):
        return None
    times = [seconds for match in _INTERVAL.finditer(node.rest) if (seconds := _interval(match)) is not None]
    if times:
        return sum(times) + delay, f"a join within {span(sum(times))} and {watermark}"
    lengths = list(_lengths(plan))
    return (max(lengths) + delay, f"a join of windows of {span(max(lengths))} and {watermark}") if lengths else None


def _delays(plan: PlanNode) -> Iterator[float]:
    """Yield the delays of the watermarks in a plan, in seconds."""
    for node in plan.all():
        if node.name == "EventTimeWatermark" and (match := _DELAY.search(node.rest)):
            yield _seconds(match["delay"])


def _lengths(plan: PlanNode) -> Iterator[float]:
    """Yield the lengths of the windows in a plan, in seconds."""
    for window in windows(plan):
        kind, length, *_ = window.split()
        if kind == "window":
            yield int(length) / 1e6


def _seconds(text: str) -> float:
    """Return an interval as Spark prints it, such as `1 hours 30 minutes`, in seconds."""
    words = text.split()
    return sum(duration(f"{number} {unit}").seconds for number, unit in zip(words[::2], words[1::2], strict=True))


def _interval(match: re.Match[str]) -> float | None:
    """Return a literal interval of SQL, such as `'01:30' HOUR TO MINUTE`, in seconds; None for months."""
    first, _, last = match["units"].partition(" TO ")
    if first not in _SECONDS:
        return None
    units = _UNITS[_UNITS.index(first) : _UNITS.index(last or first) + 1]
    numbers = [abs(float(number)) for number in re.split(r"[ :]", match["value"])]
    return sum(number * _SECONDS[unit] for number, unit in zip(numbers, units, strict=True))
