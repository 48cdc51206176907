"""A simple egress that appends to a file. It does not handle batches that are executed twice."""

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
    PathParameter,
    Queries,
    SparkStreamlet,
    SparkStreamletLogic,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Appending:
    """Appends each batch to a file as JSON lines, and may then fail before Spark commits the batch."""

    path: Path
    trouble: Trouble

    def __call__(self, rows: DataFrame, batch: int) -> None:
        """Append a batch; Spark calls this."""
        lines = [text for (text,) in rows.select(F.to_json(F.struct("*"))).collect()]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
        self.trouble.strike(batch, deadly=False)


class Lines(SparkStreamlet):
    """Writes settled orders at least once."""

    settled = AvroInlet(schema=Settled)
    path = PathParameter("The file", kind="file", writable=True)
    failures = DoubleParameter("The share of batches that fail after they are written", default=0.0)
    seed = IntegerParameter("The seed that decides which batches fail", default=1)

    class Logic(SparkStreamletLogic["Lines"]):
        def build_streaming_queries(self) -> Queries:
            me = self.streamlet
            trouble = Trouble.of_next_start(self.value(me.failures), self.value(me.seed))
            write = Appending(self.value(me.path), trouble)
            return self.query("lines", self.read_stream(me.settled).writeStream.foreachBatch(write))
