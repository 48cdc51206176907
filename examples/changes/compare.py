"""Compares the replica with its source, and prints the rows that differ.

python compare.py [sqlite:store.db sqlite:replica.db]
python compare.py postgresql://me@localhost/store
"""

from __future__ import annotations

import sys
from pathlib import Path

from store import connected

Rows = dict[int, tuple[object, ...]]


def rows(url: str, table: str) -> Rows:
    """Return the rows of a table by key."""
    connection = connected(url)
    found = connection.execute(f"SELECT id, customer, amount FROM {table}").fetchall()
    connection.close()
    return {row[0]: tuple(row[1:]) for row in found}


def differences(source: Rows, replica: Rows) -> list[str]:
    """Return a line for each row that is not the same in both."""
    ids = sorted(source.keys() | replica.keys())
    return [
        f"{id}: {source.get(id, 'no row')} in the source, {replica.get(id, 'no row')} in the replica"
        for id in ids
        if source.get(id) != replica.get(id)
    ]


def main() -> None:
    """Compare the databases in the arguments, or those of the example."""
    here = Path(__file__).parent
    source, replica = (*sys.argv[1:], *sys.argv[1:2])[:2] or (f"sqlite:{here}/store.db", f"sqlite:{here}/replica.db")
    expected = rows(source, "orders")
    different = differences(expected, rows(replica, "orders_replica"))
    print("\n".join(different) or f"the replica has the {len(expected):,} rows of the source, and no others")
    raise SystemExit(bool(different))


if __name__ == "__main__":
    main()
