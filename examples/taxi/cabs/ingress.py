"""The ingresses: rides as JSON from the meters of the cabs, fares as CSV from the payment service."""

from __future__ import annotations

from streamlets import AvroOutlet, PathParameter, Queries, SparkStreamlet, SparkStreamletLogic

RIDE = "ride long, cab string, ended timestamp, kilometres double"
FARE = "ride long, paid timestamp, payment string, amount decimal(8,2), tip decimal(8,2)"


class Rides(SparkStreamlet):
    """Reads the rides that have ended, one file after the other."""

    rides = AvroOutlet(schema="../schemas/Ride.avsc", on_invalid="dead-letters")
    directory = PathParameter("The directory of the files", kind="directory", must_exist=True)

    class Logic(SparkStreamletLogic["Rides"]):
        def build_streaming_queries(self) -> Queries:
            me = self.streamlet
            directory = str(self.value(me.directory))
            files = self.source("files", format="json", schema=RIDE, options={"path": directory})
            return self.write_stream(files, me.rides)


class Fares(SparkStreamlet):
    """Reads the payments of rides, one file after the other."""

    fares = AvroOutlet(schema="../schemas/Fare.avsc", on_invalid="dead-letters")
    directory = PathParameter("The directory of the files", kind="directory", must_exist=True)

    class Logic(SparkStreamletLogic["Fares"]):
        def build_streaming_queries(self) -> Queries:
            me = self.streamlet
            directory = str(self.value(me.directory))
            files = self.source("files", format="csv", schema=FARE, options={"path": directory, "header": True})
            return self.write_stream(files, me.fares)
