"""The shop of `examples/resilience`: an ingress, a stateful processor, a join of two streams, an egress to Parquet.

Spark's state is compared with the state of an undisturbed run, too.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from benchmarks.kills.ledger import BATCH, REPOSITORY, Ledger, Topics, as_text

if TYPE_CHECKING:
    from collections.abc import Sequence

# The example without its failures, and without the egress that duplicates records.
BLUEPRINT = '''\
blueprint {
  streamlets {
    till    = shop.till.Till
    once    = shop.once.Once
    settle  = shop.settle.Settle
    archive { class = streamlets.Sink, inlets.in.schema = ${settled}, parameters { to = parquet, options.path = out } }
  }
  topics {
    orders   { producers = [till.orders],    consumers = [settle.orders] }
    payments { producers = [till.payments],  consumers = [once.payments] }
    paid     { producers = [once.paid],      consumers = [settle.paid] }
    settled  { producers = [settle.settled], consumers = [archive.in] }
  }
}
settled = """
  order bigint not null, customer bigint not null, cents bigint not null, at timestamp not null, paid_at timestamp"""
flow.application = ledger
'''


class ShopLedger(Ledger):
    """The shop, in its own directory; a file is a hundred orders."""

    topics: ClassVar[tuple[str, ...]] = ("orders", "payments", "paid", "settled")
    queries: ClassVar[dict[str, str]] = {
        "till": "orders.payments", "once": "paid", "settle": "settled", "archive": "sink"
    }  # fmt: skip
    passages: ClassVar[int] = 12
    modules: ClassVar[Path] = REPOSITORY / "examples" / "resilience"

    @property
    def blueprint(self) -> Path:
        """The example's modules in a blueprint of their own."""
        return self.directory

    @property
    def settings(self) -> dict[str, object]:
        """Return settings of streamlets."""
        limits = ("once.inlets.payments", "settle.inlets.orders", "settle.inlets.paid", "archive.inlets.in")
        return {
            "till.parameters.orders": self.files * BATCH,
            "till.parameters.batch": self.batch,
            **{f"{inlet}.max-records": self.batch for inlet in limits},
        }

    @property
    def files(self) -> int:
        """The number of hundreds of orders."""
        fed = self.directory / "files"
        return int(fed.read_text()) if fed.exists() else 0

    def feed(self, files: int) -> None:
        """Add hundreds of orders."""
        self.directory.mkdir(parents=True, exist_ok=True)
        (self.directory / "blueprint.conf").write_text(BLUEPRINT)
        (self.directory / "files").write_text(str(self.files + files))

    def state(self, session: Any) -> dict[str, Counter[str]]:
        """Return the rows in the state of the processor and of both sides of the join."""
        checkpoints = self.home / "checkpoints"
        states = {"state of once": _rows(session.read.format("statestore").load(str(checkpoints / "once" / "paid")))}
        for side in ("left", "right"):
            reader = session.read.format("statestore").option("joinSide", side)
            states[f"state of settle, {side}"] = _rows(reader.load(str(checkpoints / "settle" / "settled")))
        return states


def _rows(state: Any) -> Counter[str]:
    columns = [f"{part}.{field.name}" for part in ("key", "value") for field in state.schema[part].dataType.fields]
    return Counter(as_text(list(row)) for row in state.selectExpr(*columns).collect())


def expected(orders: int) -> dict[str, Counter[str]]:
    """Return the expected records of the topics that only depend on orders; unpaid orders depend on the join."""
    opening = datetime(2024, 5, 1, 8, tzinfo=UTC)

    def paid(order: int) -> dict[str, object]:
        return {"order": order, "paid_at": opening + timedelta(seconds=order + 30)}

    def ordered(order: int) -> dict[str, object]:
        at = opening + timedelta(seconds=order)
        return {"order": order, "customer": order * 31 % 97, "cents": 100 + order * 37 % 5000, "at": at}

    payers = [order for order in range(orders - 30) if order % 10 != 3]
    again = [order for order in payers if order % 7 == 0 and order < orders - 45]
    rows = {
        "orders": map(ordered, range(orders)),
        "payments": map(paid, [*payers, *again]),
        "paid": map(paid, payers),
    }
    return {name: Counter(map(as_text, records)) for name, records in rows.items()}


class Shop(Topics):
    """The shop, disturbed by kills, and undisturbed."""

    each, kills = 10, 60

    def applications(self, options: Sequence[str]) -> tuple[Ledger, Ledger]:
        """Return both; only the output of the undisturbed one matters, so its batches may be larger."""
        disturbed, undisturbed = self.directory / "disturbed", self.directory / "undisturbed"
        return ShopLedger(disturbed, options=options), ShopLedger(undisturbed, batch=20 * BATCH, options=options)

    def finish(self) -> None:
        """Feed both sides of the join, so that both applications end with the same watermark."""
        self.ledger.feed(2)

    def expected(self) -> dict[str, Counter[str]]:
        """Return the records of the topics that depend only on orders."""
        return expected(self.ledger.files * BATCH)

    def contents(self, *ledgers: Ledger) -> list[dict[str, Counter[str]]]:
        """Return the records and the state of each shop."""
        from pyspark.sql import SparkSession

        provider = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        session = builder.config("spark.sql.streaming.stateStore.providerClass", provider).getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        try:
            return [shop.records() | shop.state(session) for shop in ledgers if isinstance(shop, ShopLedger)]
        finally:
            session.stop()
