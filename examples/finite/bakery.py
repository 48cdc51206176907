"""The products and stores of a bakery, what each sale has cost, and the sales of each hour."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pyspark.sql import functions as F

from streamlets import AvroInlet, AvroOutlet, BatchSource, SparkStreamlet, SparkStreamletLogic, StreamingWrite

SALE = "id long, at timestamp, store string, product string, pieces long"
PRODUCT = "product string, cents_each long"
STORE = "store string, city string"
PRICED = "id long, at timestamp, city string, product string, cents long"


class Products(BatchSource):
    """The prices of the products: each file of the directory is a task."""

    out = AvroOutlet(schema=PRODUCT)

    def open(self, config: Mapping[str, Any], context: Any) -> None:
        self._directory = context.path("data/products")
        self._rows: list[dict[str, Any]] = []

    def discover(self, eat: Any, event: str) -> None:
        for file in sorted(self._directory.glob("*.json")):
            eat(file.name, key=file.name)

    def prepare(self, task: str) -> None:
        self._rows = json.loads((self._directory / task).read_text(encoding="utf-8"))

    def read_next(self) -> dict[str, Any] | None:
        return self._rows.pop() if self._rows else None


class Stores(SparkStreamlet):
    """The stores, in CSV files. With the trigger `available-now` this source ends when it has read them."""

    out = AvroOutlet(schema=STORE)

    class Logic(SparkStreamletLogic["Stores"]):
        def build_streaming_queries(self) -> StreamingWrite:
            options = {"path": self.context.path("data/stores"), "header": "true"}
            return self.write_stream(
                self.source("files", format="csv", schema=STORE, options=options), self.streamlet.out
            )


class Priced(SparkStreamlet):
    """Each sale with the city of its store and its price."""

    sales = AvroInlet(schema=SALE)
    products = AvroInlet(schema=PRODUCT)
    stores = AvroInlet(schema=STORE)
    out = AvroOutlet(schema=PRICED)

    class Logic(SparkStreamletLogic["Priced"]):
        def build_streaming_queries(self) -> StreamingWrite:
            me = self.streamlet
            joined = (
                self.read_stream(me.sales)
                .join(self.read_stream(me.products), "product")
                .join(self.read_stream(me.stores), "store")
            )
            cents = (F.col("pieces") * F.col("cents_each")).alias("cents")
            return self.write_stream(joined.select("id", "at", "city", "product", cents), me.out)


class Hours(SparkStreamlet):
    """The number and the value of the sales of each hour, as soon as the hour is over."""

    sales = AvroInlet(schema=PRICED)
    out = AvroOutlet(schema="hour timestamp, sales long, cents long")

    class Logic(SparkStreamletLogic["Hours"]):
        def build_streaming_queries(self) -> StreamingWrite:
            me = self.streamlet
            sales = self.read_stream(me.sales).withWatermark("at", "2 days").groupBy(F.window("at", "1 hour"))
            sums = sales.agg(F.count("*").alias("sales"), F.sum("cents").alias("cents"))
            return self.write_stream(sums.select(F.col("window.start").alias("hour"), "sales", "cents"), me.out)
