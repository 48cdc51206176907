"""A clock that was set back is detected by comparison with a monotonic clock."""

from __future__ import annotations

from streamlets.runner.supervision.clock_check import ClockCheck


def test_setting_the_clock_back_is_reported_once() -> None:
    """By an hour it is reported once, by a second not at all; passing time or a clock set forward is not reported."""
    time = {"clock": 1000.0, "timer": 5.0}
    check = ClockCheck(lambda: time["clock"], lambda: time["timer"])
    assert check.seconds() == 0
    time.update(clock=1100.0, timer=105.0)
    assert check.seconds() == 0
    time["clock"] -= 3600
    assert check.seconds() == 3600
    assert check.seconds() == 0
    time["clock"] += 7200
    assert check.seconds() == 0
    time["clock"] -= 1
    assert check.seconds() == 0
