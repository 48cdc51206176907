"""Streamlets of an application whose backfills are compared with plain batches: each kind of state."""

from __future__ import annotations

from pyspark.sql import functions as F

from streamlets import AvroInlet, AvroOutlet, Queries, SparkStreamlet, SparkStreamletLogic

EVENT = "id long not null, at timestamp not null, key string not null, value long not null"


class Source(SparkStreamlet):
    """Writes the events; tests write them in its place."""

    events = AvroOutlet(schema=EVENT)
    others = AvroOutlet(schema=EVENT)

    class Logic(SparkStreamletLogic["Source"]):
        def build_streaming_queries(self) -> Queries:
            raise NotImplementedError


class Doubled(SparkStreamlet):
    """Without state."""

    events = AvroInlet(schema=EVENT)
    doubled = AvroOutlet(schema=EVENT)

    class Logic(SparkStreamletLogic["Doubled"]):
        def build_streaming_queries(self) -> Queries:
            me = self.streamlet
            rows = self.read_stream(me.events).where("value % 3 != 0").withColumn("value", F.col("value") * 2)
            return self.write_stream(rows, me.doubled)


class Totals(SparkStreamlet):
    """Windows of ten minutes."""

    events = AvroInlet(schema=EVENT)
    totals = AvroOutlet(schema="begin timestamp not null, key string not null, total long, events long")

    class Logic(SparkStreamletLogic["Totals"]):
        def build_streaming_queries(self) -> Queries:
            me = self.streamlet
            rows = (
                self.read_stream(me.events)
                .withWatermark("at", "5 minutes")
                .groupBy(F.window("at", "10 minutes"), "key")
                .agg(F.sum("value").alias("total"), F.count("*").alias("events"))
                .select(F.col("window.start").alias("begin"), "key", "total", "events")
            )
            return self.write_stream(rows, me.totals)


class Pairs(SparkStreamlet):
    """A join of two topics within five minutes."""

    events = AvroInlet(schema=EVENT)
    others = AvroInlet(schema=EVENT)
    pairs = AvroOutlet(schema="id long not null, other long not null, key string not null")

    class Logic(SparkStreamletLogic["Pairs"]):
        def build_streaming_queries(self) -> Queries:
            me = self.streamlet
            left = self.read_stream(me.events).withWatermark("at", "5 minutes").alias("l")
            right = self.read_stream(me.others).withWatermark("at", "5 minutes").alias("r")
            near = F.expr("l.key = r.key AND r.at >= l.at - INTERVAL 5 MINUTES AND r.at <= l.at + INTERVAL 5 MINUTES")
            rows = left.join(right, near).select("l.id", F.col("r.id").alias("other"), "l.key")
            return self.write_stream(rows, me.pairs)


class Once(SparkStreamlet):
    """Without the events that have been there in the last minutes."""

    events = AvroInlet(schema=EVENT)
    once = AvroOutlet(schema="id long not null, key string not null")

    class Logic(SparkStreamletLogic["Once"]):
        def build_streaming_queries(self) -> Queries:
            me = self.streamlet
            rows = self.read_stream(me.events).withWatermark("at", "5 minutes").select("at", "id", "key")
            return self.write_stream(rows.dropDuplicatesWithinWatermark(["id"]).drop("at"), me.once)
