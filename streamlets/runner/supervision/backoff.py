"""How long a failed unit waits before it is restarted, and when its failures are forgotten."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from blueprint.plan import Retry

# 2^62 ns are 146 years: from here on the cap alone decides, and nothing overflows.
_LARGEST_EXPONENT = 62

# A bounded run is to end. A machine under load fails in many ways that pass, so what ends it is no progress.
_SAME_FAILURES = 4
_ALL_FAILURES = 12


def delay(retry: Retry, restarts: int, uniform: Callable[[], float]) -> float:
    """Seconds to wait before the next restart.

        min(max_backoff, min(max_backoff, min_backoff * 2^n) * (1 + U * random_factor))

    PSTL's formula (Akka's back-off), with its maximum taken at its word: jitter never goes beyond it.

    Arguments:
        restarts: n, the restarts made since the unit was last stable; 0 for the first failure.
        uniform: draws U from [0, 1).
    """
    longest = retry.max_backoff.nanoseconds
    base = min(longest, retry.min_backoff.nanoseconds << min(restarts, _LARGEST_EXPONENT))
    return min(longest, base * (1 + uniform() * retry.random_factor)) / 1e9


@dataclass(frozen=True, slots=True)
class Attempts:
    """The memory of a unit's failures.

    Failures are forgotten only when rows were processed *and* the unit then stayed up for the stable period. An empty
    first batch, or one good batch before each failure, must not reset the count: such a unit would be restarted
    at the shortest delay for ever.

    Arguments:
        restarts: made since the unit was last stable.
        proved: when the present run first processed rows; None when it has not.
        causes: of the last failures since rows were processed, as many as `hopeless` looks at.
    """

    restarts: int = 0
    proved: float | None = None
    causes: tuple[str, ...] = ()

    def processed(self, now: float, rows: int) -> Attempts:
        """A batch of `rows` rows was finished."""
        if rows <= 0:
            return self
        return replace(self, proved=now if self.proved is None else self.proved, causes=())

    def failed(self, cause: str) -> Attempts:
        """It ended, for this cause; neither numbers in it (of tasks, ports, processes) nor the lines below its first
        (rows, say) make it another one."""
        first = cause.partition("\n")[0]
        return replace(self, causes=(*self.causes, re.sub(r"\d+", "0", first))[-_ALL_FAILURES:])

    @property
    def hopeless(self) -> bool:
        """Whether a run that is to end should give up: the same failure four times, or twelve of any kind, since
        rows were last processed."""
        return len(self.causes) >= _ALL_FAILURES or any(
            self.causes.count(cause) >= _SAME_FAILURES for cause in self.causes
        )

    def settled(self, retry: Retry, now: float) -> Attempts:
        """The memory as of `now`: empty when the present run has become stable."""
        stable = self.proved is not None and now - self.proved >= retry.stable_period.seconds
        return replace(self, restarts=0) if stable else self

    def restarted(self) -> Attempts:
        """One more restart is made."""
        return Attempts(self.restarts + 1, causes=self.causes)


def may_restart(retry: Retry, restarts: int) -> bool:
    """Whether one more restart is allowed after `restarts` of them."""
    return retry.enabled and restarts < retry.max_attempts
