"""The figures: how late each carrier was, hour by hour."""

from __future__ import annotations

from pyspark.sql import functions as F

from streamlets import AvroInlet, AvroOutlet, DurationParameter, Queries, SparkStreamlet, SparkStreamletLogic


class Delays(SparkStreamlet):
    """Delays by carrier and hour; an hour is written when no more flights of it can arrive."""

    flights = AvroInlet(schema="../schemas/FlightWeather.avsc")
    delays = AvroOutlet(schema="../schemas/Delay.avsc")
    patience = DurationParameter("How much later than others a flight may arrive", default="2 hours")

    class Logic(SparkStreamletLogic["Delays"]):
        def build_streaming_queries(self) -> Queries:
            me = self.streamlet
            by_hour = (
                self.read_stream(me.flights)
                .withWatermark("hour", self.value(me.patience).sql)
                .groupBy(F.window("hour", "1 hour"), "carrier")
                .agg(
                    F.count("*").alias("flights"),
                    F.avg("departure_delay").alias("departure_delay"),
                    F.avg("arrival_delay").alias("arrival_delay"),
                    F.max("arrival_delay").alias("worst"),
                    F.count_if(F.col("rain") > 0).alias("in_rain"),
                )
            )
            return self.write_stream(by_hour.withColumn("hour", F.col("window.start")).drop("window"), me.delays)
