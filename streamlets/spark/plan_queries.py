"""The description of a query from its plan: its sources and its stateful operators."""

from __future__ import annotations

import re

from blueprint.comparison.descriptor import DescribedQuery
from blueprint.comparison.stateful_operators import (
    AGGREGATION,
    JOIN,
    LIMIT,
    SESSION_WINDOWS,
    STATEFUL_OPERATORS,
    TRANSFORM_PANDAS,
    TRANSFORM_ROWS,
    StatefulOperator,
)
from streamlets.spark.plan_tree import PlanNode, lists
from streamlets.spark.plan_windows import aliases, windows

_SOURCE = re.compile(r'name="(\w+)"$')
_SESSIONS = re.compile(r"(?<!\w)session_window#")
_PANDAS = re.compile(r", pandas, (?:true|false), \d+$")
_BY_NODE = {operator.node: operator for operator in STATEFUL_OPERATORS}


def described(plan: PlanNode, mode: str, *, named: bool) -> DescribedQuery:
    """Return the description of a query, as it could be read from its checkpoint.

    Arguments:
        plan: the analyzed plan.
        mode: the query's output mode.
        named: whether its sources have names.
    """
    sources = sorted({match[1] for node in plan.all() if (match := _SOURCE.search(node.rest)) and node.streaming})
    operators = [operator.name for node in plan.all() if (operator := stateful(node, mode))]
    return DescribedQuery(
        tuple(sources) if named else None, tuple(operators), windows=windows(plan) if operators else (),
        aliases=aliases(plan) if operators else {},
    )  # fmt: skip


def stateful(node: PlanNode, mode: str) -> StatefulOperator | None:
    """Return the stateful operator that Spark makes of a node of an analyzed plan; None when it keeps no state.

    Arguments:
        mode: the query's output mode.
    """
    if not node.streaming:
        return None
    match node.name:
        case "Aggregate":
            keys, *results = lists(node.rest)  # without keys, the results are all that is printed
            return SESSION_WINDOWS if results and _SESSIONS.search(keys) else AGGREGATION
        case "Distinct":  # the optimizer makes it an aggregation
            return AGGREGATION
        case "Join":
            return JOIN if all(child.streaming for child in node.children) else None
        case "GlobalLimit":
            return LIMIT if mode == "append" else None
        case "TransformWithStateInPySpark":
            return TRANSFORM_PANDAS if _PANDAS.search(node.rest) else TRANSFORM_ROWS
    return _BY_NODE.get(node.name)
