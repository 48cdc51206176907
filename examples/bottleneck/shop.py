"""A shop whose payments are checked one by one, which takes longer than customers need to order."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pandas as pd
from pyspark.sql import functions as F

from streamlets import AvroInlet, AvroOutlet, IntegerParameter, Queries, SparkStreamlet, SparkStreamletLogic

ORDER = "id long, customer string, at timestamp, amount double"
CURRENCY = '{"type": "enum", "name": "Currency", "symbols": ["EUR", "USD"]}'
PAID = (
    '{"type": "record", "name": "Paid", "fields": [{"name": "id", "type": "long"}, '
    '{"name": "customer", "type": "string"}, {"name": "amount", "type": "double"}, '
    '{"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}}, '
    f'{{"name": "currency", "type": {CURRENCY}}}]}}'
)


class Orders(SparkStreamlet):
    """Simulates orders."""

    orders = AvroOutlet(schema=ORDER)
    per_second = IntegerParameter("Orders per second", default=200)

    class Logic(SparkStreamletLogic["Orders"]):
        def build_streaming_queries(self) -> Queries:
            me = self.streamlet
            ticks = self.source("ticks", format="rate", options={"rowsPerSecond": self.value(me.per_second)})
            number = F.col("value")
            orders = ticks.select(
                number.alias("id"),
                F.format_string("customer-%d", number % 7).alias("customer"),
                F.col("timestamp").alias("at"),
                (5 + number % 90).cast("double").alias("amount"),
            )
            return self.write_stream(orders, me.orders)


class Payments(SparkStreamlet):
    """Checks each payment; the payments in an unknown currency become dead letters."""

    orders = AvroInlet(schema=ORDER)
    paid = AvroOutlet(schema=PAID, on_invalid="dead-letters")
    milliseconds = IntegerParameter("The time that a check takes", default=9)

    class Logic(SparkStreamletLogic["Payments"]):
        def build_streaming_queries(self) -> Queries:
            me = self.streamlet
            seconds = self.value(me.milliseconds) / 1000

            def check(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
                for frame in frames:
                    time.sleep(seconds * len(frame))
                    unknown = frame["id"] % 500 == 0
                    yield frame.assign(currency=unknown.map({True: "GBP", False: "EUR"}))

            columns = "id long, customer string, at timestamp, amount double, currency string"
            return self.write_stream(self.read_stream(me.orders).mapInPandas(check, columns), me.paid)


class Sales(SparkStreamlet):
    """The sum of payments by customer, every ten seconds."""

    paid = AvroInlet(schema=PAID)
    sales = AvroOutlet(schema="customer string, begin timestamp, amount double, payments long")

    class Logic(SparkStreamletLogic["Sales"]):
        def build_streaming_queries(self) -> Queries:
            me = self.streamlet
            sales = (
                self.read_stream(me.paid)
                .withWatermark("at", "10 seconds")
                .groupBy(F.window("at", "10 seconds"), "customer")
                .agg(F.sum("amount").alias("amount"), F.count("*").alias("payments"))
                .select("customer", F.col("window.start").alias("begin"), "amount", "payments")
            )
            return self.write_stream(sales, me.sales)
