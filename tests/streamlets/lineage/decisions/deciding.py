"""Every way to decide about records, each on a line of its own."""

from __future__ import annotations

from pyspark.sql import functions as F

from streamlets import AvroInlet, AvroOutlet, Queries, SparkStreamlet, SparkStreamletLogic


class Visits(SparkStreamlet):
    orders = AvroInlet(schema="customer string, page string, amount double")
    people = AvroInlet(schema="customer string, city string, tier string")
    out = AvroOutlet(schema="customer string, page string, amount double")

    class Logic(SparkStreamletLogic["Visits"]):
        def build_streaming_queries(self) -> Queries:
            me = self.streamlet
            kept = self.read_stream(me.people).where("tier != 'none'")
            kept = kept.filter((F.col("city") != "") & F.col("customer").isNotNull())
            orders = self.read_stream(me.orders).dropDuplicates(["page"])
            both = orders.join(kept, "customer")
            groups = both.groupBy("customer", "page", F.upper("tier"))
            sums = groups.agg(F.sum("amount").alias("amount"))
            large = sums.select("customer", "page", "amount")
            return self.write_stream(large, me.out, output_mode="update")
