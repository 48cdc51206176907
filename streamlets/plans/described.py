"""What a query's plan tells a description of the application: its sources, and the operators that keep state."""

from __future__ import annotations

import re

from blueprint.comparison.descriptor import DescribedQuery
from streamlets.plans.tree import PlanNode, lists

_SOURCE = re.compile(r'name="(\w+)"$')
_SESSIONS = re.compile(r"(?<!\w)session_window#")
_KEEPING = {
    "Deduplicate": "dedupe",
    "DeduplicateWithinWatermark": "dedupeWithinWatermark",
    "Distinct": "stateStoreSave",
    "FlatMapGroupsWithState": "flatMapGroupsWithState",
    "FlatMapGroupsInPandasWithState": "applyInPandasWithState",
    "TransformWithState": "transformWithStateExec",
    "TransformWithStateInPySpark": "transformWithStateInPySparkExec",
}
"""Operators of analyzed plans, and what Spark notes in a checkpoint of those that it makes of them."""


def described(plan: PlanNode, mode: str, *, named: bool) -> DescribedQuery:
    """What a checkpoint of the query would tell.

    Arguments:
        plan: analyzed; mode: the query's output mode; named: whether its sources have names.
    """
    sources = sorted({match[1] for node in plan.all() if (match := _SOURCE.search(node.rest)) and node.streaming})
    kept = [name for node in plan.all() if node.streaming and (name := _kept(node, mode))]
    return DescribedQuery(tuple(sources) if named else None, tuple(sorted(kept)))


def _kept(node: PlanNode, mode: str) -> str | None:
    match node.name:
        case "Aggregate":
            keys, *results = lists(node.rest)
            return "sessionWindowStateStoreSaveExec" if results and _SESSIONS.search(keys) else "stateStoreSave"
        case "Join" if all(child.streaming for child in node.children):
            return "symmetricHashJoin"
        case "GlobalLimit" if mode == "append":
            return "globalLimit"
    return _KEEPING.get(node.name)
