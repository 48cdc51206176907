"""Ctrl-C of the user while logic is built, which is not a finding."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from streamlets.time_limit import in_main_thread


class Signals:
    """Distinguishes Ctrl-C from a `KeyboardInterrupt` of the author's code.

    Signals arrive in the main thread only; in another thread each interrupt counts as Ctrl-C.
    """

    def __init__(self) -> None:
        self._interrupted = False

    def raise_interrupt(self, error: BaseException) -> None:
        """Raise an error again if it is Ctrl-C of the user.

        Raises:
            KeyboardInterrupt: the user has pressed Ctrl-C.
        """
        if isinstance(error, KeyboardInterrupt) and (self._interrupted or not in_main_thread()):
            raise error

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Record Ctrl-C in the context."""
        if not in_main_thread():
            yield
            return
        before = signal.getsignal(signal.SIGINT)

        def interrupt(number: int, frame: FrameType | None) -> None:
            self._interrupted = True
            if callable(before):
                before(number, frame)
            else:
                raise KeyboardInterrupt

        signal.signal(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
