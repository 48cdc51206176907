"""A kiosk: one inlet in two outlets, SQL, Python functions, renamed fields and a function of batches."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from streamlets import AvroInlet, AvroOutlet, Queries, SparkStreamlet, SparkStreamletLogic, StringParameter

SALE = "customer string, amount double, city string"
RENAMED = json.dumps({
    "type": "record", "name": "Small", "fields": [
        {"name": "buyer", "aliases": ["customer"], "type": ["null", "string"]},
        {"name": "amount", "type": ["null", "double"]},
        {"name": "country", "type": "string", "default": "no"},
    ],
})  # fmt: skip


class Till(SparkStreamlet):
    out = AvroOutlet(schema="customer string, amount double, address struct<city: string, zip: string>")

    class Logic(SparkStreamletLogic["Till"]):
        def build_streaming_queries(self) -> Queries:
            ticks = self.source("ticks", format="rate", options={"rowsPerSecond": "5", "password": "hunter2"})
            rows = ticks.select(
                F.concat(F.lit("c"), F.col("value") % 7).alias("customer"),
                (F.col("value") * 1.5).alias("amount"),
                F.struct(F.lit("Oslo").alias("city"), F.col("value").cast("string").alias("zip")).alias("address"),
            )
            return self.write_stream(rows, self.streamlet.out)


class Split(SparkStreamlet):
    rows = AvroInlet("in", schema="customer string, amount double, address struct<city: string, zip: string>")
    large = AvroOutlet(schema=SALE)
    small = AvroOutlet(schema=SALE)

    class Logic(SparkStreamletLogic["Split"]):
        def build_streaming_queries(self) -> Queries:
            me = self.streamlet
            sales = self.read_stream(me.rows).withColumn("city", F.col("address.city")).drop("address")
            return self.write_streams(sales, {me.large: large, me.small: small})


def large(sales: DataFrame) -> DataFrame:
    return sales.where(F.col("amount") > 100)


def small(sales: DataFrame) -> DataFrame:
    return sales.where(F.col("amount") <= 100).withColumn("amount", F.round("amount"))


class Scores(SparkStreamlet):
    rows = AvroInlet("in", schema=SALE)
    out = AvroOutlet(schema="score double")

    class Logic(SparkStreamletLogic["Scores"]):
        def build_streaming_queries(self) -> Queries:
            rows = self.read_stream(self.streamlet.rows).select("amount", "city")
            return self.write_stream(rows.mapInPandas(score, "score double"), self.streamlet.out)


def score(frames: Iterator[Any]) -> Iterator[Any]:
    for frame in frames:
        yield frame[["amount"]].rename(columns={"amount": "score"})


class Post(SparkStreamlet):
    rows = AvroInlet("in", schema=RENAMED)
    url = StringParameter("Where the batches go")

    class Logic(SparkStreamletLogic["Post"]):
        def build_streaming_queries(self) -> Queries:
            rows = self.read_stream(self.streamlet.rows)
            return self.query("post", rows.writeStream.foreachBatch(lambda batch, number: None))


class Again(SparkStreamlet):
    rows = AvroInlet("in", schema=SALE)
    scores = AvroInlet(schema="score double")

    class Logic(SparkStreamletLogic["Again"]):
        def build_streaming_queries(self) -> Queries:
            both = self.read_stream(self.streamlet.rows).select("amount")
            both = both.union(self.read_stream(self.streamlet.scores).select("score"))
            return self.query("again", both.writeStream.format("noop"))
