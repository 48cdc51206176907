"""Plans that Spark's real-time mode refuses; Spark itself says so only once a query runs.

Which operators it allows is private to Spark and read by reflection. When it is not where it was, nothing is said.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ALLOWLIST = "org.apache.spark.sql.execution.streaming.runtime.RealTimeModeAllowlist$"
_OPERATOR = re.compile(r"^[ :|]*(?:[+:]- )?(?:\*\(\d+\) )?(?P<name>[A-Za-z]\w*)", re.MULTILINE)
_MEANT = {
    "ArrowEvalPython": "a Python function",
    "BatchEvalPython": "a Python function",
    "MapInArrow": "a Python function",
    "MapInPandas": "a Python function",
    "StreamingSymmetricHashJoin": "a join of two streams",
    "SortMergeJoin": "a join with a table too large to be sent to every task",
}
_PLANNED_ANEW = {"HashAggregate", "ObjectHashAggregate", "SortAggregate", "AdaptiveSparkPlan"}
"""When the query starts, others stand in their places: aggregations that are allowed, and no adaptive plan."""
_PRINTED = {"ShuffleExchange": "Exchange", "FileSourceScan": "FileScan", "RealTimeStreamScan": "StreamingRelation"}
"""Operators whose print has another name than their class."""


def refused_operators(frame: DataFrame) -> tuple[str, ...] | None:
    """What of a query real-time mode refuses, in an author's words; None when it cannot be told."""
    jvm: Any = frame.sparkSession._jvm  # noqa: SLF001 - there is no public way to any of this
    allowed = _allowed(jvm)
    if not allowed:
        return None
    simple = jvm.org.apache.spark.sql.execution.ExplainMode.fromString("simple")
    text = str(frame._jdf.queryExecution().explainString(simple))  # noqa: SLF001
    physical = text.partition("== Physical Plan ==\n")[2]
    names = dict.fromkeys(match["name"] for match in _OPERATOR.finditer(physical))
    refused = (name for name in names if name not in allowed)
    return tuple(dict.fromkeys(_MEANT.get(name, f"the operator `{name}`") for name in refused))


@cache
def _allowed(jvm: Any) -> frozenset[str]:
    """The names, as plans print them, of the operators that are allowed."""
    from py4j.protocol import Py4JError

    try:
        loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        kind = jvm.java.lang.Class.forName(_ALLOWLIST, True, loader)
        field = kind.getDeclaredField("allowedOperators")
        field.setAccessible(True)
        each = field.get(kind.getField("MODULE$").get(None)).iterator()
        names = set()
        while each.hasNext():
            name = str(each.next()).rpartition(".")[2].removesuffix("Exec")
            names |= {name, _PRINTED.get(name, name)}
    except Py4JError:
        return frozenset()
    return frozenset(names | _PLANNED_ANEW)
