"""Signals: the first one drains, the second one stops; afterwards the former handlers are installed again."""

from __future__ import annotations

import os
import signal

from streamlets.runner.signals import stopping_on_signals


def test_first_drains_second_stops() -> None:
    """Both callbacks get the name of the signal."""
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    asked: list[str] = []
    with stopping_on_signals(
        lambda name: asked.append(f"drain {name}"), lambda name: asked.append(f"stop {name}")
    ) as take:
        os.kill(os.getpid(), signal.SIGTERM)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # as Spark does when it starts
        take()
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
    assert asked == ["drain SIGTERM", "stop SIGINT", "stop SIGINT"]
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before
