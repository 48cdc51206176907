"""Streamlets that together write every kind of file that Kafka's channel has in the state directory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import functions as F

from streamlets import (
    AvroInlet,
    AvroOutlet,
    GeneratorSpout,
    SparkStreamlet,
    SparkStreamletLogic,
    SpoutOutput,
    SpoutTransaction,
)


class Ticks(GeneratorSpout):
    """Delivers ten records in each run, in two transactions."""

    out = AvroOutlet(schema="id long NOT NULL")

    def run(self, out: SpoutOutput, resume: Any) -> Iterator[SpoutTransaction]:
        """Yield the transactions."""
        first = resume or 0
        for begin in (first, first + 5):
            yield out.transaction([{"id": n} for n in range(begin, begin + 5)], resume=begin + 5)


class Parities(SparkStreamlet):
    """Names the parity of each number; that of 3 breaks the contract."""

    numbers = AvroInlet(schema="id long NOT NULL", on_invalid="dead-letters")
    out = AvroOutlet(
        schema={
            "type": "record",
            "name": "Parity",
            "fields": [
                {"name": "id", "type": "long"},
                {"name": "parity", "type": {"type": "enum", "name": "P", "symbols": ["EVEN", "ODD"]}},
            ],
        },
        on_invalid="dead-letters",
    )

    class Logic(SparkStreamletLogic["Parities"]):
        """A query with dead letters."""

        def build_streaming_queries(self) -> Any:
            """Return the query."""
            me = self.streamlet
            parity = F.when(F.col("id") == 3, "NONE").when(F.col("id") % 2 == 0, "EVEN").otherwise("ODD")
            return self.write_stream(self.read_stream(me.numbers).withColumn("parity", parity), me.out)


class Distinct(SparkStreamlet):
    """Passes each number once, which needs state."""

    numbers = AvroInlet(schema="id long NOT NULL")
    out = AvroOutlet(schema="id long NOT NULL")

    class Logic(SparkStreamletLogic["Distinct"]):
        """A query with state."""

        def build_streaming_queries(self) -> Any:
            """Return the query."""
            me = self.streamlet
            return self.write_stream(self.read_stream(me.numbers).dropDuplicates(["id"]), me.out)
