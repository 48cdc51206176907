"""The ingresses: flights and weather, a few days at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamlets import AvroOutlet, IntegerParameter, Queries, SparkStreamlet, SparkStreamletLogic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Flights(SparkStreamlet):
    """Every scheduled departure from Newark, Kennedy and La Guardia."""

    flights = AvroOutlet(schema="../schemas/Flight.avsc")
    days = IntegerParameter("Days read in one batch", default=30)
    until = IntegerParameter("The last day of the year that is read", default=365)

    class Logic(SparkStreamletLogic["Flights"]):
        def build_streaming_queries(self) -> Queries:
            me = self.streamlet
            return self.write_stream(_read(self, "flights", self.value(me.days), self.value(me.until)), me.flights)


class Weather(SparkStreamlet):
    """The hourly weather at the three airports."""

    weather = AvroOutlet(schema="../schemas/Weather.avsc")
    days = IntegerParameter("Days read in one batch", default=120)
    until = IntegerParameter("The last day of the year that is read", default=365)

    class Logic(SparkStreamletLogic["Weather"]):
        def build_streaming_queries(self) -> Queries:
            me = self.streamlet
            return self.write_stream(_read(self, "weather", self.value(me.days), self.value(me.until)), me.weather)


def _read(
    logic: SparkStreamletLogic[Flights] | SparkStreamletLogic[Weather], table: str, days: int, until: int
) -> DataFrame:
    """A table of the data set as a stream whose batches are days."""
    from nyc.source import DayByDay

    logic.session.dataSource.register(DayByDay)
    return logic.source("source", format=DayByDay.name(), options={"table": table, "days": days, "until": until})
