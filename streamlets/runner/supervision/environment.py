"""`Environment`: what supervision needs from outside. Tests set the clocks by hand."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

from streamlets.runner.events.event import Event
from streamlets.runner.events.status import UnitId


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Clocks, randomness, and where the events go.

    Arguments:
        emit: takes the events.
        clock: the wall clock, in seconds since the epoch, for the time of events; it may be set back.
        timer: a monotonic clock in seconds, for waiting.
        uniform: draws from [0, 1), for the jitter of each unit.
        ask_channels: asks the channels of topics whether they accept records of a unit, without blocking; the answer
            comes as a fact (`ChannelsAnswered`). By default nobody answers.
    """

    emit: Callable[[Event], None]
    clock: Callable[[], float] = time.time
    timer: Callable[[], float] = time.monotonic
    uniform: Callable[[], float] = random.random
    ask_channels: Callable[[UnitId, Collection[str]], None] = lambda unit, topics: None
