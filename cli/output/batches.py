"""The time of a long batch, as shown after the state of its streamlet."""

from __future__ import annotations

_LONG = 10.0
"""Seconds after which the time of a running batch is shown."""


def long_batch(seconds: float, *, stuck: bool) -> str:
    """Return the text that follows a streamlet's state.

    Arguments:
        seconds: how long the batch has been running.
        stuck: whether the batch makes no progress.
    """
    from streamlets.runner.events.lines import span

    if stuck:
        return f", stuck {span(seconds)}"
    return f", batch {span(seconds)}" if seconds >= _LONG else ""
