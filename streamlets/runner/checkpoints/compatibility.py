"""Whether a query still fits its checkpoint, asked before it starts: what Spark could not carry over is refused with
what to do, and nothing has been begun."""

from __future__ import annotations

from typing import TYPE_CHECKING

from blueprint.comparison.state import window_phrases
from blueprint.comparison.stateful_operators import STATEFUL_OPERATORS, stateful_operator
from streamlets.api.building import SOURCE_EVOLUTION
from streamlets.api.errors import StreamletError
from streamlets.runner.checkpoints.checkpoint import Checkpoint
from streamlets.runner.checkpoints.state_columns import windows_of, write_windows
from streamlets.spark.plan_windows import windows

if TYPE_CHECKING:
    from streamlets.spark.plan_tree import PlanNode

_UNSURE = ("Distinct", "GlobalLimit")
"""What the optimizer makes of these is not known before it runs."""


class CheckpointMisfitError(StreamletError):
    """A query is no longer the one that its checkpoint is of."""


def fit(checkpoint: Checkpoint, plan: PlanNode, *, source_evolution: bool) -> None:
    """Make sure that a query can go on from its checkpoint, as far as that can be told from outside; columns of state
    are compared by Spark when the first batch begins.

    Arguments:
        plan: the query's analyzed plan.
        source_evolution: whether its sources have names.

    Raises:
        CheckpointMisfitError: it cannot.
    """
    if checkpoint.committed is None:
        return
    named = checkpoint.committed.settings.get(SOURCE_EVOLUTION, "false") == "true"
    if named is not source_evolution:
        was, now = ("on", "off") if named else ("off", "on")
        raise _misfit(checkpoint, f"it was made with `source-evolution` {was}, and now that is {now}")
    held, wanted = _kinds_held(checkpoint), _kinds_wanted(plan)
    if held is not None and wanted is not None and held != wanted:
        raise _misfit(checkpoint, f"it holds the state of {_said(held)}, and the query now has {_said(wanted)}")
    grouped = windows_of(checkpoint.folder)
    if grouped is not None and (now_grouped := windows(plan)) != grouped:
        was, now = window_phrases(grouped), window_phrases(now_grouped)
        raise _misfit(checkpoint, f"it was grouped by {was}, and is grouped by {now} now, which would mix both")


def note(checkpoint: Checkpoint, plan: PlanNode) -> None:
    """Note what Spark does not, unless it is known what the state was made by: the windows of a query that keeps state.

    Raises:
        OSError: it cannot be written.
    """
    if (checkpoint.committed is None or windows_of(checkpoint.folder) is None) and _kinds_wanted(plan) != set():
        write_windows(checkpoint.folder, windows(plan))


def _kinds_held(checkpoint: Checkpoint) -> set[str] | None:
    """The kinds of stateful operators in the checkpoint; None when Spark 4.3 does not have one of them."""
    operators = [stateful_operator(operator.name) for operator in checkpoint.operators]
    return {operator.phrase for operator in operators} if set(operators) <= set(STATEFUL_OPERATORS) else None


def _kinds_wanted(plan: PlanNode) -> set[str] | None:
    """The kinds of stateful operators that a plan asks for; None when the plan does not determine them."""
    from streamlets.spark.plan_queries import stateful

    if any(node.name in _UNSURE and node.streaming for node in plan.all()):
        return None
    return {operator.phrase for node in plan.all() if (operator := stateful(node, mode=""))}


def _said(kinds: set[str]) -> str:
    return " and ".join(sorted(kinds)) if kinds else "no state"


def _misfit(checkpoint: Checkpoint, why: str) -> CheckpointMisfitError:
    return CheckpointMisfitError(
        f"{checkpoint.name} does not fit its checkpoint: {why}. Restore it, give the query another name, or let it "
        f"begin anew with `flow checkpoints reset {checkpoint.name}`"
    )
