"""The till's roll as a replayable source for Spark: the offset is how many orders were made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from shop import roll

_TIME = pa.timestamp("us", tz="UTC")
_SCHEMA = pa.schema([("kind", pa.string()), ("order", pa.int64()), ("customer", pa.int64()), ("cents", pa.int64()),
                     ("at", _TIME)])  # fmt: skip


class Roll(DataSource):
    """Options: `orders`, after how many the shop closes; `batch`, how many are read at most in one batch."""

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return "till-roll"

    def schema(self) -> str:
        """An entry is an order, or the payment of one: then `at` is when it was paid."""
        return "kind string, order bigint, customer bigint, cents bigint, at timestamp"

    def streamReader(self, schema: object) -> RollReader:  # noqa: N802
        """Spark's question for a reader."""
        return RollReader(int(self.options["orders"]), int(self.options["batch"]))


@dataclass
class Orders(InputPartition):
    """The entries from the order `start` to before the order `end`."""

    start: int
    end: int


class RollReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Gives `batch` orders at a time until `orders` were made."""

    def __init__(self, orders: int, batch: int) -> None:
        self._orders = orders
        self._batch = batch

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """The shop opens."""
        return {"orders": 0}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """A bounded run ends where the shop closes, too."""

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """So many orders."""
        return ReadMaxRows(self._batch)

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        """The end of the next batch."""
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else self._orders
        return {"orders": max(start["orders"], min(self._orders, start["orders"] + most))}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[Orders]:
        """Two halves, so that two cores have work."""
        middle = (start["orders"] + end["orders"] + 1) // 2
        return [Orders(start["orders"], middle), Orders(middle, end["orders"])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The entries of some orders."""
        assert isinstance(partition, Orders)
        rows = []
        for order in range(partition.start, partition.end):
            rows.append(_entry("order", order, roll.at(order)))
            rows += [_entry("payment", paid, roll.paid_at(paid)) for paid in roll.payments(order)]
        yield pa.RecordBatch.from_pylist(rows, schema=_SCHEMA)


def _entry(kind: str, order: int, at: object) -> dict[str, object]:
    return {"kind": kind, "order": order, "customer": roll.customer(order), "cents": roll.cents(order), "at": at}
