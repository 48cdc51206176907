"""Logics with known lineage: what each does, and from which columns its columns and its rows come.

A dependency is written as its kind and its column: `aggregation orders.amount`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd
from pyspark.sql import functions as F
from pyspark.sql.window import Window

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

INLETS = {
    "orders": "id long, customer string, amount double, qty int, at timestamp, tags array<string>, "
    "address struct<city: string, zip: string>, items array<struct<sku: string, price: double>>, "
    "attrs map<string, int>",
    "customers": "customer string, name string, tier string, since timestamp",
    "clicks": "user string, page string, at timestamp",
}
"""The columns of the inlets."""

Inlets = Mapping[str, "DataFrame"]


@dataclass(frozen=True)
class Case:
    """A logic and its lineage.

    Arguments:
        name: what is special about it.
        logic: makes the rows of an outlet from the inlets; a text is SQL over tables with their names.
        columns: where each column comes from.
        rows: the columns that decide about the rows.
        nested: where nested fields come from, by path.
        batch: whether it is the function of a batch, in which Spark allows more.
    """

    name: str
    logic: Callable[[Inlets], DataFrame] | str
    columns: Mapping[str, str]
    rows: str = ""
    nested: Mapping[str, str] = field(default_factory=dict)
    batch: bool = False


def _upper(rows: Iterator[Any]) -> Iterator[Any]:
    yield from rows


def _same(frame: Any) -> Any:
    return frame


def _with_state(key: Any, frames: Iterator[Any], state: Any) -> Iterator[Any]:
    yield from frames


def _grouped(function: Callable[[pd.Series], float]) -> Any:
    from pyspark.sql.pandas.functions import pandas_udf

    aggregate: Any = pandas_udf
    return aggregate(function, "double")


def _length(text):  # type: ignore[no-untyped-def]  # a hint would make it a pandas function
    return len(text)


def _mean(values: pd.Series) -> float:
    return float(values.mean())


def _transform_with_state(inlets: Inlets) -> DataFrame:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor

    class Counter(StatefulProcessor):
        def init(self, handle: Any) -> None:
            pass

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: N803 - Spark's name
            yield from rows

        def close(self) -> None:
            pass

    rows = inlets["orders"].select("customer", "amount")
    return rows.groupBy("customer").transformWithStateInPandas(Counter(), "n long", "append", "none")


def _twice(inlets: Inlets) -> DataFrame:
    orders = inlets["orders"]
    paid, refunded = orders.where("amount > 0").alias("p"), orders.where("qty < 0").alias("r")
    return paid.join(refunded, F.expr("p.id = r.id")).select(
        F.col("p.amount").alias("paid"), F.col("r.amount").alias("back")
    )


def _several_steps(inlets: Inlets) -> DataFrame:
    priced = inlets["orders"].withColumn("total", F.col("amount") * F.col("qty"))
    taxed = priced.withColumn("total", F.col("total") * 1.2).withColumnRenamed("total", "gross")
    return taxed.select("id", "gross")


def _hours(inlets: Inlets) -> DataFrame:
    grouped = inlets["orders"].withWatermark("at", "1 hour").groupBy(F.window("at", "1 hour"), "customer")
    return grouped.agg(F.sum("amount").alias("total")).select(
        F.col("window.start").alias("hour"), "customer", "total"
    )  # fmt: skip


PYTHON = (
    Case("a selection", lambda i: i["orders"].select("id", "amount"),
         {"id": "identity orders.id", "amount": "identity orders.amount"}),
    Case("a renamed column", lambda i: i["orders"].select(F.col("id").alias("number")),
         {"number": "identity orders.id"}),
    Case("a computation", lambda i: i["orders"].select((F.col("amount") * F.col("qty")).alias("total")),
         {"total": "transformation orders.amount, transformation orders.qty"}),
    Case("several steps that overwrite a column", _several_steps,
         {"id": "identity orders.id", "gross": "transformation orders.amount, transformation orders.qty"}),
    Case("a cast", lambda i: i["orders"].select(F.col("qty").cast("long").alias("qty")),
         {"qty": "transformation orders.qty"}),
    Case("a literal", lambda i: i["orders"].select("id", F.lit("shop").alias("origin")),
         {"id": "identity orders.id", "origin": ""}),
    Case("the current time", lambda i: i["orders"].select(F.current_timestamp().alias("now")), {"now": ""}),
    Case("a filter", lambda i: i["orders"].where("amount > 10 and qty = 1").select("id"),
         {"id": "identity orders.id"}, "filter orders.amount, filter orders.qty"),
    Case("a filter of a computed column",
         lambda i: i["orders"].withColumn("t", F.col("amount") * F.col("qty")).where("t > 3").select("id"),
         {"id": "identity orders.id"}, "filter orders.amount, filter orders.qty"),
    Case("a choice", lambda i: i["orders"].select(
        F.when(F.col("qty") > 5, F.col("amount")).otherwise(F.lit(0.0)).alias("large")),
        {"large": "transformation orders.amount, condition orders.qty"}),
    Case("a value for null", lambda i: i["orders"].select(F.coalesce("customer", F.col("address.city")).alias("who")),
         {"who": "transformation orders.customer, transformation orders.address.city"}),
    Case("a nested field", lambda i: i["orders"].select("address.city"), {"city": "identity orders.address.city"}),
    Case("a whole struct", lambda i: i["orders"].select("address"), {"address": "identity orders.address"}),
    Case("a struct that is made", lambda i: i["orders"].select(
        F.struct(F.col("id"), F.col("address.zip").alias("code")).alias("key")),
        {"key": "transformation orders.id, transformation orders.address.zip"},
        nested={"key.id": "identity orders.id", "key.code": "identity orders.address.zip"}),
    Case("a field of a struct that is made", lambda i: i["orders"].select(
        F.struct("id", "amount").alias("s")).select("s.amount"), {"amount": "identity orders.amount"}),
    Case("a changed field", lambda i: i["orders"].select(
        F.col("address").withField("zip", F.upper("address.zip")).alias("a")).select("a.city", "a.zip"),
        {"city": "identity orders.address.city", "zip": "transformation orders.address.zip"}),
    Case("exploded texts", lambda i: i["orders"].select("id", F.explode("tags").alias("tag")),
         {"id": "identity orders.id", "tag": "transformation orders.tags"}),
    Case("exploded structs", lambda i: i["orders"].select(F.explode("items").alias("item")).select("item.price"),
         {"price": "transformation orders.items.price"}),
    Case("a generator of two columns", lambda i: i["orders"].select(F.posexplode("tags").alias("place", "tag")),
         {"place": "transformation orders.tags", "tag": "transformation orders.tags"}),
    Case("inlined structs", lambda i: i["orders"].select(F.inline("items").alias("s", "p")),
         {"s": "transformation orders.items.sku", "p": "transformation orders.items.price"}),
    Case("an entry of a map", lambda i: i["orders"].select(F.col("attrs")["size"].alias("size")),
         {"size": "transformation orders.attrs"}),
    Case("a function of elements", lambda i: i["orders"].select(
        F.transform("items", lambda x: x["price"] * 2).alias("doubled")),
        {"doubled": "transformation orders.items.price"}),
    Case("a sum by key", lambda i: i["orders"].groupBy("customer").agg(F.sum("amount").alias("total")),
         {"customer": "identity orders.customer", "total": "aggregation orders.amount"}, "group key orders.customer"),
    Case("a count of rows", lambda i: i["orders"].groupBy("customer").count(),
         {"customer": "identity orders.customer", "count": ""}, "group key orders.customer"),
    Case("a result of two sums", lambda i: i["orders"].groupBy("customer").agg(
        (F.sum("amount") / F.sum("qty")).alias("mean")).select("mean"),
        {"mean": "aggregation orders.amount, aggregation orders.qty"}, "group key orders.customer"),
    Case("a sum with a condition", lambda i: i["orders"].groupBy("customer").agg(
        F.expr("sum(amount) filter (where qty > 1)").alias("t")).select("t"),
        {"t": "aggregation orders.amount, filter orders.qty"}, "group key orders.customer"),
    Case("the value of the latest row", lambda i: i["orders"].groupBy("customer").agg(
        F.max_by("amount", "at").alias("last")).select("last"),
        {"last": "aggregation orders.amount, sort key orders.at"}, "group key orders.customer"),
    Case("a time window", _hours,
         {"hour": "transformation orders.at", "customer": "identity orders.customer",
          "total": "aggregation orders.amount"}, "group key orders.at, group key orders.customer"),
    Case("a sliding window", lambda i: i["orders"].withWatermark("at", "1 hour")
         .groupBy(F.window("at", "1 hour", "5 minutes")).agg(F.max("amount").alias("m"))
         .select("window.end", "m"),
         {"end": "transformation orders.at", "m": "aggregation orders.amount"}, "group key orders.at"),
    Case("a session window", lambda i: i["orders"].withWatermark("at", "1 hour")
         .groupBy(F.session_window("at", "5 minutes"), "customer").count().select("customer", "count"),
         {"customer": "identity orders.customer", "count": ""}, "group key orders.at, group key orders.customer"),
    Case("a join on a column", lambda i: i["orders"].join(i["customers"], "customer").select("id", "customer", "tier"),
         {"id": "identity orders.id", "customer": "identity orders.customer", "tier": "identity customers.tier"},
         "join key orders.customer, join key customers.customer"),
    Case("a full outer join", lambda i: i["orders"].join(i["customers"], "customer", "full").select("customer"),
         {"customer": "transformation orders.customer, transformation customers.customer"},
         "join key orders.customer, join key customers.customer"),
    Case("a semi join", lambda i: i["orders"].join(i["customers"], "customer", "left_semi").select("id"),
         {"id": "identity orders.id"}, "join key orders.customer, join key customers.customer"),
    Case("two parts of one inlet", _twice,
         {"paid": "identity orders.amount", "back": "identity orders.amount"},
         "filter orders.amount, filter orders.qty, join key orders.id"),
    Case("a union by position", lambda i: i["orders"].select("customer", "at").union(
        i["clicks"].select("user", "at")),
        {"customer": "identity orders.customer, identity clicks.user", "at": "identity orders.at, identity clicks.at"}),
    Case("a union by name", lambda i: i["orders"].select("at", "customer").unionByName(
        i["clicks"].select(F.col("user").alias("customer"), "at")).select("customer"),
        {"customer": "identity orders.customer, identity clicks.user"}),
    Case("a deduplication", lambda i: i["orders"].withWatermark("at", "1 hour").dropDuplicates(["id", "at"])
         .select("id", "qty"),
         {"id": "identity orders.id", "qty": "identity orders.qty"}, "group key orders.id, group key orders.at"),
    Case("different rows", lambda i: i["orders"].select("customer").distinct(),
         {"customer": "identity orders.customer"}, "group key orders.customer"),
    Case("a Python function", lambda i: i["orders"].select(F.udf(_length, "int")("customer").alias("n")),
         {"n": "transformation orders.customer"}),
    Case("a Python function of groups", lambda i: i["orders"].groupBy("customer").agg(
        _grouped(_mean)("amount").alias("m")).select("m"),
        {"m": "aggregation orders.amount"}, "group key orders.customer", batch=True),
    Case("a Python function of batches", lambda i: i["orders"].select("id", "amount").mapInPandas(
        _upper, "k long, v double"),
        {"k": "transformation orders.id, transformation orders.amount",
         "v": "transformation orders.id, transformation orders.amount"}),
    Case("a Python function of each group", lambda i: i["orders"].select("customer", "amount").groupBy("customer")
         .applyInPandas(_same, "r double"),
         {"r": "transformation orders.customer, transformation orders.amount"}, "group key orders.customer"),
    Case("a Python function with state", lambda i: i["orders"].select("customer", "qty").groupBy("customer")
         .applyInPandasWithState(_with_state, "n long", "s long", "append", "NoTimeout"),
         {"n": "transformation orders.customer, transformation orders.qty"}, "group key orders.customer"),
    Case("a processor with state", _transform_with_state,
         {"n": "transformation orders.customer, transformation orders.amount"}, "group key orders.customer"),
    Case("a rank", lambda i: i["orders"].select("id", F.row_number().over(
        Window.partitionBy("customer").orderBy("at")).alias("n")),
        {"id": "identity orders.id", "n": "window orders.customer, window orders.at"}, batch=True),
    Case("a value of the row before", lambda i: i["orders"].select(
        F.lag("amount").over(Window.partitionBy("customer").orderBy("at")).alias("before")),
        {"before": "transformation orders.amount, window orders.customer, window orders.at"}, batch=True),
    Case("a sorted batch", lambda i: i["orders"].orderBy("amount").select("id"),
         {"id": "identity orders.id"}, "sort key orders.amount", batch=True),
    Case("a pivot", lambda i: i["orders"].groupBy("customer").pivot("qty", [1, 2]).agg(F.sum("amount")).select("1"),
         {"1": "aggregation orders.amount, condition orders.qty"},
         "group key orders.customer, group key orders.qty", batch=True),
)  # fmt: skip

SQL = (
    Case("SQL: a selection", "SELECT id, amount * qty AS total FROM orders WHERE amount > 0",
         {"id": "identity orders.id", "total": "transformation orders.amount, transformation orders.qty"},
         "filter orders.amount"),
    Case("SQL: a star", "SELECT * FROM clicks",
         {"user": "identity clicks.user", "page": "identity clicks.page", "at": "identity clicks.at"}),
    Case("SQL: a nested field", "SELECT o.address.zip AS zip FROM orders o", {"zip": "identity orders.address.zip"}),
    Case("SQL: groups", "SELECT customer, avg(amount) AS mean FROM orders GROUP BY customer HAVING count(*) > 2",
         {"customer": "identity orders.customer", "mean": "aggregation orders.amount"}, "group key orders.customer"),
    Case("SQL: a condition on a group", "SELECT customer FROM orders GROUP BY customer HAVING sum(qty) > 2",
         {"customer": "identity orders.customer"}, "group key orders.customer, filter orders.qty"),
    Case("SQL: a time window",
         "SELECT window.start AS s, count(*) AS n FROM orders GROUP BY window(at, '1 hour')",
         {"s": "transformation orders.at", "n": ""}, "group key orders.at"),
    Case("SQL: a join", "SELECT o.id, c.name FROM orders o LEFT JOIN customers c ON o.customer = c.customer",
         {"id": "identity orders.id", "name": "identity customers.name"},
         "join key orders.customer, join key customers.customer"),
    Case("SQL: a join of three",
         "SELECT name, page FROM orders o JOIN customers c USING (customer) JOIN clicks k ON k.user = o.customer "
         "AND k.at BETWEEN o.at AND o.at + INTERVAL 1 HOUR",
         {"name": "identity customers.name", "page": "identity clicks.page"},
         "join key orders.customer, join key customers.customer, join key clicks.user, join key clicks.at, "
         "join key orders.at"),
    Case("SQL: a union", "SELECT customer AS who FROM orders UNION ALL SELECT user FROM clicks WHERE page = '/'",
         {"who": "identity orders.customer, identity clicks.user"}, "filter clicks.page"),
    Case("SQL: a common table expression",
         "WITH big AS (SELECT id, amount FROM orders WHERE qty > 1) SELECT id, amount + 1 AS a FROM big",
         {"id": "identity orders.id", "a": "transformation orders.amount"}, "filter orders.qty"),
    Case("SQL: a common table expression that is used twice",
         "WITH o AS (SELECT customer, amount FROM orders) SELECT customer, amount FROM o WHERE amount > 1 "
         "UNION ALL SELECT upper(customer), amount FROM o",
         {"customer": "identity orders.customer, transformation orders.customer",
          "amount": "identity orders.amount"}, "filter orders.amount"),
    Case("SQL: a subquery in FROM", "SELECT t + 1 AS u FROM (SELECT qty * 2 AS t FROM orders) WHERE t > 3",
         {"u": "transformation orders.qty"}, "filter orders.qty"),
    Case("SQL: a choice", "SELECT CASE WHEN qty > 1 THEN customer ELSE address.city END AS c FROM orders",
         {"c": "transformation orders.customer, transformation orders.address.city, condition orders.qty"}),
    Case("SQL: IF and NULLIF", "SELECT if(qty > 1, amount, 0) AS a, nullif(customer, '') AS c FROM orders",
         {"a": "transformation orders.amount, condition orders.qty", "c": "transformation orders.customer"}),
    Case("SQL: exploded structs", "SELECT id, item.sku AS sku FROM orders LATERAL VIEW explode(items) t AS item",
         {"id": "identity orders.id", "sku": "transformation orders.items.sku"}),
    Case("SQL: different rows", "SELECT DISTINCT customer FROM orders",
         {"customer": "identity orders.customer"}, "group key orders.customer"),
    Case("SQL: an alias of the same SELECT", "SELECT amount * 2 AS a, a + qty AS b FROM orders",
         {"a": "transformation orders.amount", "b": "transformation orders.amount, transformation orders.qty"}),
    Case("SQL: IN with a subquery",
         "SELECT id FROM orders WHERE customer IN (SELECT customer FROM customers WHERE tier = 'a')",
         {"id": "identity orders.id"}, "filter orders.customer, filter customers.customer, filter customers.tier",
         batch=True),
    Case("SQL: EXISTS",
         "SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM customers c WHERE c.customer = o.customer)",
         {"id": "identity orders.id"}, "filter orders.customer, filter customers.customer",
         batch=True),
    Case("SQL: a scalar subquery",
         "SELECT id, (SELECT max(tier) FROM customers c WHERE c.customer = o.customer) AS tier FROM orders o",
         {"id": "identity orders.id",
          "tier": "aggregation customers.tier, filter customers.customer, filter orders.customer"},
         batch=True),
    Case("SQL: a lateral join", "SELECT o.id, l.t FROM orders o, LATERAL (SELECT o.amount * 2 AS t) l",
         {"id": "identity orders.id", "t": "transformation orders.amount"}),
    Case("SQL: a window function",
         "SELECT id, sum(amount) OVER (PARTITION BY customer ORDER BY at) AS running FROM orders",
         {"id": "identity orders.id", "running": "aggregation orders.amount, window orders.customer, window orders.at"},
         batch=True),
    Case("SQL: grouping sets", "SELECT customer, qty, sum(amount) AS t FROM orders GROUP BY ROLLUP (customer, qty)",
         {"customer": "identity orders.customer", "qty": "identity orders.qty", "t": "aggregation orders.amount"},
         "group key orders.customer, group key orders.qty", batch=True),
    Case("SQL: EXCEPT", "SELECT customer FROM orders EXCEPT ALL SELECT customer FROM customers",
         {"customer": "identity orders.customer"}, "filter orders.customer, filter customers.customer", batch=True),
    Case("SQL: columns into rows",
         "SELECT k, v FROM orders LATERAL VIEW stack(2, 'a', amount, 'q', double(qty)) s AS k, v",
         {"k": "", "v": "transformation orders.amount, transformation orders.qty"}),
    Case("SQL: a hash", "SELECT sha2(customer, 256) AS who FROM orders", {"who": "transformation orders.customer"}),
)  # fmt: skip

CASES = PYTHON + SQL
