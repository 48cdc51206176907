"""SIGINT and SIGTERM while an application runs: the first one drains it, the second one stops it at once."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_WATCHED = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stopping_on_signals(drain: Callable[[str], None], stop: Callable[[str], None]) -> Iterator[Callable[[], None]]:
    """Call `drain` at the first signal and `stop` at each later one, with the signal's name.

    Both must be quick and safe in a signal handler. Yields a function that installs the handlers again after others
    (Spark) have replaced them. To be entered in the main thread, before anything that may take long.
    """
    count = 0

    def on_signal(number: int, frame: FrameType | None) -> None:
        nonlocal count
        count += 1
        (drain if count == 1 else stop)(signal.Signals(number).name)

    def take() -> None:
        for number in _WATCHED:
            signal.signal(number, on_signal)

    before = [signal.getsignal(number) for number in _WATCHED]
    take()
    try:
        yield take
    finally:
        for number, handler in zip(_WATCHED, before, strict=True):
            signal.signal(number, handler)
