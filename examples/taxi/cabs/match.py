"""The processor: rides joined with their fares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from streamlets import AvroInlet, AvroOutlet, DurationParameter, Queries, SparkStreamlet, SparkStreamletLogic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Match(SparkStreamlet):
    """Joins each ride with its fare; a ride without one is reported when its fare cannot arrive any more."""

    rides = AvroInlet(schema="../schemas/Ride.avsc")
    fares = AvroInlet(schema="../schemas/Fare.avsc")
    paid = AvroOutlet(schema="../schemas/PaidRide.avsc")
    unpaid = AvroOutlet(schema="../schemas/Ride.avsc")
    payment = DurationParameter("How long after the end of a ride it can be paid", default="30 minutes")
    lateness = DurationParameter("How much later than others a record may arrive", default="10 minutes")

    class Logic(SparkStreamletLogic["Match"]):
        def build_streaming_queries(self) -> Queries:
            me = self.streamlet
            lateness = self.value(me.lateness).sql
            rides = self.read_stream(me.rides).withWatermark("ended", lateness)
            fares = self.read_stream(me.fares).withWatermark("paid", lateness).withColumnRenamed("ride", "paid_ride")
            in_time = F.expr(f"paid BETWEEN ended AND ended + INTERVAL {self.value(me.payment).sql}")
            joined = rides.join(fares, (F.col("ride") == F.col("paid_ride")) & in_time, "left_outer")
            return self.write_streams(joined, {me.paid: paid, me.unpaid: unpaid})


def paid(joined: DataFrame) -> DataFrame:
    """Return the rides with a fare."""
    return joined.where("paid IS NOT NULL").drop("paid", "paid_ride")


def unpaid(joined: DataFrame) -> DataFrame:
    """Return the rides without a fare."""
    return joined.where("paid IS NULL").select("ride", "cab", "ended", "kilometres")
