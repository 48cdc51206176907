"""The ingress: a reading for every row of Spark's `rate` source."""

from __future__ import annotations

from pyspark.sql import functions as F

from gauges.records import Reading
from streamlets import AvroOutlet, IntegerParameter, Queries, SparkStreamlet, SparkStreamletLogic


class Sensors(SparkStreamlet):
    """Simulates four gauges with slowly oscillating values."""

    readings = AvroOutlet(schema=Reading, partition_by="gauge")
    records_per_second = IntegerParameter("Simulated readings per second", default=50)

    class Logic(SparkStreamletLogic["Sensors"]):
        def build_streaming_queries(self) -> Queries:
            me = self.streamlet
            ticks = self.source("ticks", format="rate", options={"rowsPerSecond": self.value(me.records_per_second)})
            number = F.col("value")
            readings = ticks.select(
                F.format_string("gauge-%d", number % 4 + 1).alias("gauge"),
                F.col("timestamp").alias("at"),
                (20 + 5 * F.sin(number / (10 + number % 4))).alias("value"),
            )
            return self.write_stream(readings, me.readings)
