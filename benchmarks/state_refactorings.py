"""Refactorings of stateful queries for `benchmarks/state_changes.py`: other words for the same results.

The first version of each family has run; the others give the same results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from benchmarks.state_versions import Version

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    Frame = Callable[[DataFrame], DataFrame]
    Columns = Callable[[DataFrame], Column]


def _key(key: str | Columns, aggregate: str | Columns = "sum(value)") -> Version:
    from pyspark.sql import functions as F

    def build(rows: DataFrame, _: DataFrame, __: object) -> DataFrame:
        k, n = (F.expr(part) if isinstance(part, str) else part(rows) for part in (key, aggregate))
        return rows.groupBy(k.alias("k")).agg(n.alias("n"))

    return Version(build, "update", 1)


def _of(aggregate: str | Columns) -> Version:
    return _key("key", aggregate)


def _prepared(prepare: Frame, key: str = "key", value: str = "value") -> Version:
    from pyspark.sql import functions as F

    return Version(lambda rows, _, __: prepare(rows).groupBy(key).agg(F.sum(value).alias("n")), "update", 1)


def _sql(text: str) -> Version:
    def build(rows: DataFrame, _: DataFrame, __: object) -> DataFrame:
        rows.createOrReplaceTempView("events")
        return rows.sparkSession.sql(text)

    return Version(build, "update", 1)


def _late(frame: Frame) -> Version:
    return Version(lambda rows, _, __: frame(rows.withWatermark("at", "10 seconds")))


def _joined(join: Callable[[DataFrame, DataFrame], DataFrame]) -> Version:
    def build(rows: DataFrame, others: DataFrame, _: object) -> DataFrame:
        left, right = (frame.withWatermark("at", "10 seconds") for frame in (rows.alias("a"), others.alias("b")))
        return join(left.alias("a"), right.alias("b")).select("a.id", "b.value")

    return Version(build)


def _expressions() -> dict[str, Mapping[str, Version]]:
    from pyspark.sql import functions as F

    return {
        "same choice": {
            "if": _key("if(value > 5, key, 'low')"),
            "CASE": _key("CASE WHEN value > 5 THEN key ELSE 'low' END"),
            "sides exchanged": _key("if(5 < value, key, 'low')"),
            "negated": _key("if(NOT value <= 5, key, 'low')"),
            "branches exchanged": _key("if(value <= 5, 'low', key)"),
            "when": _key(lambda rows: F.when(F.col("value") > 5, F.col("key")).otherwise("low")),
            "a double": _key("if(value > 5.0, key, 'low')"),
            "calculated": _key("if(value > 2 + 3, key, 'low')"),
        },
        "same default": {
            "coalesce": _key("coalesce(kind, 'none')"),
            "nvl": _key("nvl(kind, 'none')"),
            "ifnull": _key("ifnull(kind, 'none')"),
            "F.coalesce": _key(lambda rows: F.coalesce(rows.kind, F.lit("none"))),
            "CASE": _key("CASE WHEN kind IS NULL THEN 'none' ELSE kind END"),
            "nvl2": _key("nvl2(kind, kind, 'none')"),
            "nested": _key("coalesce(coalesce(kind, null), 'none')"),
            "fillna": Version(lambda rows, _, __: rows.fillna("none", ["kind"]).groupBy("kind").agg(
                F.sum("value").alias("n")), "update", 1),
        },
        "same number": {
            "floor": _key("string(floor(value / 3600 * 60))"),
            "calculated": _key("string(floor(value / (60 * 60) * 60))"),
            "double": _key("string(floor(value / 3600d * 60.0))"),
            "cast": _key("CAST(floor(value / 3600 * 60) AS STRING)"),
            "functions": _key(lambda rows: F.floor(60 * (F.col("value") / 3600)).cast("string")),
        },
        "same text": {
            "concat": _key("concat(key, '-', coalesce(kind, ''))"),
            "||": _key("key || '-' || coalesce(kind, '')"),
            "F.concat": _key(lambda rows: F.concat("key", F.lit("-"), F.coalesce("kind", F.lit("")))),
        },
        "same letter": {
            "substring": _key("substring(key, 1, 1)"), "substr": _key("substr(key, 1, 1)"),
            "left": _key("left(key, 1)"), "Column.substr": _key(lambda rows: rows["key"].substr(1, 1)),
            "FROM": _key("substring(key FROM 1 FOR 1)"),
        },
        "same day": {
            "to_date": _key("string(to_date(at))"), "date": _key("string(date(at))"),
            "cast": _key("CAST(CAST(at AS DATE) AS STRING)"),
            "F.to_date": _key(lambda rows: F.to_date("at").cast("string")),
        },
        "same hour": {
            "hour": _key("string(hour(at))"), "extract": _key("string(EXTRACT(HOUR FROM at))"),
            "date_part": _key("string(date_part('hour', at))"),
        },
        "same set": {
            "IN": _key("string(key IN ('a', 'b'))"), "exchanged": _key("string(key IN ('b', 'a'))"),
            "OR": _key("string(key = 'a' OR key = 'b')"), "twice": _key("string(key IN ('a', 'b', 'a'))"),
            "isin": _key(lambda rows: F.col("key").isin("b", "a").cast("string")),
            "literals first": _key("string('b' = key OR 'a' = key)"),
        },
        "same total": {
            "sum": _of("sum(value * 2)"), "exchanged": _of("sum(2 * value)"), "decimal": _of("sum(value * 2.0)"),
            "F.sum": _of(lambda rows: F.sum(F.col("value") * 2)), "attribute": _of(lambda rows: F.sum(2 * rows.value)),
            "calculated": _of("sum(value * (1 + 1))"), "F.expr": _of(lambda rows: F.sum(F.expr("value * 2"))),
            "name": Version(lambda rows, _, __: rows.groupBy(F.col("key").alias("k")).agg(
                F.sum(F.col("value") * 2).alias("total")), "update", 1),
        },
        "same count": {
            "count(*)": _of("count(*)"), "count(1)": _of("count(1)"), "literal": _of(lambda rows: F.count(F.lit(1))),
            "star": _of(lambda rows: F.count("*")), "another literal": _of("count('x')"),
            "GroupedData.count": Version(lambda rows, _, __: rows.groupBy("key").count(), "update", 1),
        },
        "same mean": {
            "avg": _of("avg(value)"), "mean": _of("mean(value)"), "F.mean": _of(lambda rows: F.mean("value")),
            "GroupedData.avg": Version(lambda rows, _, __: rows.groupBy("key").avg("value"), "update", 1),
        },
        "same condition in a total": {
            "if": _of("sum(if(value > 5 AND kind = 'x', value, 0d))"),
            "exchanged": _of("sum(if(kind = 'x' AND value > 5, value, 0d))"),
            "nested": _of("sum(CASE WHEN 'x' = kind AND 5 < value THEN value ELSE 0 END)"),
            "when": _of(lambda rows: F.sum(F.when((F.col("kind") == "x") & (rows.value > 5), rows.value).otherwise(0))),
            "boolean column": Version(lambda rows, _, __: rows.withColumn("big", F.col("value") > 5).groupBy("key").agg(
                F.sum(F.expr("if(big AND kind = 'x', value, 0d)")).alias("n")), "update", 1),
        },
    }  # fmt: skip


def _steps() -> dict[str, Mapping[str, Version]]:
    from pyspark.sql import functions as F

    def scaled(rows: DataFrame) -> DataFrame:
        return rows.withColumn("value", F.col("value") * 2)

    wanted = "value > 5 AND kind IS NOT NULL"
    return {
        "same filter": {
            "where": _prepared(lambda rows: rows.where(wanted)),
            "two": _prepared(lambda rows: rows.where("value > 5").where("kind IS NOT NULL")),
            "exchanged": _prepared(lambda rows: rows.where("kind IS NOT NULL AND 5 < value")),
            "negated": _prepared(lambda rows: rows.where("NOT (value <= 5 OR kind IS NULL)")),
            "columns": _prepared(lambda rows: rows.filter((F.col("value") > 5) & rows.kind.isNotNull())),
            "after a projection": _prepared(lambda rows: rows.select("key", "value", "kind").where(wanted)),
            "by a column": _prepared(lambda rows: rows.withColumn("ok", F.expr(wanted)).where("ok")),
        },
        "same steps": {
            "one": _prepared(lambda rows: rows.withColumn("value", F.col("value") * 2)),
            "a function": _prepared(lambda rows: rows.transform(scaled)),
            "select": _prepared(lambda rows: rows.select("key", (F.col("value") * 2).alias("value"))),
            "selectExpr": _prepared(lambda rows: rows.selectExpr("key", "value * 2 AS value", "id")),
            "withColumns": _prepared(lambda rows: rows.withColumns({"value": rows.value * 2, "more": F.lit(1)})),
            "renamed": _prepared(lambda rows: scaled(rows).withColumnRenamed("value", "v"), value="v"),
            "another key name": _prepared(lambda rows: scaled(rows.withColumnRenamed("key", "k")), "k"),
            "dropped": _prepared(lambda rows: scaled(rows).drop("seen", "kind")),
            "constant column": _prepared(lambda rows: rows.withColumn("factor", F.lit(2)).withColumn(
                "value", F.col("value") * F.col("factor"))),
            "alias": _prepared(lambda rows: scaled(rows.alias("e"))),
            "repartitioned": _prepared(lambda rows: scaled(rows.repartition(2))),
        },
        "same SQL": {
            "DataFrame": Version(lambda rows, _, __: rows.where("value > 5").groupBy(F.col("key").alias("k")).agg(
                F.sum("value").alias("n")), "update", 1),
            "SQL": _sql("SELECT key AS k, sum(value) AS n FROM events WHERE value > 5 GROUP BY key"),
            "CTE": _sql("WITH big AS (SELECT * FROM events WHERE 5 < value) "
                        "SELECT key k, SUM(value) n FROM big GROUP BY key"),
            "subquery": _sql("SELECT k, sum(v) n FROM (SELECT key k, value v FROM events WHERE value > 5) GROUP BY k"),
            "ordinal": _sql("SELECT e.key AS k, sum(e.value) AS n FROM events e WHERE e.value > 5 GROUP BY 1"),
        },
        "same deduplication": {
            "one": Version(lambda rows, _, __: rows.dropDuplicates(["key", "kind"]).select("key", "kind")),
            "renamed": Version(lambda rows, _, __: rows.selectExpr("key AS k", "kind AS i").dropDuplicates(["k", "i"])),
            "more columns": Version(lambda rows, _, __: rows.withColumn("x", F.lit(1)).dropDuplicates(
                ["key", "kind"]).select("key", "kind")),
            "another call": Version(lambda rows, _, __: rows.drop_duplicates(["key", "kind"]).select("key", "kind")),
        },
    }  # fmt: skip


def _times() -> dict[str, Mapping[str, Version]]:
    from pyspark.sql import functions as F

    def windowed(*window: str) -> Version:
        return _late(lambda rows: rows.groupBy(F.window("at", *window), "key").count())

    def on(condition: str) -> Version:
        return _joined(lambda a, b: a.join(b, F.expr(condition)))

    near = "b.at BETWEEN a.at AND a.at + INTERVAL 1 MINUTE"
    at, other = "`a`.`at`", "`b`.`at`"
    return {
        "same windows": {
            "1 minute": windowed("1 minute"), "60 seconds": windowed("60 seconds"),
            "slide": windowed("1 minute", "60 seconds"),
            "start": windowed("1 minute", "1 minute", "0 seconds"),
            "SQL": _late(lambda rows: rows.groupBy(F.expr("window(at, 'interval 1 minute')"), "key").count()),
            "a column": _late(lambda rows: rows.withColumn("window", F.window(F.col("at"), "1 minute")).groupBy(
                "window", "key").count()),
            "another name": _late(lambda rows: rows.withColumnRenamed("key", "k").groupBy(
                F.window("at", "1 minute").alias("w"), F.col("k")).agg(F.count("*").alias("count"))),
            "delay": Version(lambda rows, _, __: rows.withWatermark("at", "10000 milliseconds").groupBy(
                F.window("at", "1 minute"), "key").count()),
        },
        "same sessions": {
            "5 seconds": _late(lambda rows: rows.groupBy(F.session_window("at", "5 seconds"), "key").count()),
            "5000 ms": _late(lambda rows: rows.groupBy(F.session_window("at", "5000 milliseconds"), "key").count()),
            "SQL": _late(lambda rows: rows.groupBy(F.expr("session_window(at, '5 seconds')"), "key").count()),
        },
        "same join": {
            "BETWEEN": on(f"a.key = b.key AND {near}"),
            "exchanged": on(f"{near} AND b.key = a.key"),
            "60 seconds": on("a.key = b.key AND b.at BETWEEN a.at AND a.at + INTERVAL 60 SECONDS"),
            ">=": on("a.key = b.key AND b.at >= a.at AND b.at <= a.at + INTERVAL 1 MINUTE"),
            "<=": on("a.key = b.key AND a.at <= b.at AND a.at + INTERVAL '60' SECOND >= b.at"),
            "columns": _joined(lambda a, b: a.join(b, (F.col("a.key") == F.col("b.key")) & F.col(other).between(
                F.col(at), F.col(at) + F.expr("INTERVAL 1 MINUTE")))),
            "list": _joined(lambda a, b: a.join(b, [F.col("a.key") == F.col("b.key"), F.expr(near)])),
            "inner": _joined(lambda a, b: a.join(b, F.expr(f"a.key = b.key AND {near}"), "inner")),
        },
    }  # fmt: skip


def _rate(x: float) -> float:
    return x * 2


def _renamed_rate(amount: float) -> float:
    """Return twice an amount."""
    # A comment, another name of the function and its argument, and a docstring.
    return amount * 2


def _annotated_rate(x: Any) -> Any:
    return x * 2


def _with_helper(x: float) -> float:
    return _rate(x)


_lambda_rate = lambda x: x * 2  # noqa: E731 - the way of writing is the case


class _Rates:
    @staticmethod
    def moved(x: float) -> float:
        return x * 2


def _python() -> dict[str, Mapping[str, Version]]:
    from pyspark.sql import functions as F
    from pyspark.sql.types import DoubleType

    def with_(function: Callable[..., Any], type: Any = "double") -> Version:
        return _of(lambda rows: F.sum(F.udf(function, type)("value")))

    return {
        "same function": {
            "def": with_(_rate), "renamed": with_(_renamed_rate), "annotated": with_(_annotated_rate),
            "lambda": with_(_lambda_rate), "in a class": with_(_Rates.moved), "type": with_(_rate, DoubleType()),
            "helper": with_(_with_helper), "in SQL": _registered(_rate),
        },
    }  # fmt: skip


def _registered(function: Callable[..., Any]) -> Version:
    def build(rows: DataFrame, _: DataFrame, __: object) -> DataFrame:
        rows.sparkSession.udf.register("rate", function, "double")
        rows.createOrReplaceTempView("events")
        return rows.sparkSession.sql("SELECT key AS k, sum(rate(value)) AS n FROM events GROUP BY key")

    return Version(build, "update", 1)


def refactoring_families() -> dict[str, Mapping[str, Version]]:
    """Return the versions by family."""
    return _expressions() | _steps() | _times() | _python()
