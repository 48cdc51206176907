"""Signals: the first drains, the second stops, and afterwards all is as before."""

from __future__ import annotations

import os
import signal

from streamlets.runner.signals import stopping_on_signals


def test_first_drains_second_stops() -> None:
    """SIGTERM, then SIGINT: a drain, then a stop, each told the signal; the former handlers come back."""
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
