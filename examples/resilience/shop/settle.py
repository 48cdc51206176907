"""The join, with frequent failures: each order with its payment, or without one when none can arrive any more."""

from __future__ import annotations

from pyspark.sql import functions as F

from shop.records import Order, Payment, Settled
from shop.trouble import Trouble
from streamlets import (
    AvroInlet,
    AvroOutlet,
    DoubleParameter,
    DurationParameter,
    IntegerParameter,
    Queries,
    SparkStreamlet,
    SparkStreamletLogic,
)


class Settle(SparkStreamlet):
    """Joins orders with payments, which wait for each other in Spark's state."""

    orders = AvroInlet(schema=Order)
    paid = AvroInlet(schema=Payment)
    settled = AvroOutlet(schema=Settled)
    patience = DurationParameter("How long after its order a payment may come", default="1 minute")
    failures = DoubleParameter("The share of batches that fail", default=0.0)
    seed = IntegerParameter("Other seeds fail in other batches", default=1)

    class Logic(SparkStreamletLogic["Settle"]):
        def build_streaming_queries(self) -> Queries:
            me = self.streamlet
            orders = self.read_stream(me.orders).withWatermark("at", "10 seconds")
            paid = self.read_stream(me.paid).withWatermark("paid_at", "10 seconds")
            patience = F.expr(f"INTERVAL {self.value(me.patience).sql}")
            in_time = F.col("paid_at").between(F.col("at"), F.col("at") + patience)
            settled = orders.join(
                paid.withColumnRenamed("order", "paid"), (F.col("order") == F.col("paid")) & in_time, "left_outer"
            ).drop("paid")
            trouble = Trouble.of_next_start(self.value(me.failures), self.value(me.seed))
            return self.write_stream(settled.mapInArrow(trouble.in_worker, settled.schema), me.settled)
