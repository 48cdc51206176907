"""The example of change data capture: the replica has the rows of its source, whatever happens in between."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest

from benchmarks.processes import killed_at_end, wait_until
from streamlets.testkit import Testkit
from streamlets.testkit.spout_under_test import SpoutUnderTest
from tests.pages import blocks

REPOSITORY = Path(__file__).resolve().parents[2]
EXAMPLE = REPOSITORY / "examples" / "changes"


@contextmanager
def database(server: str) -> Iterator[str]:
    """Create a database of the server, and return its URL. A slot that is left at the end is dropped."""
    name = f"store_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield server.rpartition("/")[0] + f"/{name}"
        slots = "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = %s"
        connection.execute(slots, (name,))


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Return the URL of an empty database of each kind."""
    if request.param == "sqlite":
        yield f"sqlite:{tmp_path / 'store.db'}"
        return
    with database(request.getfixturevalue("postgresql_server")) as new:
        yield new


@pytest.fixture
def follower(url: str, spouts: Testkit) -> SpoutUnderTest:
    """Return the spout that follows the database."""
    from capture import postgresql, sqlite

    if url.startswith("sqlite:"):
        return spouts.spout(sqlite.Orders, parameters={"database": url.removeprefix("sqlite:")})
    return spouts.spout(
        postgresql.Orders, parameters={"database": url, "slot": f"s_{uuid.uuid4().hex[:8]}", "changes": 5}
    )


@pytest.fixture
def spouts(tmp_path: Path) -> Iterator[Testkit]:
    """Return a kit without Spark."""
    with Testkit(directory=tmp_path / "kit") as kit:
        yield kit


def replica(records: list[dict[str, Any]]) -> dict[int, tuple[object, ...]]:
    """Return the rows after changes."""
    rows: dict[int, tuple[object, ...]] = {}
    for record in records:
        if record["deleted"]:
            rows.pop(record["id"], None)
        else:
            rows[record["id"]] = (record["customer"], record["amount"])
    return rows


def source(url: str) -> dict[int, tuple[object, ...]]:
    """Return the rows of the source."""
    from compare import rows

    return {id: (customer, Decimal(str(amount))) for id, (customer, amount) in rows(url, "orders").items()}


def test_the_comparison_prints_what_its_page_shows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """README.md shows the comparison of 24 rows."""
    import compare

    urls = []
    for name in ("orders", "orders_replica"):
        with closing(sqlite3.connect(tmp_path / f"{name}.db")) as connection:
            connection.execute(f"CREATE TABLE {name} (id INTEGER, customer TEXT, amount REAL)")
            connection.executemany(f"INSERT INTO {name} VALUES (?, 'ann', 1.5)", [(number,) for number in range(24)])
            connection.commit()
        urls.append(f"sqlite:{tmp_path}/{name}.db")
    monkeypatch.setattr(sys, "argv", ["compare.py", *urls])
    with pytest.raises(SystemExit) as ended:
        compare.main()
    assert ended.value.code == 0
    assert capsys.readouterr().out == next(blocks("examples/changes/README.md", "text"))


def test_the_changes_lead_to_the_rows_of_the_source(url: str, follower: SpoutUnderTest) -> None:
    """Rows from before the start, inserts, updates, deletes and changes of keys, but nothing that was rolled back. The
    spout may be killed after each commit, before it knows of it."""
    from store import Store

    dice = random.Random(7)
    changes = follower.outlet("out")
    with closing(Store(url, dice)) as store:
        for number in range(60):
            store.transaction()
            if number > 4 and dice.random() < 0.4 and replica(changes.all()) != source(url):
                follower.step()
                follower.restart()
            elif number > 4 and dice.random() < 0.4:
                assert follower.run() == ""
                assert replica(changes.all()) == source(url)
    assert follower.run() == ""
    records = changes.all()
    assert replica(records) == source(url)
    positions = [record["position"] for record in records]
    assert positions == sorted(positions)
    assert sum(record["deleted"] for record in records) > 5


def test_a_transaction_of_the_source_is_one_of_the_spout(url: str, follower: SpoutUnderTest) -> None:
    """A replica that applies whole transactions only shows states that the source had."""
    from store import Store

    dice = random.Random(8)
    states = []
    with closing(Store(url, dice)) as store:
        for _ in range(20):
            store.transaction()
            states.append(source(url))
            if len(states) == 5:
                assert follower.run() == ""
    assert follower.run() == ""
    records: list[dict[str, Any]] = []
    for batch in follower.outlet("out").batches():
        records += batch.to_pylist()
        assert replica(records) in states


def test_changes_that_another_program_has_read(url: str, follower: SpoutUnderTest) -> None:
    """The spout fails: the replica would not have them."""
    from store import Store, connected

    with closing(Store(url, random.Random(9))) as store:
        store.transaction()
        assert follower.run() == ""
        store.transaction()
        store.transaction()
    with closing(connected(url)) as connection:
        if url.startswith("sqlite:"):
            connection.execute("DELETE FROM orders_changes")
        else:
            slot = follower.plan.parameters["slot"]
            connection.execute("SELECT count(*) FROM pg_logical_slot_get_binary_changes(%s, NULL, NULL, "
                               "'proto_version', '1', 'publication_names', %s)", (slot, slot))  # fmt: skip
    assert "run with `--fresh`" in follower.run()


def test_a_large_value_that_does_not_change(postgresql_server: str, spouts: Testkit) -> None:
    """PostgreSQL stores it outside of the row, and an update of other columns does not write it again."""
    from capture import postgresql
    from store import Store, connected

    with database(postgresql_server) as url:
        follower = spouts.spout(postgresql.Orders, parameters={"database": url, "slot": f"s_{uuid.uuid4().hex[:8]}"})
        large = "".join(random.Random(1).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=20_000))
        with closing(Store(url, random.Random(1))), closing(connected(url)) as connection:
            assert follower.run() == ""
            connection.execute("INSERT INTO orders VALUES (1, %s, 1)", (large,))
            connection.execute("UPDATE orders SET amount = 2")
            connection.execute("UPDATE orders SET id = 5")
            assert follower.run() == ""
            assert replica(follower.outlet("out").all()) == {5: (large, Decimal(2))}
            connection.execute("TRUNCATE orders")
            assert "`orders` was truncated" in follower.run()


def test_a_slot_of_another_application(postgresql_server: str, spouts: Testkit) -> None:
    """It is not dropped."""
    from capture import postgresql
    from store import Store

    with database(postgresql_server) as url:
        parameters = {"database": url, "slot": f"s_{uuid.uuid4().hex[:8]}"}
        with closing(Store(url, random.Random(1))):
            assert spouts.spout(postgresql.Orders, parameters=parameters).run() == ""
            second = spouts.spout(postgresql.Orders, ref="second", parameters=parameters)
            assert "exists. If no other application uses it" in second.run()


@pytest.mark.spark
def test_the_replica_in_a_database(kit: Testkit, tmp_path: Path) -> None:
    """The blueprint of the example, with the records of its spout: the sink makes the rows of the source."""
    from compare import differences, rows
    from store import Store

    application, url, target = copied(tmp_path)
    app = kit.application(application / "blueprint.conf", real=["replica"])
    follower = app.spout("follow")
    with closing(Store(url, random.Random(3))) as store:
        for transactions in (10, 40):
            for _ in range(transactions):
                store.transaction()
            assert follower.run() == ""
            app.step()
            assert differences(rows(url, "orders"), rows(target, "orders_replica")) == []
    assert len(rows(target, "orders_replica")) > 3


@pytest.mark.spark
@pytest.mark.full
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_kills(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """The whole application is killed while the source changes, and catches up after that."""
    from compare import differences, rows
    from store import Store

    application, url, target = copied(tmp_path)
    with ExitStack() as resources:
        conf: tuple[str, ...] = ()
        if kind == "postgresql":
            url = target = resources.enter_context(database(request.getfixturevalue("postgresql_server")))
            slot = f"blueprint.streamlets.follow.parameters.slot=s_{uuid.uuid4().hex[:8]}"
            conf = ("--conf", str(application / "postgresql.conf"), slot)
        dice = random.Random(4)
        store = resources.enter_context(closing(Store(url, dice)))
        command = [sys.executable, "-m", "cli.main", "run", str(application), *conf]
        environment = os.environ | {"PYTHONPATH": str(REPOSITORY), "STORE": url}
        out = tmp_path / "run.out"

        def is_equal() -> bool:
            with suppress(sqlite3.Error, psycopg.Error):  # there is no replica yet
                return not differences(rows(url, "orders"), rows(target, "orders_replica"))
            return False

        for _ in range(3):
            with (
                out.open("ab") as file,
                killed_at_end(subprocess.Popen(command, stdout=file, stderr=file, env=environment)) as run,
            ):
                for _ in range(30):
                    store.transaction()
                wait_until(run, out, is_equal)
                for _ in range(dice.randint(1, 30)):
                    store.transaction()
        end = subprocess.run([*command, "--available-now"], env=environment, capture_output=True, text=True)
        assert end.returncode == 0, end.stdout + end.stderr
        assert differences(rows(url, "orders"), rows(target, "orders_replica")) == []


def copied(directory: Path) -> tuple[Path, str, str]:
    """Copy the example; return its directory, and the URLs of its databases."""
    application = shutil.copytree(EXAMPLE, directory / "example", ignore=shutil.ignore_patterns(".flow", "*.db*"))
    return application, f"sqlite:{application / 'store.db'}", f"sqlite:{application / 'replica.db'}"
