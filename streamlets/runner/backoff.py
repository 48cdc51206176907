"""How long a failed unit waits before it is restarted, and when its failures are forgotten."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from blueprint.plan import Retry

# 2^62 ns are 146 years: from here on the cap alone decides, and nothing overflows.
_LARGEST_EXPONENT = 62


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
    """

    restarts: int = 0
    proved: float | None = None

    def processed(self, now: float, rows: int) -> Attempts:
        """A batch of `rows` rows was finished."""
        return replace(self, proved=now) if rows > 0 and self.proved is None else self

    def settled(self, retry: Retry, now: float) -> Attempts:
        """The memory as of `now`: empty when the present run has become stable."""
        stable = self.proved is not None and now - self.proved >= retry.stable_period.seconds
        return replace(self, restarts=0) if stable else self

    def restarted(self) -> Attempts:
        """One more restart is made."""
        return Attempts(self.restarts + 1)


def may_restart(retry: Retry, restarts: int) -> bool:
    """Whether one more restart is allowed after `restarts` of them."""
    return retry.enabled and restarts < retry.max_attempts
