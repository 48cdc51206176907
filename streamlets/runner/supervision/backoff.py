"""Back-off: how long a failed unit waits before its next restart, and when its failures are forgotten."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from blueprint.core_settings import Retry

# 2^62 ns are 146 years: from here on the cap alone decides, and nothing overflows.
_LARGEST_EXPONENT = 62

# A bounded run must end, but a machine under load has many transient failures: only a lack of progress is hopeless.
_SAME_FAILURES = 4
_ALL_FAILURES = 12

# The least jitter of units that failed together, so that they do not overload the machine together again.
_TOGETHER_FACTOR = 0.5


def delay(retry: Retry, restarts: int, uniform: Callable[[], float], *, together: bool = False) -> float:
    """Return the seconds to wait before the next restart.

        min(max_backoff, min(max_backoff, min_backoff * 2^n) * (1 + U * random_factor))

    This is PSTL's formula (Akka's back-off), except that `max_backoff` also limits the jitter.

    Arguments:
        restarts: n, the number of restarts since the unit was last stable; 0 for the first failure.
        uniform: draws U from [0, 1).
        together: whether others have just failed, too: the jitter is then half of the wait at least.
    """
    factor = max(retry.random_factor, _TOGETHER_FACTOR) if together else retry.random_factor
    longest = retry.max_backoff.nanoseconds
    base = min(longest, retry.min_backoff.nanoseconds << min(restarts, _LARGEST_EXPONENT))
    return min(longest, base * (1 + uniform() * factor)) / 1e9


@dataclass(frozen=True, slots=True)
class Attempts:
    """The recent failures of a unit.

    Failures are forgotten only when rows were processed *and* the unit then kept running for the stable period. An
    empty first batch, or a successful batch before each failure, must not reset the count: such a unit would be
    restarted at the shortest delay for ever.

    Arguments:
        restarts: the number of restarts since the unit was last stable.
        proved: when the current run first processed rows; None if it has not.
        causes: the causes of the last failures since rows were processed, as many as `hopeless` needs.
        disturbances: the number of its last failures that were due to the machine. They are not restarts of the unit,
            whose number is limited, and have a back-off of their own.
    """

    restarts: int = 0
    proved: float | None = None
    causes: tuple[str, ...] = ()
    disturbances: int = 0

    def processed(self, now: float, rows: int) -> Attempts:
        """Record that a batch of `rows` rows was finished."""
        if rows <= 0:
            return self
        return replace(self, proved=now if self.proved is None else self.proved, causes=(), disturbances=0)

    def failed(self, cause: str) -> Attempts:
        """Record a failure.

        Causes that differ only in numbers (of tasks, ports, processes) or below their first line (such as rows) count
        as the same.
        """
        first = cause.partition("\n")[0]
        return replace(self, causes=(*self.causes, re.sub(r"\d+", "0", first))[-_ALL_FAILURES:], disturbances=0)

    def disturbed(self) -> Attempts:
        """Record a failure that is due to the machine."""
        return replace(self, disturbances=self.disturbances + 1)

    @property
    def hopeless(self) -> bool:
        """Whether the unit of a bounded run should fail for good.

        It should after four equal failures, or twelve of any kind, since rows were last processed.
        """
        return (
            len(self.causes) >= _ALL_FAILURES
            or self.disturbances >= _ALL_FAILURES
            or any(self.causes.count(cause) >= _SAME_FAILURES for cause in self.causes)
        )

    def settled(self, retry: Retry, now: float) -> Attempts:
        """Return the attempts as of `now`, without restarts if the current run has become stable."""
        stable = self.proved is not None and now - self.proved >= retry.stable_period.seconds
        return replace(self, restarts=0) if stable else self

    def restarted(self) -> Attempts:
        """Record a restart."""
        return replace(self, restarts=self.restarts + (not self.disturbances), proved=None)


def may_restart(retry: Retry, restarts: int) -> bool:
    """Return whether another restart is allowed after `restarts` restarts."""
    return retry.enabled and restarts < retry.max_attempts
