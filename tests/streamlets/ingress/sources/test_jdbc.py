"""The source `jdbc` with SQLite, DuckDB and PostgreSQL."""

from __future__ import annotations

import datetime
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from streamlets.testkit import Testkit
from tests.streamlets.egress.postgresql import postgresql_server  # noqa: F401 - the fixture
from tests.streamlets.ingress.sources.bench import Bench

SCHEMA = "id long NOT NULL, name string, price decimal(20,2), open boolean, at timestamp, score double"
CREATE = (
    'CREATE TABLE orders (id BIGINT, name VARCHAR(20), price DECIMAL(20,2), open BOOLEAN, "at" TIMESTAMPTZ, '
    "score DOUBLE PRECISION)"
)
Execute = Callable[[str], Any]


@pytest.fixture
def kit(tmp_path: Path) -> Iterator[Testkit]:
    """Provide a kit."""
    with Testkit(directory=tmp_path / "kit") as created:
        yield created


@pytest.fixture(params=["sqlite", "duckdb", "postgresql"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Execute]:
    """Provide the URL of a database with the table `orders`, and a function that executes statements in it."""
    url = f"{request.param}:{tmp_path / 'shop.db'}"
    if request.param == "postgresql":
        url = request.getfixturevalue("postgresql_server")

    def execute(statement: str) -> None:
        if request.param == "sqlite":
            with closing(sqlite3.connect(tmp_path / "shop.db")) as connection, connection:
                connection.execute(statement)
        elif request.param == "duckdb":
            import duckdb

            with duckdb.connect(str(tmp_path / "shop.db")) as connection:
                connection.execute(statement)
        else:
            import psycopg

            with psycopg.connect(url) as connection:
                connection.execute(statement)

    execute("DROP TABLE IF EXISTS orders")
    execute(CREATE)
    return url, execute


def insert(execute: Execute, first: int, last: int, at: str = "2024-01-01 12:00:00+00:00") -> None:
    """Insert rows."""
    rows = (f"({number}, 'n{number}', 12345678901.25, TRUE, '{at}', 0.5)" for number in range(first, last + 1))
    execute(f"INSERT INTO orders VALUES {', '.join(rows)}")


def test_rows_by_a_number(kit: Testkit, tmp_path: Path, server: tuple[str, Execute]) -> None:
    """Each row once, in tasks of a limited size, with the values of the schema; a restart changes nothing."""
    url, execute = server
    insert(execute, 1, 25)
    execute("INSERT INTO orders VALUES (NULL, 'none', 1, TRUE, NULL, NULL)")
    bench = Bench(kit, tmp_path / "data", "jdbc", SCHEMA, url=url, table="orders", column="id", rows=10)
    assert bench.source.discover() == [{"after": a, "upto": b} for a, b in ((None, 10), (10, 20), (20, 25))]
    rows = bench.read()
    assert [row["id"] for row in rows] == [*range(1, 26)]
    assert rows[0] == {
        "id": 1,
        "name": "n1",
        "price": Decimal("12345678901.25"),
        "open": True,
        "at": datetime.datetime(2024, 1, 1, 12, tzinfo=datetime.UTC),
        "score": 0.5,
    }
    assert bench.read() == []
    bench.source.restart()
    insert(execute, 26, 27)
    assert [row["id"] for row in bench.read()] == [26, 27] and bench.letters() == []


def test_rows_by_a_time(kit: Testkit, tmp_path: Path, server: tuple[str, Execute]) -> None:
    """Rows with the same time are in one task, and those of the last hour wait."""
    url, execute = server
    insert(execute, 1, 5, "2024-01-01 12:00:00.250000+00:00")
    insert(execute, 6, 6, "2024-01-02 00:00:00+00:00")
    insert(execute, 7, 7, datetime.datetime.now(datetime.UTC).isoformat(" "))
    bench = Bench(
        kit, tmp_path / "data", "jdbc", SCHEMA, url=url, query="SELECT * FROM orders WHERE id <> 3", column="at",
        rows=2, delay="1 hour",
    )  # fmt: skip
    assert len(bench.source.discover()) == 2
    assert [row["id"] for row in bench.read()] == [1, 2, 4, 5, 6]
    insert(execute, 8, 8, "2024-01-02 00:00:01+00:00")
    assert [row["id"] for row in bench.read()] == [8]


def test_rows_that_do_not_fit(kit: Testkit, tmp_path: Path) -> None:
    """They are dead letters with their range; SQLite has any value in any column."""
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection, connection:
        connection.execute("CREATE TABLE t (id, price)")
        connection.execute("INSERT INTO t VALUES (1, 'many'), (2, 3)")
    url = f"sqlite:{tmp_path / 'shop.db'}"
    bench = Bench(kit, tmp_path / "data", "jdbc", "id int, price int", url=url, table="t", column="id")
    assert [row["id"] for row in bench.read()] == [2]
    ((record, reason),) = bench.letters()
    assert record == '{"id": 1, "price": "many"}'
    assert reason == "t, id up to 2, row 1: `price`: is a `str` ('many'), expected `int`"


def test_a_database_that_does_not_exist_is_not_created(kit: Testkit, tmp_path: Path) -> None:
    """The discovery fails, and runs again when it is there."""
    url = f"sqlite:{tmp_path / 'shop.db'}"
    bench = Bench(kit, tmp_path / "data", "jdbc", "id int", url=url, table="t", column="id")
    with pytest.raises(sqlite3.OperationalError, match="unable to open"):
        bench.source.discover()
    assert not (tmp_path / "shop.db").exists()


@pytest.mark.parametrize("value", ["x'00ff'", "1e999"])
def test_a_value_that_is_no_position(kit: Testkit, tmp_path: Path, value: str) -> None:
    """The error of the discovery names the table and the column."""
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection, connection:
        connection.execute("CREATE TABLE t (id)")
        connection.execute(f"INSERT INTO t VALUES (1), ({value})")
    url = f"sqlite:{tmp_path / 'shop.db'}"
    bench = Bench(kit, tmp_path / "data", "jdbc", "id int", url=url, table="t", column="id")
    with pytest.raises(ValueError, match=r"the column `id` of `t` has the value .*, which is not a number or a time"):
        bench.source.discover()


def test_numbers_with_a_fraction_are_no_positions(kit: Testkit, tmp_path: Path) -> None:
    """A rounded one would be passed again and again."""
    import duckdb

    with duckdb.connect(str(tmp_path / "shop.db")) as connection:
        connection.execute("CREATE TABLE t (id DECIMAL(5,1))")
        connection.execute("INSERT INTO t VALUES (1.5)")
    url = f"duckdb:{tmp_path / 'shop.db'}"
    bench = Bench(kit, tmp_path / "data", "jdbc", "id int", url=url, table="t", column="id")
    with pytest.raises(ValueError, match=r"the column `id` of `t` has the value Decimal\('1.5'\)"):
        bench.source.discover()
