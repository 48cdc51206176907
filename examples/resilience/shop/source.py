"""The till roll as a replayable source for Spark: the offset is the number of orders."""

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
    """The data source. Options: `orders`, the total number of orders; `batch`, the maximum number per batch."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "till-roll"

    def schema(self) -> str:
        """Return the columns of an entry: an order, or a payment with `at` as its time."""
        return "kind string, order bigint, customer bigint, cents bigint, at timestamp"

    def streamReader(self, schema: object) -> RollReader:  # noqa: N802
        """Return the reader of the stream."""
        return RollReader(int(self.options["orders"]), int(self.options["batch"]))


@dataclass
class Orders(InputPartition):
    """The entries from the order `start` to before the order `end`."""

    start: int
    end: int


class RollReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads `batch` orders at a time, until the total number of orders."""

    def __init__(self, orders: int, batch: int) -> None:
        self._orders = orders
        self._batch = batch

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """Start before the first order."""
        return {"orders": 0}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Do nothing: a bounded run also ends at the last order."""

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return the maximum number of orders per batch."""
        return ReadMaxRows(self._batch)

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        """Return the end of the next batch."""
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else self._orders
        return {"orders": max(start["orders"], min(self._orders, start["orders"] + most))}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[Orders]:
        """Return two halves, for two cores."""
        middle = (start["orders"] + end["orders"] + 1) // 2
        return [Orders(start["orders"], middle), Orders(middle, end["orders"])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the entries of a range of orders."""
        assert isinstance(partition, Orders)
        rows = []
        for order in range(partition.start, partition.end):
            rows.append(_entry("order", order, roll.at(order)))
            rows += [_entry("payment", paid, roll.paid_at(paid)) for paid in roll.payments(order)]
        yield pa.RecordBatch.from_pylist(rows, schema=_SCHEMA)


def _entry(kind: str, order: int, at: object) -> dict[str, object]:
    return {"kind": kind, "order": order, "customer": roll.customer(order), "cents": roll.cents(order), "at": at}
