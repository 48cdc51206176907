"""The physical plan of a stream as Spark prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def physical_plan(rows: DataFrame) -> str:
    """Return the physical plan of rows of a stream.

    Spark explains a stream only if the plan that was asked for has its source, and refuses to explain a view of a
    stream, whose plan has the name of the view. A filter above it has the analyzed plan of the view, and no effect.
    """
    jvm: Any = rows.sparkSession._jvm  # noqa: SLF001 - Spark has no public way
    simple = jvm.org.apache.spark.sql.execution.ExplainMode.fromString("simple")
    explained = rows._jdf.where("true").queryExecution().explainString(simple)  # noqa: SLF001
    return str(explained).partition("== Physical Plan ==\n")[2]
