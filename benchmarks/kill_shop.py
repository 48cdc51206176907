"""Kills the shop of `examples/resilience` repeatedly and counts lost records: `python -m benchmarks.kill_shop`.

Four streamlets: an ingress, a stateful processor, a join of two streams, an egress to Parquet. Rounds and kills are
those of `kill_ledger`; Spark's state is compared with that of an undisturbed run, too. With `--directory` this can be
done in several calls: `--rounds 10` executes ten of the remaining rounds, and the last call compares.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.kill_ledger import BATCH, POINTS, REPOSITORY, Ledger, as_text, differences, play_round

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


class Shop(Ledger):
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

    def feed(self, files: int) -> None:
        """Add hundreds of orders."""
        self.directory.mkdir(parents=True, exist_ok=True)
        (self.directory / "blueprint.conf").write_text(BLUEPRINT)
        self.files += files

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


def settle_up(disturbed: Shop, undisturbed: Shop) -> bool:
    """Run both to the end, compare them, print the ledger; whether it is clean."""
    disturbed.feed(2)  # both sides of the join get records, so both runs end with the same watermark
    undisturbed.feed(disturbed.files)
    codes = disturbed.run(), undisturbed.run()
    got, wanted = _all(disturbed, undisturbed)
    truth = expected(disturbed.files * BATCH)
    assert {name: wanted[name] for name in truth} == truth, "the undisturbed run itself is wrong"
    wrong = differences(got, wanted)
    print(f"exit codes of the last runs: {codes}; {disturbed.files * BATCH:,} orders made")
    for name, (lost, doubled) in wrong.items():
        print(f"{name:22} {wanted[name].total():7,} rows, {lost} lost, {doubled} doubled")
    return not any(codes) and not any(any(counts) for counts in wrong.values())


def _all(*shops: Shop) -> list[dict[str, Counter[str]]]:
    """Return the records and the state of a shop."""
    from pyspark.sql import SparkSession

    provider = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.streaming.stateStore.providerClass", provider).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    try:
        return [shop.records() | shop.state(session) for shop in shops]
    finally:
        session.stop()


@dataclass
class Journal:
    """The remaining and the completed rounds, stored in the directory so that another call can continue.

    Arguments:
        todo: the crash points of the remaining rounds, "" for a kill in a batch, in random order.
        hits: what each completed round hit.
        files: the number of files that were fed.
    """

    directory: Path
    todo: list[str]
    hits: list[str] = field(default_factory=list)
    files: int = 0

    @classmethod
    def at(cls, directory: Path, todo: list[str]) -> Journal:
        """Return the journal of a directory, or a new one with the rounds `todo`."""
        file = directory / "journal.json"
        return cls(directory, **json.loads(file.read_text())) if file.exists() else cls(directory, todo)

    def keep(self) -> None:
        """Write the journal to its file."""
        self.directory.mkdir(parents=True, exist_ok=True)
        draft = self.directory / "journal.json.draft"
        draft.write_text(json.dumps({"todo": self.todo, "hits": self.hits, "files": self.files}))
        draft.replace(self.directory / "journal.json")


def do_rounds(shop: Shop, journal: Journal, dice: random.Random, most: int) -> None:
    """Execute at most `rounds` of the remaining rounds; a round that ended before its kill does not count."""
    begun = time.monotonic()
    for _ in range(most):
        if not journal.todo:
            return
        hit, description = play_round(shop, journal.todo[-1], dice)
        if hit:
            journal.todo.pop()
        journal.hits.append(description)
        journal.files = shop.files
        journal.keep()
        print(f"{len(journal.hits):3} {time.monotonic() - begun:6.0f} s  {description}", flush=True)


def _kind(hit: str) -> str:
    """Return what a round hit, without numbers."""
    return re.sub(r", passage \d+: killed|batch \d+: ", "", hit)


def main() -> None:
    """Run the rounds and print the ledger."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=10, help="how often each crash point is hit")
    parser.add_argument("--kills", type=int, default=60, help="how often it is killed in a batch")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=1_000_000, help="maximum number of rounds in this call")
    parser.add_argument("--compare", action="store_true", help="compare now, even if rounds remain")
    parser.add_argument("--directory", type=Path, help="directory of the state, to continue an earlier call")
    options = parser.parse_args()
    directory = options.directory or Path(tempfile.mkdtemp(prefix="shop-"))
    todo = [*POINTS] * options.each + [""] * options.kills
    random.Random(options.seed).shuffle(todo)
    journal = Journal.at(directory, todo)
    # Only the output of the undisturbed run matters, so its batches may be larger.
    disturbed = Shop(directory / "disturbed", files=journal.files)
    undisturbed = Shop(directory / "undisturbed", batch=20 * BATCH)
    do_rounds(disturbed, journal, random.Random(options.seed * 1000 + len(journal.hits)), options.rounds)
    if journal.todo:
        print(f"{len(journal.todo)} rounds remain")
        if not options.compare:
            return
    clean = settle_up(disturbed, undisturbed)
    journal.files = disturbed.files
    journal.keep()
    print("hit:", dict(sorted(Counter(map(_kind, journal.hits)).items())))
    if options.directory is None:
        shutil.rmtree(directory)
    raise SystemExit(not clean)


if __name__ == "__main__":
    main()
