"""The restarts of many units after a common failure, simulated as in the benchmark."""

from __future__ import annotations

from benchmarks.supervisor import storm

UNITS = 60


def test_a_random_factor_spreads_a_storm_of_restarts() -> None:
    """Without one all units are restarted together, wave after wave; with 0.2 each wave is wider than the one before,
    and all come up again in the end."""
    together, spread = storm(UNITS, 0.0, 1), storm(UNITS, 0.2, 1)
    assert set(together.peaks) == {UNITS}
    assert max(spread.peaks) < UNITS
    assert spread.peaks[3] < UNITS / 4
    assert together.restarts == spread.restarts
