"""The processor: how long each user was on the phone."""

from __future__ import annotations

from pyspark.sql import functions as F

from streamlets import AvroInlet, AvroOutlet, DurationParameter, Queries, SparkStreamlet, SparkStreamletLogic


class Usage(SparkStreamlet):
    """Adds up the calls of each user, by direction; a period is written when no more calls of it are expected."""

    calls = AvroInlet(schema="../schemas/Call.avsc")
    usage = AvroOutlet(schema="../schemas/Usage.avsc")
    per = DurationParameter("The length of a period", default="1 hour")
    lateness = DurationParameter("How much later than others a record may arrive", default="30 minutes")

    class Logic(SparkStreamletLogic["Usage"]):
        def build_streaming_queries(self) -> Queries:
            me = self.streamlet
            periods = (
                self.read_stream(me.calls)
                .withWatermark("began", self.value(me.lateness).sql)
                .groupBy(F.window("began", self.value(me.per).sql).alias("period"), "user", "direction")
                .agg(F.count("*").alias("calls"), F.sum("seconds").alias("seconds"))
            )
            return self.write_stream(periods.withColumn("from", F.col("period.start")).drop("period"), me.usage)
