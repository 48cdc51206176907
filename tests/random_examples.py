"""How many random examples a property test draws: its own number in the gate, ten times as many in `make test-full`."""

from __future__ import annotations

from hypothesis import settings

_GATE = 100  # Hypothesis' own number, which a test's number is relative to


def examples(number: int) -> int:
    """Return the number of examples for the profile of this run.

    Arguments:
        number: the examples in the gate.
    """
    return number * settings().max_examples // _GATE
