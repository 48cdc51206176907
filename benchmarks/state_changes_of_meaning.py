"""Changes for `benchmarks/state_changes.py` that are hard to see in a plan, and give other results.

Each was once passed over, or is near to one that was.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import cache, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.state_versions import Version

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    Frame = Callable[[DataFrame], DataFrame]

_ZONE, _ANSI = "spark.sql.session.timeZone", "spark.sql.ansi.enabled"


@cache
def _table(name: str, *lines: str) -> str:
    """Return the path of a directory with a CSV file."""
    directory = Path(tempfile.mkdtemp(prefix="state-changes-")) / name
    directory.mkdir()
    (directory / "rows.csv").write_text("".join(f"{line}\n" for line in lines))
    return str(directory)


def _letters() -> str:
    return _table("letters", "a;A,1", "b;B,30")


def _others() -> str:
    return _table("others", "A;a,20", "5;5,2")


def _total(prepare: Frame, **settings: str) -> Version:
    from pyspark.sql import functions as F

    return Version(
        lambda rows, _, __: prepare(rows).groupBy("key").agg(F.sum("value").alias("n")), "update", 1, settings
    )


def _key(key: str, settings: Mapping[str, str] | None = None, aggregate: str = "sum(value)") -> Version:
    from pyspark.sql import functions as F

    def build(rows: DataFrame, _: DataFrame, __: object) -> DataFrame:
        return rows.groupBy(F.expr(key).alias("k")).agg(F.expr(aggregate).alias("n"))

    return Version(build, "update", 1, settings or {})


def _sql(text: str) -> Version:
    def build(rows: DataFrame, _: DataFrame, __: object) -> DataFrame:
        rows.createOrReplaceTempView("events")
        columns = "name STRING, least DOUBLE"
        for name, path in (("letters", _letters()), ("others", _others())):
            rows.sparkSession.read.schema(columns).csv(path).createOrReplaceTempView(name)
        return rows.sparkSession.sql(f"{text} GROUP BY key")

    return Version(build, "update", 1)


def _plans() -> dict[str, Mapping[str, Version]]:
    from pyspark.sql import functions as F

    def joined(*parts: str) -> Version:
        condition = " AND ".join(("a.id = b.id", "b.at BETWEEN a.at AND a.at", *parts))

        def build(rows: DataFrame, others: DataFrame, _: object) -> DataFrame:
            left, right = (frame.withWatermark("at", "10 seconds") for frame in (rows, others))
            return left.alias("a").join(right.alias("b"), F.expr(condition)).select("a.id", "b.value")

        return Version(build)

    def union(*branches: tuple[str, str]) -> Version:
        def build(rows: DataFrame, others: DataFrame, _: object) -> DataFrame:
            selected = [frame.selectExpr(f"{key} AS k", f"{value} AS v") for (key, value), frame
                        in zip(branches, (rows, others), strict=True)]  # fmt: skip
            return reduce(lambda one, other: one.union(other), selected).groupBy("k").agg(F.sum("v").alias("n"))

        return Version(build, "update", 1)

    def sampled(*samples: tuple[float, int]) -> Version:
        def prepare(rows: DataFrame) -> DataFrame:
            numbers = rows.sparkSession.range(0, 60, 1, 1)  # Spark does not sample streams
            return rows.join(reduce(lambda table, sample: table.sample(*sample), samples, numbers), "id")

        return _total(prepare)

    def grouped(way: str) -> Version:
        return Version(lambda rows, _, __: getattr(rows, way)("key", "kind").agg(F.sum("value").alias("n"),
                       F.grouping_id().alias("level")).select("key", "kind", "level", "n"), "update", 3)  # fmt: skip

    least = "SELECT key, sum(value) AS n FROM events WHERE value > (SELECT {} FROM {})"
    known = "SELECT key, sum(value) AS n FROM events WHERE lower(key) {} (SELECT {} FROM {} {})"
    common = "WITH e AS (SELECT {} AS key, value FROM events WHERE value > {}) SELECT key, sum(value) AS n FROM e"
    return {
        "sample": {
            "half": sampled((0.5, 1)), "a fifth": sampled((0.2, 1)), "another seed": sampled((0.5, 7)),
            "of a sample": sampled((0.5, 1), (0.5, 2)),
        },
        "scalar subquery": {
            "max": _sql(least.format("max(least)", "letters")), "min": _sql(least.format("min(least)", "letters")),
            "table": _sql(least.format("max(least)", "others")),
            "filter": _sql(least.format("max(least)", "letters WHERE least < 9")),
        },
        "subquery": {
            "IN": _sql(known.format("IN", "left(name, 1)", "letters", "")),
            "table": _sql(known.format("IN", "left(name, 1)", "others", "")),
            "column": _sql(known.format("IN", "lower(right(name, 1))", "letters", "WHERE least > 9")),
            "filter": _sql(known.format("IN", "left(name, 1)", "letters", "WHERE least > 9")),
            "NOT IN": _sql(known.format("NOT IN", "left(name, 1)", "letters", "")),
        },
        "common table expression": {
            "key": _sql(common.format("key", 5)), "kind": _sql(common.format("kind", 5)),
            "filter": _sql(common.format("key", 30)),
        },
        "paired inputs": {
            "12": union(("'a'", "value"), ("'b'", "1d")), "21": union(("'b'", "value"), ("'a'", "1d")),
            "11": union(("'a'", "value"), ("'a'", "1d")),
        },
        "constant side of a join": {
            "x": joined("b.kind = 'x'"), "y": joined("b.kind = 'y'"), "on the left": joined("'x' = a.kind"),
        },
        "grouping sets": {"rollup": grouped("rollup"), "cube": grouped("cube")},
        "unpivot": {
            column: Version(lambda rows, _, __, column=column, id=id: rows.unpivot(id, [column], "c", "v").groupBy("v")
                            .count(), "update", 1)  # type: ignore[misc]
            for column, id in (("kind", "key"), ("key", "kind"))
        },
        "row without nulls": {
            "one": _total(lambda rows: rows.dropna(subset=["kind"])), "key": _total(lambda rows: rows.dropna(thresh=6)),
        },
    }  # fmt: skip


def _values() -> dict[str, Mapping[str, Version]]:
    instant = "if(at > TIMESTAMP '2024-01-01 00:00:30', 'late', 'early')"
    legacy = {_ANSI: "false"}
    dates = "string(from_json(concat('{{\"d\": \"0', id % 9 + 1, '/02/2024\"}}'), 'd DATE', map('dateFormat', '{}')).d)"
    return {
        "instant": {"UTC": _key(instant, {_ZONE: "UTC"}), "New York": _key(instant, {_ZONE: "America/New_York"})},
        "bytes": {
            byte: _key(f"if(cast(key AS BINARY) = X'{byte}', key, 'z')") for byte in ("61", "62")
        },
        "LIKE": {
            "plain": _key("if(concat('_', key) LIKE '/_a', 1, 2)"),
            "escape": _key("if(concat('_', key) LIKE '/_a' ESCAPE '/', 1, 2)"),
        },
        "options of from_json": {"day": _key(dates.format("dd/MM/yyyy")), "month": _key(dates.format("MM/dd/yyyy"))},
        "options of from_csv": {
            "semicolon": _key("from_csv(concat(key, ';1,2'), 'a STRING, b STRING', map('sep', ';')).a"),
            "comma": _key("from_csv(concat(key, ';1,2'), 'a STRING, b STRING', map('sep', ',')).a"),
        },
        "options of to_json": {
            "nulls": _key("to_json(struct(kind), map('ignoreNullFields', 'false'))"),
            "no nulls": _key("to_json(struct(kind), map('ignoreNullFields', 'true'))"),
        },
        "collation": {
            "binary": _key("string(key = 'a')"), "cast": _key("string(CAST(key AS STRING COLLATE UTF8_LCASE) = 'a')"),
            "collate": _key("string(collate(key, 'UTF8_LCASE') = 'a')"),
        },
        "overflow": {
            "cast": _key("CAST(value * 1e9 AS INT)", legacy), "try_cast": _key("TRY_CAST(value * 1e9 AS INT)", legacy),
        },
        "overflow in a step": {
            "+": _step("int(value) + 2147483640", legacy), "try_add": _step("try_add(int(value), 2147483640)", legacy),
        },
        "overflow of a total": {
            "sum": _key("key", legacy, "sum(id * 500000000000000000)"),
            "try_sum": _key("key", legacy, "try_sum(id * 500000000000000000)"),
        },
        "large windows": {
            "12 days": _key("string(window(at, '1234567 seconds').start)"),
            "a second more": _key("string(window(at, '1234568 seconds').start)"),
        },
        "nulls in JSON": {
            value: _key("to_json(struct(kind))", {"spark.sql.jsonGenerator.ignoreNullFields": value})
            for value in ("true", "false")
        },
        "letter case of ICU": {
            value: _key("upper(concat(key, decode(X'C593', 'UTF-8')))", {"spark.sql.icu.caseMappings.enabled": value})
            for value in ("true", "false")
        },
        "offset of windows": {
            "0": _windows("10 seconds", "10 seconds", "0 seconds"),
            "3": _windows("10 seconds", "10 seconds", "3 seconds"),
            "-3": _windows("10 seconds", "10 seconds", "-3 seconds"),
            "sliding": _windows("10 seconds", "5 seconds", "1 second"),
        },
        "watermark of a window": {"1 second": _nested("1 second"), "40 seconds": _nested("40 seconds")},
    }  # fmt: skip


def _step(text: str, settings: Mapping[str, str]) -> Version:
    return Version(lambda rows, _, __: rows.selectExpr(f"{text} AS key").groupBy("key").count(), "update", 1, settings)


def _windows(*window: str) -> Version:
    from pyspark.sql import functions as F

    return Version(lambda rows, _, __: rows.withWatermark("at", "10 seconds").groupBy(F.window("at", *window)).count())


def _nested(delay: str) -> Version:
    from pyspark.sql import functions as F

    def build(rows: DataFrame, _: DataFrame, __: object) -> DataFrame:
        totals = (
            rows.withWatermark("at", delay).groupBy(F.window("at", "5 seconds"), "key").agg(F.sum("value").alias("n"))
        )
        return totals.groupBy(F.window(F.window_time("window"), "20 seconds")).agg(F.max("n"))

    return Version(build)


def _sources() -> dict[str, Mapping[str, Version]]:
    from pyspark.sql import functions as F

    def own(path: Callable[[], str], **options: str) -> Version:
        def build(rows: DataFrame, _: DataFrame, __: object) -> DataFrame:
            reader = rows.sparkSession.readStream.schema("key STRING, value DOUBLE").options(**options).name("own")
            return reader.csv(path()).groupBy("key").agg(F.sum("value").alias("n"))

        return Version(build, "update", 1)

    def table(path: Callable[[], str], **options: str) -> Version:
        def prepare(rows: DataFrame) -> DataFrame:
            names = rows.sparkSession.read.schema("key STRING, more STRING").options(**options).csv(path())
            return rows.join(names, "key", "left").withColumn("value", F.length("more") + F.col("value"))

        return _total(prepare)

    return {
        "own source": {"path": own(_letters), "another path": own(_others), "separator": own(_letters, sep=";")},
        "options of a table": {
            "comma": table(_letters), "semicolon": table(_letters, sep=";"), "path": table(_others),
        },
    }  # fmt: skip


def _twice(x: Any) -> Any:
    return x * 0 + (len(x) if hasattr(x, "mean") else 1)


def _hour(at: datetime) -> str:
    return str(at.hour)


def _new_year(key: str) -> datetime:
    return datetime(2024, 1, 1, len(key))


def _functions() -> dict[str, Mapping[str, Version]]:
    from pyspark.sql import functions as F
    from pyspark.sql.pandas.functions import PandasUDFType, pandas_udf

    def called(function: Any, column: str, zone: str = "UTC") -> Version:
        return Version(lambda rows, _, __: rows.groupBy(function()(column).cast("string").alias("k")).agg(
            F.sum("value").alias("n")), "update", 1, {_ZONE: zone})  # fmt: skip

    return {
        "kind of function": {
            "plain": called(lambda: F.udf(_twice, "double"), "value"),
            "pandas": called(lambda: pandas_udf(_twice, "double", PandasUDFType.SCALAR), "value"),
            "type": called(lambda: F.udf(_twice, "int"), "value"),
        },
        "zone of an argument": {
            "UTC": called(lambda: F.udf(_hour, "string"), "at", zone="UTC"),
            "New York": called(lambda: F.udf(_hour, "string"), "at", zone="America/New_York"),
        },
        "zone of a result": {
            "UTC": called(lambda: F.udf(_new_year, "timestamp"), "key", zone="UTC"),
            "New York": called(lambda: F.udf(_new_year, "timestamp"), "key", zone="America/New_York"),
        },
        "rows in pandas": {"5": _total(_above(5)), "30": _total(_above(30))},
        "processor": {str(step): _processed(step) for step in (1, 2)},
    }  # fmt: skip


def _above(least: int) -> Frame:
    def above(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            yield batch[batch.value > least]

    return lambda rows: rows.mapInPandas(above, rows.schema)


def _processed(step: int) -> Version:
    def build(rows: DataFrame, _: DataFrame, __: object) -> DataFrame:
        import pandas as pd
        from pyspark.sql.streaming.stateful_processor import StatefulProcessor

        class Counter(StatefulProcessor):
            def init(self, handle: Any) -> None:
                self.count = handle.getValueState("count", "n LONG")

            def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
                before = self.count.get()[0] if self.count.exists() else 0
                now = before + step * sum(len(batch) for batch in rows)
                self.count.update((now,))
                yield pd.DataFrame({"k": [key[0]], "n": [now]})

            def close(self) -> None:
                pass

        return rows.groupBy("key").transformWithStateInPandas(Counter(), "k STRING, n LONG", "update", "none")

    return Version(build, "update", 1, {"spark.sql.streaming.stateStore.providerClass":
                   "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"})  # fmt: skip


def meaning_families() -> dict[str, Mapping[str, Version]]:
    """Return the versions by family."""
    return _plans() | _values() | _sources() | _functions()
