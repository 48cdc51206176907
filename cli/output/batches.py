"""How a batch that takes long is shown beside its streamlet's state."""

from __future__ import annotations

# Seconds from which on a batch is worth a word.
_LONG = 10.0


def long_batch(seconds: float, *, stuck: bool) -> str:
    """What follows the state of a streamlet whose batch has been running for so long; nothing when it is short."""
    from streamlets.runner.events.lines import span

    if stuck:
        return f", stuck {span(seconds)}"
    return f", batch {span(seconds)}" if seconds >= _LONG else ""
