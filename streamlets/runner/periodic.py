"""Work that a thread of its own repeats until a context is left."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_END_TIMEOUT = 10.0


@contextmanager
def repeating(
    work: Callable[[threading.Event], None], *, name: str, interval: float, delay: float = 0.0, at_end: bool = False
) -> Iterator[None]:
    """Repeat work in a daemon thread until the context is left.

    Leaving waits for the thread for up to 10 seconds: a call that hangs ends with the process.

    Arguments:
        work: called with an event that is set once the context is left; long work checks it between its steps. It
            handles its own exceptions: one that leaves it ends the thread.
        name: the name of the thread.
        interval: seconds between the end of one call and the start of the next.
        delay: seconds before the first call.
        at_end: whether to call it once more when the context is left.
    """
    stopping = threading.Event()

    def repeat() -> None:
        wait = delay
        while not stopping.wait(wait):
            work(stopping)
            wait = interval
        if at_end:
            work(stopping)

    thread = threading.Thread(target=repeat, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join(_END_TIMEOUT)
