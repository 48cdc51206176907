"""The ingress: orders and payments, from one source with one query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from shop.records import Order, Payment
from streamlets import AvroOutlet, IntegerParameter, Queries, SparkStreamlet, SparkStreamletLogic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Till(SparkStreamlet):
    """Sends orders, and payments about half a minute later; every seventh payment is sent twice."""

    orders = AvroOutlet(schema=Order)
    payments = AvroOutlet(schema=Payment)
    number = IntegerParameter("After how many orders the shop closes", key="orders", default=1000)
    batch = IntegerParameter("Orders taken in one batch", default=50)

    class Logic(SparkStreamletLogic["Till"]):
        def build_streaming_queries(self) -> Queries:
            from shop.source import Roll

            me = self.streamlet
            self.session.dataSource.register(Roll)
            options = {"orders": self.value(me.number), "batch": self.value(me.batch)}
            entries = self.source("roll", format=Roll.name(), options=options)
            return self.write_streams(entries, {me.orders: _orders, me.payments: _payments})


def _orders(entries: DataFrame) -> DataFrame:
    return entries.where("kind = 'order'").drop("kind")


def _payments(entries: DataFrame) -> DataFrame:
    return entries.where("kind = 'payment'").select("order", F.col("at").alias("paid_at"))
