"""Signals while logic is built: Ctrl-C of the user, and an alarm for logic that does not end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

LONGEST_BUILD = 300.0
"""Seconds after which building a logic is abandoned. An idle machine takes less than one, and a first one a few."""

_AGAIN = 1.0
"""Seconds until the next alarm, for logic that catches every exception."""


class BuildTooLongError(BaseException):
    """A logic was not built in time. It is not an `Exception`, which a loop of the author may catch."""


class Signals:
    """Distinguishes Ctrl-C from a `KeyboardInterrupt` of the author's code, and ends logic that takes too long.

    Signals arrive in the main thread only; in another thread both methods do nothing.
    """

    def __init__(self) -> None:
        self._interrupted = False

    def raise_interrupt(self, error: BaseException) -> None:
        """Raise an error again if it is Ctrl-C of the user.

        Raises:
            KeyboardInterrupt: the user has pressed Ctrl-C.
        """
        if isinstance(error, KeyboardInterrupt) and (self._interrupted or not _in_main_thread()):
            raise error

    @contextmanager
    def watching(self, seconds: float = LONGEST_BUILD) -> Iterator[None]:
        """Record Ctrl-C, and raise an error in the context when it takes longer than a limit.

        Raises:
            BuildTooLongError: the limit has passed.
        """
        if not _in_main_thread():
            yield
            return
        before = signal.getsignal(signal.SIGINT)

        def interrupt(number: int, frame: FrameType | None) -> None:
            self._interrupted = True
            if callable(before):
                before(number, frame)
            else:
                raise KeyboardInterrupt

        alarm = signal.signal(signal.SIGALRM, _too_long)
        signal.signal(signal.SIGINT, interrupt)
        timer = signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGINT, before)
            signal.signal(signal.SIGALRM, alarm)
            signal.setitimer(signal.ITIMER_REAL, *timer)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _too_long(number: int, frame: FrameType | None) -> None:
    raise BuildTooLongError
