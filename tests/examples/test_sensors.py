"""The streamlets of the sensors example, each on a few records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from streamlets.testkit import Testkit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
def test_averages_are_emitted_when_their_window_is_complete(spark: SparkSession) -> None:
    """A window is emitted when the watermark passes its end; open windows remain in state."""
    from gauges.average import MovingAverage

    with Testkit(spark) as kit:
        average = kit.streamlet(
            MovingAverage, parameters={"window": "10 seconds", "slide": "10 seconds", "patience": "0 seconds"}
        )
        readings = average.inlet("readings")
        readings.put(
            [{"gauge": "a", "at": f"2024-05-01T12:00:0{second}Z", "value": float(second)} for second in (1, 2, 6)]
        )
        step = average.step()
        assert average.outlet("averages").take() == []
        assert step.pending_rows == 1
        readings.put([{"gauge": "b", "at": "2024-05-01T12:00:11Z", "value": 7.0}])
        step = average.step()
        (row,) = average.outlet("averages").take()
        assert (row["gauge"], row["value"], row["readings"]) == ("a", 3.0, 3)
        assert row["until"].isoformat() == "2024-05-01T12:00:10+00:00"
        assert step.pending_rows == 1


@pytest.mark.spark
def test_a_late_reading_is_counted(spark: SparkSession) -> None:
    """A reading before the watermark is counted and dropped."""
    from gauges.average import MovingAverage

    with Testkit(spark) as kit:
        average = kit.streamlet(
            MovingAverage, parameters={"window": "10 seconds", "slide": "10 seconds", "patience": "0 seconds"}
        )
        readings = average.inlet("readings")
        readings.put([{"gauge": "a", "at": "2024-05-01T12:01:00Z", "value": 1.0}])
        average.step()
        readings.put([{"gauge": "a", "at": "2024-05-01T12:00:01Z", "value": 9.0}])
        step = average.step()
        assert step.late == 1
        assert average.outlet("averages").take() == []


@pytest.mark.spark
def test_the_ingress_writes_readings_of_four_gauges(spark: SparkSession) -> None:
    """Each reading is of one of four gauges, with a value near 20."""
    from gauges.sensors import Sensors

    with Testkit(spark) as kit:
        sensors = kit.streamlet(Sensors, parameters={"records-per-second": 50})
        outlet = sensors.outlet("readings")
        sensors.run_until(lambda: len(outlet.all()) >= 40)
        rows = outlet.all()
        assert {row["gauge"] for row in rows} == {"gauge-1", "gauge-2", "gauge-3", "gauge-4"}
        assert all(15 <= row["value"] <= 25 for row in rows)


@pytest.mark.spark
def test_the_console_prints_a_line_for_each_average(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    """Every average is a line with its time, gauge and value."""
    from gauges.console import Console

    with Testkit(spark) as kit:
        console = kit.streamlet(Console)
        console.inlet("averages").put(
            [{"gauge": "gauge-3", "until": "2024-05-01T12:00:10Z", "value": 20.5, "readings": 40}]
        )
        console.step()
    assert "12:00:10  gauge-3   20.50  (40 readings)" in capsys.readouterr().out
