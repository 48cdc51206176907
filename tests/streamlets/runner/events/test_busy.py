"""How busy a unit is: the share of the last minute in batches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamlets.runner.events.busy import WINDOW, Spells, busy_ratio, with_batch
from streamlets.runner.events.event import Event, fold
from streamlets.runner.events.run_events import RunStarted
from streamlets.runner.events.status import RunStatus, UnitId, UnitStatus
from streamlets.runner.events.unit_events import UnitChanged, UnitMeasured, UnitProgressed

UNIT = UnitId("a", "x")


def unit_after(*events: Event) -> UnitStatus:
    """Return the unit after events of a run that started at 0; it runs from the start."""
    status = RunStatus()
    for event in (RunStarted(0.0, "app", ("a",)), UnitChanged(0.0, UNIT, "running"), *events):
        status = fold(status, event)
    return status.units[UNIT]


def test_a_unit_is_busy_for_the_time_in_its_batches() -> None:
    """Two batches of ten seconds in the last minute are a third; in the first minute the passed time counts."""
    unit = unit_after(UnitProgressed(30.0, UNIT, 0, 1, seconds=10.0), UnitProgressed(50.0, UNIT, 1, 1, seconds=10.0))
    assert unit.busy(60.0) == pytest.approx(20 / 60)
    assert unit.busy(50.0) == pytest.approx(20 / 50)
    assert unit.busy(85.0) == pytest.approx(15 / 60), "the first batch began 65 seconds ago"
    assert unit.busy(200.0) == 0.0


def test_the_running_batch_counts() -> None:
    """A unit whose batch has been running for longer than the window is fully busy."""
    unit = unit_after(UnitMeasured(100.0, UNIT, {}, (1, 100.0)))
    assert unit.busy(115.0) == pytest.approx(15 / 60)
    assert unit.busy(1000.0) == 1.0
    assert unit.busy(50.0) == 0.0, "the clock was set back"


def test_a_long_batch_counts_only_for_the_window() -> None:
    """When a batch of an hour has ended, the unit was busy for the last minute, not for sixty of them."""
    unit = unit_after(UnitProgressed(3600.0, UNIT, 0, 1, seconds=3590.0))
    assert unit.busy(3600.0) == 1.0
    assert unit.busy(3630.0) == pytest.approx(0.5)


def test_a_unit_without_batches_or_that_does_not_run() -> None:
    """A spout has no ratio; a unit that waits for its restart has 0, and begins again after it."""
    assert unit_after(UnitProgressed(5.0, UNIT, None, 0, {"out": 3})).busy(6.0) is None
    batch = UnitProgressed(30.0, UNIT, 0, 1, seconds=30.0)
    waiting = UnitChanged(31.0, UNIT, "backing-off", "it broke", retry_in=5.0)
    assert unit_after(batch, waiting).busy(32.0) == 0.0
    again = unit_after(batch, waiting, UnitChanged(40.0, UNIT, "running"))
    assert again.busy(50.0) == 0.0


def test_a_drain_does_not_forget_the_batches_before_it() -> None:
    """A unit that was idle and then finishes its batch for a second is not fully busy."""
    batches = (UnitProgressed(20.0, UNIT, 0, 1, seconds=10.0), UnitMeasured(58.0, UNIT, {}, (1, 58.0)))
    assert unit_after(*batches, UnitChanged(59.0, UNIT, "draining")).busy(60.0) == pytest.approx(12 / 50)


@given(st.lists(st.tuples(st.floats(0, 9), st.floats(0, 9)), max_size=200), st.floats(0, 100))
def test_many_batches_stay_few_spells(batches: list[tuple[float, float]], later: float) -> None:
    """The ratio of merged batches is that of the single ones, but for the batches at the begin of the window."""
    spells: Spells = ()
    now, single = 1000.0, []
    for wait, seconds in batches:
        now += wait + seconds
        spells = with_batch(spells, now, seconds)
        single.append((now - seconds, now))
    now += later
    ratio = busy_ratio(spells, 0.0, None, now)
    exact = sum(max(0.0, end - max(begin, now - WINDOW)) for begin, end in single) / WINDOW
    assert len(spells) <= WINDOW / 5 + 2
    assert 0 <= ratio <= 1
    assert abs(ratio - exact) <= (5 + 9) / WINDOW + 0.01


def test_a_clock_that_is_set_back_loses_the_spells_after_it() -> None:
    """They would otherwise count until the clock has caught up."""
    spells = with_batch(with_batch((), 5000.0, 3.0), 1000.0, 2.0)
    assert spells == ((1000.0, 2.0),)
    assert busy_ratio(((5000.0, 3.0),), 0.0, None, 1000.0) == 0.0
