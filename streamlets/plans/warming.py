"""Has Spark's analyzer loaded while its session starts: a query that needs neither data nor session is analyzed."""

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
"""What most logic has of expressions and operators."""


def warm_up(jvm: Any) -> None:
    """Parse and analyze a query; loading classes is most of what the first streamlet's logic costs.

    Arguments:
        jvm: without a Spark yet. Where a part of it is not as in this version of Spark nothing is lost but time.
    """
    with contextlib.suppress(Exception):
        analyzed(jvm)


def analyzed(jvm: Any) -> str:
    """The plan of a query, analyzed without a session, as Spark prints it."""
    parsed = _object(jvm, f"{_CATALYST}.parser.CatalystSqlParser$").parsePlan(_QUERY)
    return str(_object(jvm, f"{_CATALYST}.analysis.SimpleAnalyzer$").execute(parsed).treeString())


def _object(jvm: Any, name: str) -> Any:
    """A Scala object."""
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    return jvm.java.lang.Class.forName(name, True, loader).getField("MODULE$").get(None)
