"""How a running query of Spark is drained: stopped in the gap between two batches, so that nothing is done twice."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

# The gap after a batch lasts as long as Spark takes to ask the sources and to write down the next batch: some ten
# milliseconds. Waiting for an idle trigger alone never ends under a backlog.
_LOOK_EVERY = 0.001

# What a query's status says until its first trigger.
_INITIALIZING = "Initializing"


def drain(query: StreamingQuery, sleep: Callable[[float], None] = time.sleep) -> None:
    """Wait for the running batch to be committed, then stop the query.

    Topics' readers have been told to begin no other batch. A source of the author's own sees no such flag: should it
    be quicker than the stop, its next batch is given up and replayed at the next start.
    """
    # A batch that an earlier run has planned is replayed first of all: stopped before, it would stay uncommitted.
    while query.isActive and query.status["message"].startswith(_INITIALIZING):
        sleep(_LOOK_EVERY)
    before = _finished(query)
    while query.isActive and query.status["isTriggerActive"] and _finished(query) == before:
        sleep(_LOOK_EVERY)
    query.stop()


def _finished(query: StreamingQuery) -> int:
    progress = query._jsq.lastProgress()  # noqa: SLF001 - the public way reads the whole report
    return -1 if progress is None else int(progress.batchId())
