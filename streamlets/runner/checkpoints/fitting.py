"""Whether a query still fits its checkpoint, asked before it starts: what Spark could not carry over is refused with
what to do, and nothing has been begun."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamlets.building import SOURCE_EVOLUTION
from streamlets.errors import StreamletError
from streamlets.runner.checkpoints.reading import Checkpoint

if TYPE_CHECKING:
    from streamlets.plans.tree import PlanNode

# Spark's name in the state's metadata to the kind, as authors call it; and the same of an analyzed plan's nodes.
_HELD = {
    "stateStoreSave": "an aggregation",
    "dedupe": "`dropDuplicates`",
    "dedupeWithinWatermark": "`dropDuplicatesWithinWatermark`",
    "symmetricHashJoin": "a join of streams",
    "transformWithStateInPySparkExec": "`transformWithState`",
    "transformWithStateInPandasExec": "`transformWithState`",
    "transformWithStateExec": "`transformWithState`",
}
_WANTED = {
    "Aggregate": "an aggregation",
    "Deduplicate": "`dropDuplicates`",
    "DeduplicateWithinWatermark": "`dropDuplicatesWithinWatermark`",
    "TransformWithStateInPySpark": "`transformWithState`",
    "TransformWithStateInPandas": "`transformWithState`",
    "TransformWithState": "`transformWithState`",
}
_UNSURE = ("Distinct", "GlobalLimit", "FlatMapGroupsInPandasWithState", "FlatMapGroupsWithState")
"""What the optimizer makes of these is not known before it does."""


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


def _kinds_held(checkpoint: Checkpoint) -> set[str] | None:
    """The kinds of stateful operators in the checkpoint; None when there is one that is not known here."""
    kinds = {_HELD.get(operator.name) for operator in checkpoint.operators}
    return None if None in kinds else {kind for kind in kinds if kind}


def _kinds_wanted(plan: PlanNode) -> set[str] | None:
    """The kinds of stateful operators that a plan asks for; None when that cannot be told from it."""
    found = set()
    for node in plan.all():
        if node.name in _UNSURE and node.streaming:
            return None
        if node.name == "Join" and len(node.children) == 2 and all(child.streaming for child in node.children):
            found.add("a join of streams")
        elif node.name in _WANTED and node.streaming:
            found.add(_WANTED[node.name])
    return found


def _said(kinds: set[str]) -> str:
    return " and ".join(sorted(kinds)) if kinds else "no state"


def _misfit(checkpoint: Checkpoint, why: str) -> CheckpointMisfitError:
    return CheckpointMisfitError(
        f"{checkpoint.name} does not fit its checkpoint: {why}. Restore it, give the query another name, or let it "
        f"begin anew with `flow checkpoints reset {checkpoint.name}`"
    )
