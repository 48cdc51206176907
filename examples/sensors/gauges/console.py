"""The egress: a line on the terminal for every average."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from gauges.records import Average
from streamlets import AvroInlet, Queries, SparkStreamlet, SparkStreamletLogic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def show(averages: DataFrame, batch: int) -> None:
    """Print a batch."""
    for row in averages.orderBy("until", "gauge").withColumn("until", F.date_format("until", "HH:mm:ss")).collect():
        print(f"{row.until}  {row.gauge}  {row.value:6.2f}  ({row.readings} readings)", flush=True)


class Console(SparkStreamlet):
    """Prints the averages."""

    averages = AvroInlet(schema=Average)

    class Logic(SparkStreamletLogic["Console"]):
        def build_streaming_queries(self) -> Queries:
            return self.query("console", self.read_stream(self.streamlet.averages).writeStream.foreachBatch(show))
