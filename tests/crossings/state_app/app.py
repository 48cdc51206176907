"""Streamlets of every kind, which together write every kind of file of the state directory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import functions as F

from streamlets import (
    AvroInlet,
    AvroOutlet,
    BatchSource,
    Eat,
    GeneratorSpout,
    SparkStreamlet,
    SparkStreamletLogic,
    SpoutOutput,
    SpoutTransaction,
)


class Pages(BatchSource):
    """Discovers five tasks, of which the last one fails."""

    out = AvroOutlet(schema="id long NOT NULL")

    def discover(self, eat: Eat, event: str) -> None:
        """Pass the tasks."""
        for page in range(5):
            eat(page, key=str(page))

    def prepare(self, task: Any) -> None:
        """Begin a task."""
        if task == 4:
            raise ValueError("page 4 does not exist")
        self._rows = iter(range(task * 10, task * 10 + 10))

    def read_next(self) -> dict[str, Any] | None:
        """Return the next record."""
        number = next(self._rows, None)
        return {"id": number} if number is not None else None


class Ticks(GeneratorSpout):
    """Delivers ten records in each run, in two transactions."""

    out = AvroOutlet(schema="id long NOT NULL")

    def run(self, out: SpoutOutput, resume: Any) -> Iterator[SpoutTransaction]:
        """Yield the transactions."""
        first = resume or 100
        for begin in (first, first + 5):
            yield out.transaction([{"id": n} for n in range(begin, begin + 5)], resume=begin + 5)


class Parities(SparkStreamlet):
    """Names the parity of each number; that of 13 breaks the contract."""

    numbers = AvroInlet(schema="id long NOT NULL")
    out = AvroOutlet(schema="schemas/Parity.avsc", on_invalid="dead-letters")

    class Logic(SparkStreamletLogic["Parities"]):
        """Queries with and without state."""

        def build_streaming_queries(self) -> Any:
            """Return the query."""
            me = self.streamlet
            parity = F.when(F.col("id") == 13, "NONE").when(F.col("id") % 2 == 0, "EVEN").otherwise("ODD")
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
