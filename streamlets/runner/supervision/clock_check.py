"""`ClockCheck`: notices that the machine's clock was set back, by which Spark's triggers wait."""

from __future__ import annotations

from collections.abc import Callable

# Less is what services do that keep clocks right, and costs a trigger no more than that.
_NOTICED = 10.0


class ClockCheck:
    """Compares two clocks.

    Arguments:
        clock: seconds since the epoch, as the machine has them.
        timer: seconds since whenever; nobody sets it.
    """

    def __init__(self, clock: Callable[[], float], timer: Callable[[], float]) -> None:
        self._clock = clock
        self._timer = timer
        self._apart = clock() - timer()

    def seconds(self) -> float:
        """By how much the clock was set back since this was last asked; 0 when it was not, or too little to matter."""
        apart = self._clock() - self._timer()
        back, self._apart = self._apart - apart, apart
        return back if back >= _NOTICED else 0.0
