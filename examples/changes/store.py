"""Changes the table `orders` at random, as a store would: in transactions, some of which are rolled back.

python store.py sqlite:store.db [--transactions 100] [--seconds 0.05] [--seed 1]
python store.py postgresql://me@localhost/store
"""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path
from typing import Any

_CREATE = "CREATE TABLE IF NOT EXISTS orders (id {id} PRIMARY KEY, customer TEXT, amount {amount})"
_NAMES = ("Ada", "Böll", "O'Neil", "Šárka", '"quoted"', "a,b\nc", None)


def connected(url: str) -> Any:
    """Connect to a database; each statement is a transaction of its own unless one was begun."""
    if url.startswith("postgresql:"):
        import psycopg

        return psycopg.connect(url, autocommit=True)
    import sqlite3

    return sqlite3.connect(url.removeprefix("sqlite:"), isolation_level=None, timeout=60.0)


class Store:
    """A client of the store's database.

    Arguments:
        url: the database.
        dice: the random numbers of what happens.
    """

    def __init__(self, url: str, dice: random.Random) -> None:
        self._connection, self._dice = connected(url), dice
        if url.startswith("postgresql:"):
            self._mark = "%s"
            self._execute(_CREATE.format(id="BIGINT", amount="DECIMAL(10, 2)"))
        else:
            self._mark = "?"
            self._execute("PRAGMA journal_mode = WAL")  # readers and the writer do not wait for each other
            self._execute(_CREATE.format(id="INTEGER", amount="TEXT"))  # there is no type for decimals

    def transaction(self) -> None:
        """Make some changes, and commit them or roll them back."""
        self._execute("BEGIN")
        for _ in range(self._dice.randint(1, 5)):
            self._change()
        self._execute("ROLLBACK" if self._dice.random() < 0.1 else "COMMIT")

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _change(self) -> None:
        """Insert, update or delete an order, or change its key."""
        ids = [row[0] for row in self._execute("SELECT id FROM orders ORDER BY id").fetchall()]
        unused = self._dice.choice([id for id in range(1, len(ids) + 20) if id not in ids])
        customer, amount = self._dice.choice(_NAMES), f"{self._dice.uniform(-100, 1000):.2f}"
        action = self._dice.choice(("insert", "insert", "update", "delete", "key")) if ids else "insert"
        if action == "insert":
            self._execute("INSERT INTO orders VALUES (?, ?, ?)", unused, customer, amount)
            return
        id = self._dice.choice(ids)
        if action == "update":
            self._execute("UPDATE orders SET customer = ?, amount = ? WHERE id = ?", customer, amount, id)
        elif action == "delete":
            self._execute("DELETE FROM orders WHERE id = ?", id)
        else:
            self._execute("UPDATE orders SET id = ? WHERE id = ?", unused, id)

    def _execute(self, statement: str, *values: object) -> Any:
        return self._connection.execute(statement.replace("?", self._mark), values)


def main() -> None:
    """Change the table until all transactions are made."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    here = Path(__file__).parent
    parser.add_argument("url", nargs="?", default=f"sqlite:{here / 'store.db'}", help="the database")
    parser.add_argument("--transactions", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=0.05, help="the time between two transactions")
    parser.add_argument("--seed", type=int, help="for the same changes again")
    options = parser.parse_args()
    store = Store(options.url, random.Random(options.seed))
    for _ in range(options.transactions):
        store.transaction()
        time.sleep(options.seconds)
    store.close()


if __name__ == "__main__":
    main()
