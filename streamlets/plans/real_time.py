"""Operators that Spark's real-time mode does not support; Spark itself rejects them only when the query runs.

The list of supported operators is private to Spark and read by reflection. If it cannot be read, nothing is reported.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ALLOWLIST = "org.apache.spark.sql.execution.streaming.runtime.RealTimeModeAllowlist$"
_OPERATOR = re.compile(r"^[ :|]*(?:[+:]- )?(?:\*\(\d+\) )?(?P<name>[A-Za-z]\w*)", re.MULTILINE)
_DESCRIPTIONS = {
    "ArrowEvalPython": "Python functions",
    "BatchEvalPython": "Python functions",
    "MapInArrow": "Python functions",
    "MapInPandas": "Python functions",
    "StreamingSymmetricHashJoin": "joins of two streams",
    "SortMergeJoin": "joins with a table that is too large to broadcast",
}
_REPLACED = {"HashAggregate", "ObjectHashAggregate", "SortAggregate", "AdaptiveSparkPlan"}
"""Operators that Spark replaces by supported ones when the query starts."""
_PRINTED = {"ShuffleExchange": "Exchange", "FileSourceScan": "FileScan", "RealTimeStreamScan": "StreamingRelation"}
"""Operators that plans print with another name than that of their class."""


def unsupported_operators(frame: DataFrame) -> tuple[str, ...] | None:
    """Return descriptions of the operators of a query that real-time mode rejects; None if they are unknown."""
    jvm: Any = frame.sparkSession._jvm  # noqa: SLF001 - Spark has no public API for it
    allowed = _allowed(jvm)
    if not allowed:
        return None
    simple = jvm.org.apache.spark.sql.execution.ExplainMode.fromString("simple")
    text = str(frame._jdf.queryExecution().explainString(simple))  # noqa: SLF001
    physical = text.partition("== Physical Plan ==\n")[2]
    names = dict.fromkeys(match["name"] for match in _OPERATOR.finditer(physical))
    unsupported = (name for name in names if name not in allowed)
    return tuple(dict.fromkeys(_DESCRIPTIONS.get(name, f"the operator `{name}`") for name in unsupported))


@cache
def _allowed(jvm: Any) -> frozenset[str]:
    """Return the names of the supported operators, as plans print them."""
    from py4j.protocol import Py4JError

    try:
        loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        kind = jvm.java.lang.Class.forName(_ALLOWLIST, True, loader)
        field = kind.getDeclaredField("allowedOperators")
        field.setAccessible(True)
        operators = field.get(kind.getField("MODULE$").get(None)).iterator()
        names = set()
        while operators.hasNext():
            name = str(operators.next()).rpartition(".")[2].removesuffix("Exec")
            names |= {name, _PRINTED.get(name, name)}
    except Py4JError:
        return frozenset()
    return frozenset(names | _REPLACED)
