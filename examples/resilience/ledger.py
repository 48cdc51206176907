"""The ledger of a run: compares the orders at each egress with the expected, computed orders.

python ledger.py [DIRECTORY]     (default: `out` next to this file)
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pyarrow.dataset as ds
from shop import roll

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Account:
    """The account of an egress.

    Arguments:
        settled: the number of different orders.
        lost: missing orders, although later orders of their kind (paid or not) have arrived.
        doubled: additional rows of orders that have arrived before.
        wrong: orders with an unexpected row.
    """

    settled: int
    lost: int
    doubled: int
    wrong: int

    @property
    def exact(self) -> bool:
        """Whether every order has arrived exactly once, with the expected row."""
        return not (self.lost or self.doubled or self.wrong)


def account(rows: Iterable[Mapping[str, object]]) -> Account:
    """Compare rows with the expected orders. Orders of a kind arrive in order, so gaps before the last are losses."""
    counts: Counter[int] = Counter()
    wrong: set[int] = set()
    for row in rows:
        order = int(str(row["order"]))
        counts[order] += 1
        if dict(row) != expected(order):
            wrong.add(order)
    last = {kind: max((order for order in counts if roll.is_paid(order) == kind), default=-1) for kind in (True, False)}
    due = {order for order in range(max(last.values()) + 1) if order <= last[roll.is_paid(order)]}
    return Account(len(counts), len(due - counts.keys()), counts.total() - len(counts), len(wrong))


def expected(order: int) -> dict[str, object]:
    """Return the expected row of an order."""
    return {
        "order": order,
        "customer": roll.customer(order),
        "cents": roll.cents(order),
        "at": roll.at(order),
        "paid_at": roll.paid_at(order),
    }


def parquet(folder: Path) -> list[dict[str, object]]:
    """Return the rows of the Parquet files."""
    if not folder.exists():
        return []
    rows: list[dict[str, object]] = ds.dataset(folder, format="parquet").to_table().to_pylist()
    return rows


def lines(file: Path) -> list[dict[str, object]]:
    """Return the rows of the JSON lines; JSON omits nulls and has times as strings."""
    rows = []
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        row = {"paid_at": None, **json.loads(line)}
        rows.append(row | {key: datetime.fromisoformat(row[key]) for key in ("at", "paid_at") if row[key]})
    return rows


def restarts(status: Path) -> dict[str, int]:
    """Return how often each streamlet was restarted, from the run's status file."""
    if not status.exists():
        return {}
    streamlets = json.loads(status.read_text(encoding="utf-8"))["streamlets"]
    return {streamlet["ref"]: sum(unit["restarts"] for unit in streamlet["units"]) for streamlet in streamlets}


def main(out: Path, status: Path) -> int:
    """Print the ledger; return 0 if the Parquet files are exact, otherwise 1."""
    for ref, count in restarts(status).items():
        if count:
            print(f"{ref} was restarted {count} time{'' if count == 1 else 's'}")
    accounts = {"archive (Parquet)": account(parquet(out / "archive")), "lines": account(lines(out / "lines.jsonl"))}
    print(f"{'egress':18} {'settled':>8} {'lost':>6} {'doubled':>8} {'wrong':>6}")
    for name, egress in accounts.items():
        print(f"{name:18} {egress.settled:8,} {egress.lost:6,} {egress.doubled:8,} {egress.wrong:6,}")
    return 0 if accounts["archive (Parquet)"].exact else 1


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "out"
    raise SystemExit(main(folder, HERE / ".flow" / "resilience" / "status" / "status.json"))
