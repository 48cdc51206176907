"""The splitter: every flight goes to exactly one of three outlets."""

from __future__ import annotations

from pyspark.sql import functions as F

from streamlets import AvroInlet, AvroOutlet, Queries, SparkStreamlet, SparkStreamletLogic


class Splitter(SparkStreamlet):
    """Separates flown, cancelled and invalid flights; an invalid one departed, but never arrived."""

    flights = AvroInlet(schema="../schemas/Flight.avsc")
    flown = AvroOutlet(schema="../schemas/Flown.avsc", extra="drop")
    cancelled = AvroOutlet(schema="../schemas/Flight.avsc")
    invalid = AvroOutlet(schema="../schemas/Flight.avsc")

    class Logic(SparkStreamletLogic["Splitter"]):
        def build_streaming_queries(self) -> Queries:
            me = self.streamlet
            left = F.col("departure_delay").isNotNull()
            arrived = F.col("arrival_delay").isNotNull()
            return self.write_streams(
                self.read_stream(me.flights),
                {
                    me.flown: lambda flights: flights.where(left & arrived),
                    me.cancelled: lambda flights: flights.where(~left),
                    me.invalid: lambda flights: flights.where(left & ~arrived),
                },
            )
