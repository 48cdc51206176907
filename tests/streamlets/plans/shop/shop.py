"""A shop of a dozen streamlets, on which the verification of logic is tested and measured."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from streamlets import AvroInlet, AvroOutlet, DurationParameter, Queries, SparkStreamlet, SparkStreamletLogic


@dataclass
class Order:
    order: int
    customer: str
    article: str
    price: float
    ordered: datetime


@dataclass
class Payment:
    order: int
    amount: float
    paid: datetime


@dataclass
class Click:
    customer: str
    page: str
    at: datetime


PAID = "order long not null, customer string not null, amount double not null, ordered timestamp not null"
REVENUE = "hour timestamp not null, revenue double not null, orders long not null"
VISITS = "customer string not null, views long not null"
BESTSELLERS = "article string not null, sold long not null"


def rates(logic: SparkStreamletLogic[Any], name: str) -> DataFrame:
    """Return a stream of generated records, a few per second."""
    return logic.source(name, format="rate", options={"rowsPerSecond": 5})


def one_of(kind: str, many: int) -> Column:
    """Return a column with one of several names."""
    return F.concat(F.lit(kind), (F.col("value") % many).cast("string"))


class Orders(SparkStreamlet):
    """Generates orders."""

    orders = AvroOutlet(schema=Order, partition_by="customer")

    class Logic(SparkStreamletLogic["Orders"]):
        def build_streaming_queries(self) -> Queries:
            orders = rates(self, "orders").select(
                F.col("value").alias("order"),
                one_of("c", 100).alias("customer"),
                one_of("a", 20).alias("article"),
                (F.col("value") % 50 + F.lit(0.5)).alias("price"),
                F.col("timestamp").alias("ordered"),
            )
            return self.write_stream(orders, self.streamlet.orders)


class Payments(SparkStreamlet):
    """Generates payments."""

    payments = AvroOutlet(schema=Payment)

    class Logic(SparkStreamletLogic["Payments"]):
        def build_streaming_queries(self) -> Queries:
            payments = rates(self, "payments").selectExpr(
                "value AS `order`", "value % 50 + 0.5D AS amount", "timestamp AS paid"
            )
            return self.write_stream(payments, self.streamlet.payments)


class Clicks(SparkStreamlet):
    """Generates clicks on pages."""

    clicks = AvroOutlet(schema=Click)

    class Logic(SparkStreamletLogic["Clicks"]):
        def build_streaming_queries(self) -> Queries:
            clicks = rates(self, "clicks").select(
                one_of("c", 100).alias("customer"), one_of("/", 7).alias("page"), F.col("timestamp").alias("at")
            )
            return self.write_stream(clicks, self.streamlet.clicks)


class Valid(SparkStreamlet):
    """Separates valid orders from invalid ones."""

    orders = AvroInlet(schema=Order)
    valid = AvroOutlet(schema=Order)
    rejected = AvroOutlet(schema=Order)

    class Logic(SparkStreamletLogic["Valid"]):
        def build_streaming_queries(self) -> Queries:
            me = self.streamlet
            costs = F.col("price") > 0
            return self.write_streams(
                self.read_stream(me.orders),
                {
                    me.valid: lambda orders: orders.where(costs),
                    me.rejected: lambda orders: orders.where(~costs),
                },
            )


class Paid(SparkStreamlet):
    """Joins orders with their payments."""

    orders = AvroInlet(schema=Order)
    payments = AvroInlet(schema=Payment)
    paid = AvroOutlet(schema=PAID)
    patience = DurationParameter("How long a payment may take", default="1 hour")

    class Logic(SparkStreamletLogic["Paid"]):
        def build_streaming_queries(self) -> Queries:
            me = self.streamlet
            patience = self.value(me.patience).sql
            orders = self.read_stream(me.orders).withWatermark("ordered", patience).alias("o")
            payments = self.read_stream(me.payments).withWatermark("paid", patience).alias("p")
            matched = orders.join(
                payments, F.expr(f"o.order = p.order AND paid >= ordered AND paid <= ordered + INTERVAL {patience}")
            )
            return self.write_stream(matched.select("o.order", "customer", "amount", "ordered"), me.paid)


class Revenue(SparkStreamlet):
    """Computes the revenue of each hour."""

    paid = AvroInlet(schema=PAID)
    revenue = AvroOutlet(schema=REVENUE)

    class Logic(SparkStreamletLogic["Revenue"]):
        def build_streaming_queries(self) -> Queries:
            me = self.streamlet
            hours = (
                self.read_stream(me.paid)
                .withWatermark("ordered", "10 minutes")
                .groupBy(F.window("ordered", "1 hour"))
                .agg(F.sum("amount").alias("revenue"), F.count("*").alias("orders"))
            )
            hours = hours.select(F.col("window.start").alias("hour"), "revenue", "orders")
            return self.write_stream(hours, me.revenue)


class Visits(SparkStreamlet):
    """Counts the views of each visit."""

    clicks = AvroInlet(schema=Click)
    visits = AvroOutlet(schema=VISITS)

    class Logic(SparkStreamletLogic["Visits"]):
        def build_streaming_queries(self) -> Queries:
            me = self.streamlet
            visits = (
                self.read_stream(me.clicks)
                .withWatermark("at", "5 minutes")
                .groupBy(F.session_window("at", "30 minutes"), "customer")
                .count()
            )
            return self.write_stream(visits.select("customer", F.col("count").alias("views")), me.visits)


class Once(SparkStreamlet):
    """Keeps one click for each page and customer."""

    clicks = AvroInlet(schema=Click)
    seen = AvroOutlet(schema=Click)

    class Logic(SparkStreamletLogic["Once"]):
        def build_streaming_queries(self) -> Queries:
            me = self.streamlet
            clicks = self.read_stream(me.clicks).withWatermark("at", "5 minutes")
            return self.write_stream(clicks.dropDuplicatesWithinWatermark(["customer", "page"]), me.seen)


class Bestsellers(SparkStreamlet):
    """Counts the sales of each article, and writes all counts with every batch."""

    orders = AvroInlet(schema=Order)
    bestsellers = AvroOutlet(schema=BESTSELLERS)

    class Logic(SparkStreamletLogic["Bestsellers"]):
        def build_streaming_queries(self) -> Queries:
            me = self.streamlet
            sold = self.read_stream(me.orders).groupBy("article").agg(F.count("*").alias("sold"))
            return self.write_stream(sold.orderBy(F.desc("sold")), me.bestsellers, output_mode="complete")


class Board(SparkStreamlet):
    """Prints revenue, clicks and bestsellers."""

    revenue = AvroInlet(schema=REVENUE)
    clicks = AvroInlet(schema=Click)
    bestsellers = AvroInlet(schema=BESTSELLERS)

    class Logic(SparkStreamletLogic["Board"]):
        def build_streaming_queries(self) -> Queries:
            me = self.streamlet
            clicks = self.read_stream(me.clicks).where("page <> '/0'")
            return [
                self.query("revenue", self.read_stream(me.revenue).writeStream.foreachBatch(show)),
                self.query("clicks", clicks.writeStream.foreachBatch(show)),
                self.query("bestsellers", self.read_stream(me.bestsellers).writeStream.format("console")),
            ]


class Reminders(SparkStreamlet):
    """Notifies customers of invalid orders."""

    orders = AvroInlet(schema=Order)

    class Logic(SparkStreamletLogic["Reminders"]):
        def build_streaming_queries(self) -> Queries:
            orders = self.read_stream(self.streamlet.orders).select("customer", "order")
            return self.query("mail", orders.writeStream.foreachBatch(show))


def show(rows: DataFrame, batch: int) -> None:
    """Print a batch."""
    print(rows.collect())
