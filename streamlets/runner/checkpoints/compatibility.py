"""The check, before a query starts, that it can continue from its checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from blueprint.comparison.descriptor import DescribedLogic
from blueprint.comparison.state import window_phrases
from blueprint.comparison.state_logic import NOT_RECORDED, LogicDifferences, compare_logic
from blueprint.comparison.stateful_operators import STATEFUL_OPERATORS, stateful_operator
from streamlets.api.building import SOURCE_EVOLUTION
from streamlets.api.errors import StreamletError
from streamlets.runner.checkpoints.checkpoint import Checkpoint
from streamlets.runner.checkpoints.state_columns import record_logic, recorded_logic, windows_of, write_windows
from streamlets.spark.plan_windows import windows

if TYPE_CHECKING:
    from streamlets.spark.plan_tree import PlanNode

_UNSURE = ("Distinct", "GlobalLimit")
"""Nodes of an analyzed plan of which only the optimizer determines whether they become stateful operators."""


class CheckpointMisfitError(StreamletError):
    """A query is incompatible with its checkpoint."""


def require_compatible(checkpoint: Checkpoint, plan: PlanNode, *, source_evolution: bool) -> None:
    """Require that a query can continue from its checkpoint.

    Operators, windows and names of sources are compared here. Spark compares the columns of the state when the first
    batch starts.

    Arguments:
        plan: the query's analyzed plan.
        source_evolution: whether its sources have names.

    Raises:
        CheckpointMisfitError: it cannot continue.
    """
    if checkpoint.committed is None:
        return
    named = checkpoint.committed.settings.get(SOURCE_EVOLUTION, "false") == "true"
    if named is not source_evolution:
        was, now = ("on", "off") if named else ("off", "on")
        raise _misfit(checkpoint, f"the checkpoint was written with `source-evolution` {was}, which is now {now}")
    stored, wanted = _stored_kinds(checkpoint), _wanted_kinds(plan)
    if stored is not None and wanted is not None and stored != wanted:
        state = f"the state of {_phrase(stored)}" if stored else "no state"
        raise _misfit(checkpoint, f"the checkpoint has {state}, the query has {_phrase(wanted)}")
    grouped = windows_of(checkpoint.directory)
    if grouped is not None and (now_grouped := windows(plan)) != grouped:
        was, now = window_phrases(grouped), window_phrases(now_grouped)
        raise _misfit(checkpoint, f"it was grouped by {was} and is now grouped by {now}, which would mix both")


def store_windows(checkpoint: Checkpoint, plan: PlanNode) -> None:
    """Store the windows of a stateful query in its checkpoint, where Spark does not; windows of existing state stay.

    Raises:
        OSError: the file cannot be written.
    """
    if (checkpoint.committed is None or windows_of(checkpoint.directory) is None) and keeps_state(plan):
        write_windows(checkpoint.directory, windows(plan))


def require_same_logic(checkpoint: Checkpoint, logic: DescribedLogic) -> str:
    """Require that a query would not mix two meanings in the state of its checkpoint, and store its logic there.

    Arguments:
        logic: what determines the content of its state.

    Returns:
        What differs for new records only or cannot be compared, as a sentence; "" for nothing.

    Raises:
        CheckpointMisfitError: keys, aggregates or other parts of the state have another meaning.
        OSError: the logic cannot be stored.
    """
    recorded, warning = recorded_logic(checkpoint.directory), ""
    if checkpoint.committed is not None:
        found = compare_logic(recorded, logic) if recorded is not None else LogicDifferences(unknown=(NOT_RECORDED,))
        if found.lost:
            raise _misfit(checkpoint, "; ".join(found.lost))
        sentences = (
            ("new records are treated differently from those in its state", found.later),
            ("its logic cannot be compared with the logic of its state", found.unknown),
        )
        warning = ". ".join(f"{sentence}: {'; '.join(reasons)}" for sentence, reasons in sentences if reasons)
    if recorded != logic:
        record_logic(checkpoint.directory, logic)
    return warning


def keeps_state(plan: PlanNode) -> bool:
    """Return whether a query keeps state, or may do so, by its analyzed plan."""
    return _wanted_kinds(plan) != set()


def _stored_kinds(checkpoint: Checkpoint) -> set[str] | None:
    """Return the kinds of stateful operators in the checkpoint; None when one of them is unknown to Spark 4.3."""
    operators = [stateful_operator(operator.name) for operator in checkpoint.operators]
    return {operator.phrase for operator in operators} if set(operators) <= set(STATEFUL_OPERATORS) else None


def _wanted_kinds(plan: PlanNode) -> set[str] | None:
    """Return the kinds of stateful operators that a plan needs; None when the plan does not determine them."""
    from streamlets.spark.plan_queries import stateful

    if any(node.name in _UNSURE and node.streaming for node in plan.all()):
        return None
    return {operator.phrase for node in plan.all() if (operator := stateful(node, mode=""))}


def _phrase(kinds: set[str]) -> str:
    return " and ".join(sorted(kinds)) if kinds else "no state"


def _misfit(checkpoint: Checkpoint, why: str) -> CheckpointMisfitError:
    return CheckpointMisfitError(
        f"{checkpoint.name} is incompatible with its checkpoint: {why}. Restore the code, give the query another name, "
        f"or reset the checkpoint with `flow checkpoints reset {checkpoint.name}`"
    )
