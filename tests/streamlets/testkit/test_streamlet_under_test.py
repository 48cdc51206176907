"""A streamlet under test: fed, stepped and read on real topics and checkpoints."""

from __future__ import annotations

import datetime

import pytest

from streamlets import (
    AvroInlet,
    AvroOutlet,
    DurationParameter,
    Queries,
    SparkStreamlet,
    SparkStreamletLogic,
)
from streamlets.testkit import Testkit

pytestmark = pytest.mark.spark


class MovingAverage(SparkStreamlet):
    """Mean of each gauge over a window."""

    readings = AvroInlet(schema="src string not null, ts timestamp not null, value double not null")
    averages = AvroOutlet(schema="src string, value double", extra="fail")
    window = DurationParameter("Length of the window", default="1 minute")

    class Logic(SparkStreamletLogic["MovingAverage"]):
        """A windowed mean."""

        def build_streaming_queries(self) -> Queries:
            """One query."""
            from pyspark.sql import functions as F

            me = self.streamlet
            mean = (
                self.read_stream(me.readings)
                .withWatermark("ts", "0 seconds")
                .groupBy(F.window("ts", self.value(me.window).sql), "src")
                .agg(F.avg("value").alias("value"))
            )
            return self.write_stream(mean.select("src", "value"), me.averages)


def reading(src: str, minute: int, value: float) -> dict[str, object]:
    """A reading at 12:<minute>."""
    return {"src": src, "ts": datetime.datetime(2024, 1, 1, 12, minute, tzinfo=datetime.UTC), "value": value}


def test_a_window_comes_out_in_the_step_that_closes_it(kit: Testkit) -> None:
    """An open window is held; the record that moves the watermark past its end brings it out in the same step."""
    app = kit.streamlet(MovingAverage, parameters={"window": "1 minute"})
    app.inlet("readings").put([reading("a", 0, 1.0), reading("a", 0, 3.0)])
    first = app.step()
    assert (first.rows_in, first.held, app.outlet("averages").take()) == (2, 1, [])
    app.inlet("readings").put([reading("a", 5, 7.0)])
    second = app.step()
    assert app.outlet("averages").take() == [{"src": "a", "value": 2.0}]
    assert second.rows_in == 1
    assert app.outlet("averages").take() == []
