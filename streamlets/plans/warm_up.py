"""Loads the classes of Spark's analyzer while a session starts, by analyzing a query without data and session."""

from __future__ import annotations

import contextlib
from typing import Any

_CATALYST = "org.apache.spark.sql.catalyst"
_QUERY = """\
SELECT window.start AS hour, sum(value * 2 + 0.5D) AS total, count(*) AS many, max(concat(kind, cast(value AS string)))
FROM VALUES (TIMESTAMP '2020-01-01 00:00:00', 'a', 1L) AS t(at, kind, value)
JOIN (SELECT kind AS other FROM VALUES ('a') AS k(kind)) ON kind = other AND at <= at + INTERVAL 1 HOUR
WHERE value % 2 = 1 AND kind <> 'b'
GROUP BY window(at, '1 hour'), kind
"""
"""A query with the expressions and operators that most logic has."""


def warm_up(jvm: Any) -> None:
    """Parse and analyze a query, because loading classes takes most of the time of building the first logic.

    If the classes of another Spark version differ, nothing happens.

    Arguments:
        jvm: a JVM, before Spark is started.
    """
    with contextlib.suppress(Exception):
        analyzed(jvm)


def analyzed(jvm: Any) -> str:
    """Analyze the query without a session, and return its plan as Spark prints it."""
    parsed = _object(jvm, f"{_CATALYST}.parser.CatalystSqlParser$").parsePlan(_QUERY)
    return str(_object(jvm, f"{_CATALYST}.analysis.SimpleAnalyzer$").execute(parsed).treeString())


def _object(jvm: Any, name: str) -> Any:
    """Return a Scala object."""
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    return jvm.java.lang.Class.forName(name, True, loader).getField("MODULE$").get(None)
