"""Changes of stateful queries for `benchmarks/state_changes.py`, generated from alternatives of each part of a query.

A family is a query with one part left open. Its first alternative is the version that has run; each other one is a
change. Alternatives of keys are crossed with the operators that have keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from benchmarks.state_changes_of_meaning import meaning_families
from benchmarks.state_refactorings import refactoring_families
from benchmarks.state_versions import Case, Version

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KEYS = (
    "key", "kind", "upper(key)", "lower(key)", "concat(key, 'x')", "concat(key, ', x')", "substring(key, 1, 1)",
    "coalesce(kind, 'none')", "if(value > 5, key, 'low')", "if(value > 30, key, 'low')", "string(floor(value / 10))",
    "string(floor(value / 100))", "string(to_date(at))", "string(to_date(seen))", "string(key)",
)  # fmt: skip
"""Expressions of one type, by which records are grouped, joined and compared."""
AGGREGATES = (
    "sum(value)", "sum(value * 2)", "sum(abs(value))", "sum(value) filter (where value > 5)",
    "sum(value) filter (where value > 25)", "sum(if(value > 5, value, 0d))", "avg(value)", "max(value)", "min(value)",
    "max_by(value, at)", "min_by(value, at)", "max_by(value, seen)", "first(value)", "last(value)", "stddev(value)",
    "variance(value)", "count(value)", "double(sum(value))",
)  # fmt: skip


def _late(rows: DataFrame, delay: str = "10 seconds", column: str = "at") -> DataFrame:
    return rows.withWatermark(column, delay)


def _grouped(key: str, aggregate: str = "sum(value)") -> Version:
    from pyspark.sql import functions as F

    def build(rows: DataFrame, _: DataFrame, __: object) -> DataFrame:
        return rows.groupBy(F.expr(key).alias("k")).agg(F.expr(aggregate).alias("n"))

    return Version(build, "update", 1)


def _in_sql(key: str, aggregate: str = "sum(value)") -> Version:
    def build(rows: DataFrame, _: DataFrame, __: object) -> DataFrame:
        rows.createOrReplaceTempView("events")
        return rows.sparkSession.sql(f"SELECT {key} AS k, {aggregate} AS n FROM events GROUP BY {key}")

    return Version(build, "update", 1)


def _windowed(key: str) -> Version:
    from pyspark.sql import functions as F

    def build(rows: DataFrame, _: DataFrame, __: object) -> DataFrame:
        keyed = _late(rows).withColumn("k", F.expr(key))
        return keyed.groupBy(F.window("at", "10 seconds"), "k").agg(F.sum("value").alias("n"))

    return Version(build)


def _deduplicated(key: str) -> Version:
    from pyspark.sql import functions as F

    return Version(lambda rows, _, __: rows.withColumn("k", F.expr(key)).dropDuplicates(["k"]).select("k"))


def _joined(key: str, span: str = "1 minute", how: str = "inner", column: str = "value") -> Version:
    from pyspark.sql import functions as F

    def build(rows: DataFrame, others: DataFrame, _: object) -> DataFrame:
        left = _late(rows).withColumn("k", F.expr(key)).alias("a")
        right = _late(others).withColumn("k", F.expr("key")).alias("b")
        near = F.expr(f"a.k = b.k AND b.at BETWEEN a.at AND a.at + INTERVAL {span}")
        return left.join(right, near, how).select("a.id", f"b.{column}")

    return Version(build)


def _steps() -> dict[str, Version]:
    """Return the same query in other words, and others in almost the same words."""
    from pyspark.sql import functions as F

    total = F.sum("value").alias("n")

    def grouped(prepare: Callable[[DataFrame], DataFrame], *keys: str) -> Version:
        return Version(lambda rows, _, __: prepare(rows).groupBy(*keys).agg(total), "update", 1)

    return {
        "by key": grouped(lambda rows: rows, "key"),
        "by a copy of it": grouped(lambda rows: rows.withColumn("x", F.col("key")), "x"),
        "by a copy of a copy": grouped(lambda rows: rows.select("*", F.col("key").alias("x")).selectExpr(
            "x AS y", "value"), "y"),
        "by the copy of another": grouped(lambda rows: rows.withColumn("x", F.col("kind")), "x"),
        "by another of its name": grouped(lambda rows: rows.withColumn("key", F.col("kind")), "key"),
        "with a column more": grouped(lambda rows: rows.withColumn("unused", F.lit(1)), "key"),
        "without other columns": grouped(lambda rows: rows.select("key", "value"), "key"),
        "of another value": grouped(lambda rows: rows.withColumn("value", F.col("value") + 1), "key"),
        "of some": grouped(lambda rows: rows.where("value > 5"), "key"),
        "of none less": grouped(lambda rows: rows.where("value > -5"), "key"),
        "after deduplication": grouped(lambda rows: rows.dropDuplicates(["id"]), "key"),
    }  # fmt: skip


def _rate(x: float) -> float:
    return x * 2


def _other_rate(x: float) -> float:
    return x * 3


def _python(rate: Callable[[float], float], start: int) -> Version:
    """Return a query whose aggregate has a function of Python, with a function and a value of its own."""
    from pyspark.sql import functions as F

    def build(rows: DataFrame, _: DataFrame, __: object) -> DataFrame:
        convert = F.udf(lambda value: rate(value) + start, "double")
        return rows.groupBy("key").agg(F.sum(convert("value")).alias("n"))

    return Version(build, "update", 1)


def _with_state(step: int, key: str = "key") -> Version:
    def build(rows: DataFrame, _: DataFrame, __: object) -> DataFrame:
        import pandas as pd
        from pyspark.sql.streaming.state import GroupStateTimeout

        def count(group: Any, batches: Iterator[Any], state: Any) -> Iterator[Any]:
            before = state.get[0] if state.exists else 0
            now = before + step * sum(len(batch) for batch in batches)
            state.update((now,))
            yield pd.DataFrame({"k": [group[0]], "n": [now]})

        grouped = rows.groupBy(key)
        return grouped.applyInPandasWithState(
            count, "k string, n long", "n long", "update", GroupStateTimeout.NoTimeout
        )

    return Version(build, "update", 1)


def _windows(length: str, slide: str | None = None, delay: str = "10 seconds", time: str = "at") -> Version:
    from pyspark.sql import functions as F

    def build(rows: DataFrame, _: DataFrame, __: object) -> DataFrame:
        return _late(rows, delay, time).groupBy(F.window(time, length, slide), "key").count()

    return Version(build)


def _sessions(gap: str, time: str = "at") -> Version:
    from pyspark.sql import functions as F

    def build(rows: DataFrame, _: DataFrame, __: object) -> DataFrame:
        return _late(rows, column=time).groupBy(F.session_window(time, gap), "key").count()

    return Version(build)


def _set(text: str, **settings: str) -> Version:
    from pyspark.sql import functions as F

    names = {"zone": "spark.sql.session.timeZone", "ansi": "spark.sql.ansi.enabled",
             "case": "spark.sql.caseSensitive", "sizes": "spark.sql.legacy.sizeOfNull"}  # fmt: skip

    def build(rows: DataFrame, _: DataFrame, __: object) -> DataFrame:
        return rows.groupBy(F.expr(text).cast("string").alias("k")).agg(F.sum("value").alias("n"))

    return Version(build, "update", 1, {names[name]: value for name, value in settings.items()})


def _parameter(where: str, limit: int) -> Version:
    from pyspark.sql import functions as F

    def build(rows: DataFrame, _: DataFrame, parameters: Mapping[str, Any]) -> DataFrame:
        value = parameters["limit"]
        match where:
            case "key":
                rows = rows.withColumn("key", F.floor(F.col("value") / value).cast("string"))
            case "filter":
                rows = rows.where(F.col("value") > value)
            case "aggregate":
                rows = rows.withColumn("value", F.col("value") * value)
        return rows.groupBy("key").agg(F.sum("value").alias("n"))

    return Version(build, "update", 1, parameters={"limit": limit})


def _families() -> dict[str, Mapping[str, Version]]:
    few = [key for key in KEYS if "concat" not in key and "/" not in key]
    return {
        "group": {key: _grouped(key) for key in KEYS},
        "group in SQL": {key: _in_sql(key) for key in KEYS[:11]},
        "window and key": {key: _windowed(key) for key in few},
        "deduplicate": {key: _deduplicated(key) for key in KEYS[:11]},
        "join": {key: _joined(key) for key in few},
        "aggregate": {text: _grouped("key", text) for text in AGGREGATES},
        "aggregate in SQL": {text: _in_sql("key", text) for text in AGGREGATES[:6]},
        "steps": _steps(),
        "windows": {
            "10 s": _windows("10 seconds"), "20 s": _windows("20 seconds"),
            "sliding": _windows("10 seconds", "5 seconds"),
            "10000 ms": _windows("10000 milliseconds"), "of another time": _windows("10 seconds", time="seen"),
            "later": _windows("10 seconds", delay="1 hour"), "sooner": _windows("10 seconds", delay="1 second"),
        },
        "sessions": {
            "5 s": _sessions("5 seconds"), "20 s": _sessions("20 seconds"), "other": _sessions("5 seconds", "seen"),
        },
        "join rows": {
            "1 minute": _joined("key"), "2 minutes": _joined("key", "2 minutes"), "outer": _joined("key", how="left"),
            "id": _joined("key", column="kind"), "60 s": _joined("key", "60 seconds"),
        },
        "python": {
            "twice": _python(_rate, 0), "thrice": _python(_other_rate, 0), "from 1": _python(_rate, 1),
            "same": _python(_rate, 0),
        },
        "with state": {"1": _with_state(1), "2": _with_state(2), "kind": _with_state(1, "kind"), "=": _with_state(1)},
        "day in UTC": {
            "UTC": _set("to_date(at)", zone="UTC"), "New York": _set("to_date(at)", zone="America/New_York"),
            "Etc": _set("to_date(at)", zone="UTC", case="true"),
        },
        "key in UTC": {"UTC": _set("key", zone="UTC"), "New York": _set("key", zone="America/New_York")},
        "number": {
            "ansi": _set("try_cast(key AS int)", ansi="true"), "not": _set("try_cast(key AS int)", ansi="false"),
        },
        "parameter in the key": {str(limit): _parameter("key", limit) for limit in (10, 100, 20)},
        "parameter in a filter": {str(limit): _parameter("filter", limit) for limit in (5, 25, 1000)},
        "parameter in the aggregate": {str(limit): _parameter("aggregate", limit) for limit in (1, 2)},
        "limit": {
            str(limit): Version(lambda rows, _, __, limit=limit: rows.select("id").limit(limit))  # type: ignore[misc]
            for limit in (10, 30, 1000)
        },
        "mode": {
            mode: Version(_grouped("key").build, mode, 1) for mode in ("update", "complete")
        },
    }  # fmt: skip


def cases(only: Iterable[str] = ()) -> list[Case]:
    """Return the changes of all families, or of some; the first of each family changes nothing."""
    return [
        Case(name, what, next(iter(versions.values())), version)
        for name, versions in (_families() | meaning_families() | refactoring_families()).items()
        if not only or name in only
        for what, version in versions.items()
    ]
