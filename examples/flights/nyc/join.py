"""The join: each flight with the weather of its hour and airport."""

from __future__ import annotations

from streamlets import AvroInlet, AvroOutlet, DurationParameter, Queries, SparkStreamlet, SparkStreamletLogic


class FlightWeather(SparkStreamlet):
    """Joins flights with the weather; a flight without weather waits until none can arrive any more."""

    flown = AvroInlet(schema="../schemas/Flown.avsc")
    weather = AvroInlet(schema="../schemas/Weather.avsc")
    joined = AvroOutlet(schema="../schemas/FlightWeather.avsc")
    patience = DurationParameter("How much later than others a record may arrive", default="2 hours")

    class Logic(SparkStreamletLogic["FlightWeather"]):
        def build_streaming_queries(self) -> Queries:
            me = self.streamlet
            patience = self.value(me.patience).sql
            flown = self.read_stream(me.flown).withWatermark("hour", patience)
            weather = self.read_stream(me.weather).withWatermark("hour", patience)
            observed = weather.select("hour", "origin", "wind", "rain")
            return self.write_stream(flown.join(observed, ["hour", "origin"], "left_outer"), me.joined)
