"""Back-off: the formula, its bounds, and when failures are forgotten."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from blueprint.core_settings import Retry
from blueprint.quantities import Duration
from streamlets.runner.supervision.backoff import Attempts, delay, may_restart

SECOND = 10**9


def _retry(least: float, most: float, factor: float) -> Retry:
    return Retry(
        min_backoff=Duration(int(least * SECOND)), max_backoff=Duration(int(most * SECOND)), random_factor=factor
    )


def test_defaults_double_from_one_second_to_one_hour() -> None:
    """Without jitter the waits are 1, 2, 4, 8, 16 seconds and so on, and an hour from the thirteenth failure."""
    waits = [delay(Retry(), n, lambda: 0.99) for n in (0, 1, 2, 3, 4, 11, 12, 10**9)]
    assert waits == [1, 2, 4, 8, 16, 2048, 3600, 3600]


def test_published_jitter_rows() -> None:
    """With a factor of 0.1 the draws 0.23, 0.32 and 0.235 give 1.023, 2.064 and 4.094 seconds."""
    retry = _retry(1, 3600, 0.1)
    draws = iter((0.23, 0.32, 0.235))
    delays = [round(delay(retry, n, draws.__next__), 3) for n in range(3)]
    assert delays == [1.023, 2.064, 4.094]


@given(
    least=st.floats(0, 1000),
    extra=st.floats(0, 5000),
    factor=st.floats(0, 5),
    restarts=st.integers(0, 2**31),
    u=st.floats(0, 1, exclude_max=True),
)
def test_delay_stays_between_base_and_maximum(
    least: float, extra: float, factor: float, restarts: int, u: float
) -> None:
    """With any jitter the delay is at least the base and at most the maximum."""
    retry = _retry(least, least + extra, factor)
    most = retry.max_backoff.seconds
    base = min(most, retry.min_backoff.seconds * 2.0 ** min(restarts, 100))
    wait = delay(retry, restarts, lambda: u)
    assert base * (1 - 1e-9) <= wait <= min(most, base * (1 + factor)) * (1 + 1e-9)


def test_failures_are_forgotten_after_rows_and_the_stable_period() -> None:
    """Rows, and then the stable period, reset the count; the period starts with the first rows of the run."""
    up = Attempts(restarts=5).processed(100.0, 3).processed(130.0, 3)
    assert up.settled(Retry(), 159.9).restarts == 5
    assert up.settled(Retry(), 160.0).restarts == 0


def test_empty_batches_never_reset() -> None:
    """A query with only empty batches keeps its count."""
    assert Attempts(restarts=5).processed(0.0, 0).settled(Retry(), 10**6).restarts == 5


def test_a_flapping_unit_keeps_its_count() -> None:
    """Rows of an earlier run do not count for the current one."""
    flapping = Attempts()
    for start in range(0, 1000, 10):
        flapping = flapping.processed(float(start), 1).settled(Retry(), start + 5.0).restarted()
    assert flapping.restarts == 100


def test_limits() -> None:
    """There is no restart when restarts are off or used up, nor with `max-attempts = 0`."""
    assert may_restart(Retry(), 2**30)
    assert not may_restart(Retry(enabled=False), 0)
    assert may_restart(Retry(max_attempts=3), 2)
    assert not may_restart(Retry(max_attempts=3), 3)
    assert not may_restart(Retry(max_attempts=0), 0)


def test_the_same_failure_without_progress_is_hopeless() -> None:
    """The fourth of the same failures is, also if only a number in it differs; rows reset the count."""
    attempts = Attempts()
    for task in (17, 18, 19):
        attempts = attempts.failed(f"task {task} failed").restarted()
    assert not attempts.hopeless
    assert not attempts.processed(1.0, 5).failed("task 20 failed").hopeless
    assert not attempts.failed("disk full").hopeless
    assert attempts.processed(1.0, 0).failed("task 20 failed").hopeless


def test_many_kinds_of_failures_without_progress_are_hopeless() -> None:
    """A bounded run ends, however its failures differ."""
    attempts = Attempts()
    for n in range(12):
        assert not attempts.hopeless
        attempts = attempts.failed("x" * n).restarted()
    assert attempts.hopeless


def test_only_the_last_failures_are_kept() -> None:
    """A unit that fails for weeks needs no more memory than one that failed a dozen times."""
    attempts = Attempts()
    for n in range(1000):
        attempts = attempts.failed(chr(0x4E00 + n)).restarted()
    assert (len(attempts.causes), attempts.restarts) == (12, 1000)


def test_failures_of_the_machine_are_not_restarts_of_the_unit() -> None:
    """They count apart, until the unit fails by itself or processes rows."""
    attempts = Attempts(restarts=2, causes=("it broke",))
    for n in range(5):
        attempts = attempts.disturbed()
        assert (attempts.disturbances, attempts.hopeless) == (n + 1, False)
        attempts = attempts.restarted()
    assert (attempts.restarts, attempts.causes) == (2, ("it broke",))
    assert attempts.failed("it broke").restarted().restarts == 3
    assert attempts.processed(1.0, 1).disturbances == 0


def test_failures_of_the_machine_end_a_bounded_run_after_twelve() -> None:
    """A bounded run must end."""
    attempts = Attempts()
    for _ in range(12):
        assert not attempts.hopeless
        attempts = attempts.disturbed().restarted()
    assert attempts.hopeless
