"""A limit for code of authors, by an alarm that is removed at its end."""

from __future__ import annotations

import contextlib
import queue
import signal
import threading

import pytest

from streamlets.time_limit import TimeLimitError, time_limit


def test_the_limit_ends_what_blocks_and_is_removed() -> None:
    """A wait without an end is ended, also by code that catches exceptions; then the handler is that from before."""
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(TimeLimitError), time_limit(0.01):
        queue.SimpleQueue[int]().get()
    with pytest.raises(TimeLimitError), time_limit(0.01):
        while True:
            with contextlib.suppress(Exception):  # as authors do
                threading.Event().wait()
    assert signal.getsignal(signal.SIGALRM) == before


def test_the_alarm_of_another_is_set_again() -> None:
    """pytest-timeout has one, too."""
    before = signal.setitimer(signal.ITIMER_REAL, 500.0)
    try:
        with time_limit(100.0):
            assert signal.getitimer(signal.ITIMER_REAL)[0] <= 100.0
        assert 400.0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 500.0
    finally:
        signal.setitimer(signal.ITIMER_REAL, *before)


def test_there_is_no_limit_in_another_thread() -> None:
    """Signals arrive in the main thread only."""
    results = []

    def work() -> None:
        with time_limit(0.01):
            results.append(threading.Event().wait(0.05))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert results == [False]
