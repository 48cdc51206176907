"""A time limit for code of authors that runs in the main thread, such as the building of a logic."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_AGAIN = 1.0
"""Seconds until the next alarm, for code that catches every exception."""


class TimeLimitError(BaseException):
    """The time limit has passed. It is not an `Exception`, which a loop of the author may catch."""


def in_main_thread() -> bool:
    """Return whether the current thread is the one that gets signals."""
    return threading.current_thread() is threading.main_thread()


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise an error in the context when it takes longer than a limit; do nothing outside the main thread.

    An alarm of somebody else, such as pytest-timeout's, is set again at the end.

    Arguments:
        seconds: the limit.

    Raises:
        TimeLimitError: the limit has passed.
    """
    if not in_main_thread():
        yield
        return
    handler = signal.signal(signal.SIGALRM, _pass_limit)
    timer = signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, *timer)


def _pass_limit(number: int, frame: FrameType | None) -> None:
    raise TimeLimitError
