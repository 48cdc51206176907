"""The departure board: the worst delays of each batch, on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from streamlets import AvroInlet, IntegerParameter, Queries, SparkStreamlet, SparkStreamletLogic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Board(SparkStreamlet):
    """Prints the worst hours of each batch."""

    delays = AvroInlet(schema="../schemas/Delay.avsc")
    lines = IntegerParameter("Hours shown of a batch", default=5)

    class Logic(SparkStreamletLogic["Board"]):
        def build_streaming_queries(self) -> Queries:
            me = self.streamlet
            lines = self.value(me.lines)

            def show(delays: DataFrame, batch: int) -> None:
                told = delays.withColumn("hour", F.date_format("hour", "yyyy-MM-dd HH:mm"))
                worst = told.orderBy(told.arrival_delay.desc()).limit(lines).collect()
                if worst:
                    print("Worst hours:", flush=True)
                for each in worst:
                    print(
                        f"  {each.hour} UTC  {each.carrier}  "
                        f"{each.arrival_delay:7.1f} minutes late on average, {each.flights} flights",
                        flush=True,
                    )

            return self.query("board", self.read_stream(me.delays).writeStream.foreachBatch(show))
