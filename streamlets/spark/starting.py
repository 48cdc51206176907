"""When a query that was just started has found its sources."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

_LOOK_EVERY = 0.05
_LONGEST = 30.0
"""Seconds after which a query is as good as started: a source may need minutes to list its files."""

_STARTING = ("Initializing", "Getting offsets")
"""How the messages begin that Spark shows before a query has looked for data the first time."""


def await_sources(
    query: StreamingQuery,
    wanted: Callable[[], bool] = lambda: True,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> bool:
    """Wait until a query has looked at all its sources once.

    By then Spark has started the Python processes that plan for them. It gives each of them 10 seconds, which are too
    few when it starts dozens at the same time.

    Arguments:
        wanted: whether the query still runs and is to run.
        sleep: takes the seconds between two checks.
        clock: returns seconds.

    Returns:
        Whether it has looked at them; False when it ended, or after 30 seconds.
    """
    end = clock() + _LONGEST
    while wanted() and clock() < end:
        if not query.status["message"].startswith(_STARTING):
            return True
        sleep(_LOOK_EVERY)
    return False
