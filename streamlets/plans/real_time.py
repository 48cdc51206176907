"""Operators, sources and sinks that real-time mode does not support; Spark rejects them when the query runs.

The list of supported operators is private to Spark and read by reflection. If it cannot be read, no operator is
reported. Source: Spark's class `RealTimeModeAllowlist`, and the implementations of `SupportsRealTimeMode`.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from streamlets.spark.physical_plan import physical_plan
from streamlets.spark.plan_tree import PlanNode
from streamlets.spark.stream_writer import WriterFacts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ALLOWLIST = "org.apache.spark.sql.execution.streaming.runtime.RealTimeModeAllowlist$"
_OPERATOR = re.compile(r"^[ :|]*(?:[+:]- )?(?:\*\(\d+\) )?(?P<name>[A-Za-z]\w*)", re.MULTILINE)
DEDUPLICATION = "deduplication within a watermark"
_DESCRIPTIONS = {
    "ArrowEvalPython": "Python functions",
    "BatchEvalPython": "Python functions",
    "MapInArrow": "Python functions",
    "MapInPandas": "Python functions",
    "StreamingSymmetricHashJoin": "joins of two streams",
    "StreamingDeduplicateWithinWatermark": DEDUPLICATION,
    "SortMergeJoin": "joins with a table that is too large to broadcast",
}
_REPLACED = {"HashAggregate", "ObjectHashAggregate", "SortAggregate", "AdaptiveSparkPlan"}
"""Operators that Spark replaces by supported ones when the query starts."""
_PRINTED = {"ShuffleExchange": "Exchange", "FileSourceScan": "FileScan", "RealTimeStreamScan": "StreamingRelation"}
"""Operators that plans print with another name than their class."""


_SINKS = ("console", "foreach", "kafka")
_TABLE = re.compile(r"\S+, (?P<source>[^,]+), (?P<table>org\.apache\.spark\.sql\.[\w.$]+)@")
"""The beginning of a node with a source of Spark's second interface: its provider, its name and its table."""
_REAL_TIME_TABLE = re.compile(r"Kafka|LowLatency|Memory")


def unsupported_sources(plan: PlanNode, inlets: str) -> tuple[str, ...]:
    """Return the names of the sources of a query that real-time mode rejects; sources of other packages are unknown.

    Arguments:
        plan: the analyzed plan of the query.
        inlets: the parent directory of the empty streams in the place of inlets.
    """
    sources = []
    for node in plan.all():
        if node.children or not node.name.startswith("StreamingRelation") or f"[{inlets}/" in node.rest:
            continue
        match = _TABLE.match(node.rest)
        if match is not None and not _REAL_TIME_TABLE.search(match["table"]):
            sources.append(match["source"])
        elif node.name == "StreamingRelation":  # of the first interface, which has no real-time mode
            name = re.split(r"[\[,]", node.rest, maxsplit=1)[0]
            sources.append("files" if name == "FileSource" else name)
    return tuple(dict.fromkeys(sources))


def unsupported_sink(writer: WriterFacts) -> str:
    """Return the description of a sink that real-time mode rejects; "" if it supports the sink."""
    if writer.batches:
        return "functions of batches (`foreachBatch`)"
    return "" if writer.format in ("", *_SINKS) else f"the sink `{writer.format}`"


def unsupported_operators(frame: DataFrame) -> tuple[str, ...] | None:
    """Return descriptions of the operators of a query that real-time mode rejects; None if they are unknown."""
    jvm: Any = frame.sparkSession._jvm  # noqa: SLF001 - Spark has no public API for it
    allowed = _allowed(jvm)
    if not allowed:
        return None
    names = dict.fromkeys(match["name"] for match in _OPERATOR.finditer(physical_plan(frame)))
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
