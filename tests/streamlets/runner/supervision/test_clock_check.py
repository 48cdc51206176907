"""Whether the machine's clock was set back is told by comparing it with one that nobody sets."""

from __future__ import annotations

from streamlets.runner.supervision.clock_check import ClockCheck


def test_setting_the_clock_back_is_told_once() -> None:
    """Back by an hour is told once, by a second not at all, and forward or time that passes neither."""
    time = {"clock": 1000.0, "timer": 5.0}
    watch = ClockCheck(lambda: time["clock"], lambda: time["timer"])
    assert watch.seconds() == 0
    time.update(clock=1100.0, timer=105.0)
    assert watch.seconds() == 0
    time["clock"] -= 3600
    assert watch.seconds() == 3600
    assert watch.seconds() == 0
    time["clock"] += 7200
    assert watch.seconds() == 0
    time["clock"] -= 1
    assert watch.seconds() == 0
