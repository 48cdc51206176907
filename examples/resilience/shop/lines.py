"""An egress as one writes it first: it appends to a file. Nothing in it knows that a batch may come twice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from shop.records import Settled
from shop.trouble import Trouble
from streamlets import (
    AvroInlet,
    DoubleParameter,
    IntegerParameter,
    Queries,
    SparkStreamlet,
    SparkStreamletLogic,
    StringParameter,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Appending:
    """Appends each batch to a file as lines of JSON, and may then fail before Spark knows that it is done."""

    path: Path
    trouble: Trouble

    def __call__(self, rows: DataFrame, batch: int) -> None:
        """Spark's call for a batch."""
        lines = [text for (text,) in rows.select(F.to_json(F.struct("*"))).collect()]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
        self.trouble.strike(batch, deadly=False)


class Lines(SparkStreamlet):
    """Writes settled orders at least once."""

    settled = AvroInlet(schema=Settled)
    path = StringParameter("The file")
    failures = DoubleParameter("The share of batches that fail once they are written", default=0.0)
    seed = IntegerParameter("Other seeds fail in other batches", default=1)

    class Logic(SparkStreamletLogic["Lines"]):
        def build_streaming_queries(self) -> Queries:
            me = self.streamlet
            trouble = Trouble.of_next_start(self.value(me.failures), self.value(me.seed))
            write = Appending(self.context.path(self.value(me.path)), trouble)
            return self.query("lines", self.read_stream(me.settled).writeStream.foreachBatch(write))
