"""The processor: a mean over a sliding window of event time."""

from __future__ import annotations

from pyspark.sql import functions as F

from gauges.records import Average, Reading
from streamlets import AvroInlet, AvroOutlet, DurationParameter, Queries, SparkStreamlet, SparkStreamletLogic


class MovingAverage(SparkStreamlet):
    """Mean of each gauge over a sliding window, written when the window is complete."""

    readings = AvroInlet(schema=Reading)
    averages = AvroOutlet(schema=Average, partition_by="gauge")
    window = DurationParameter("Length of the window", default="1 minute")
    slide = DurationParameter("Time from one window to the next", default="30 seconds")
    patience = DurationParameter("How much later than others a reading may arrive", default="2 seconds")

    class Logic(SparkStreamletLogic["MovingAverage"]):
        def build_streaming_queries(self) -> Queries:
            me = self.streamlet
            window = F.window("at", self.value(me.window).sql, self.value(me.slide).sql)
            averages = (
                self.read_stream(me.readings)
                .withWatermark("at", self.value(me.patience).sql)
                .groupBy(window, "gauge")
                .agg(F.avg("value").alias("value"), F.count("*").alias("readings"))
                .withColumn("until", F.col("window.end"))
                .drop("window")
            )
            return self.write_stream(averages, me.averages)
