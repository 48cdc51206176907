"""The ledger of a run: what became of every order, by each egress, beside what arithmetic says should have.

python ledger.py [FOLDER]     (left out: the folder `out` beside this file)
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
    """How an egress stands.

    Arguments:
        settled: orders it has, each counted once.
        lost: orders it should have, as it has later ones of their kind (paid or not).
        doubled: rows that it has beside the first of an order.
        wrong: orders whose row is not what arithmetic says.
    """

    settled: int
    lost: int
    doubled: int
    wrong: int

    @property
    def exact(self) -> bool:
        """Whether every order is there once, as it should be."""
        return not (self.lost or self.doubled or self.wrong)


def account(rows: Iterable[Mapping[str, object]]) -> Account:
    """Compare rows with the roll. Orders of a kind come in order, so one that is missed below the last one is lost."""
    found: Counter[int] = Counter()
    wrong: set[int] = set()
    for row in rows:
        order = int(str(row["order"]))
        found[order] += 1
        if dict(row) != expected(order):
            wrong.add(order)
    last = {kind: max((order for order in found if roll.is_paid(order) == kind), default=-1) for kind in (True, False)}
    due = {order for order in range(max(last.values()) + 1) if order <= last[roll.is_paid(order)]}
    return Account(len(found), len(due - found.keys()), found.total() - len(found), len(wrong))


def expected(order: int) -> dict[str, object]:
    """The row of an order, as arithmetic has it."""
    return {
        "order": order,
        "customer": roll.customer(order),
        "cents": roll.cents(order),
        "at": roll.at(order),
        "paid_at": roll.paid_at(order),
    }


def parquet(folder: Path) -> list[dict[str, object]]:
    """The rows of the Parquet files."""
    if not folder.exists():
        return []
    rows: list[dict[str, object]] = ds.dataset(folder, format="parquet").to_table().to_pylist()
    return rows


def lines(file: Path) -> list[dict[str, object]]:
    """The rows of the file of lines; JSON leaves null out and writes times as text."""
    found = []
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        row = {"paid_at": None, **json.loads(line)}
        found.append(row | {key: datetime.fromisoformat(row[key]) for key in ("at", "paid_at") if row[key]})
    return found


def restarts(status: Path) -> dict[str, int]:
    """How often each streamlet was restarted, from the run's status file."""
    if not status.exists():
        return {}
    told = json.loads(status.read_text(encoding="utf-8"))["streamlets"]
    return {each["ref"]: sum(unit["restarts"] for unit in each["units"]) for each in told}


def main(out: Path, status: Path) -> int:
    """Print the ledger; gives 0 when the Parquet files are exact."""
    for ref, count in restarts(status).items():
        if count:
            print(f"{ref} was restarted {count} time{'' if count == 1 else 's'}")
    accounts = {"archive (Parquet)": account(parquet(out / "archive")), "lines": account(lines(out / "lines.jsonl"))}
    print(f"{'egress':18} {'settled':>8} {'lost':>6} {'doubled':>8} {'wrong':>6}")
    for name, one in accounts.items():
        print(f"{name:18} {one.settled:8,} {one.lost:6,} {one.doubled:8,} {one.wrong:6,}")
    return 0 if accounts["archive (Parquet)"].exact else 1


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "out"
    raise SystemExit(main(folder, HERE / ".flow" / "resilience" / "status" / "status.json"))
