"""One running query of Spark: what it reports, how it is drained, how it is stopped."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

_LOOK_EVERY = 0.005
# A source that sees no drain flag may never leave a gap under a backlog: then the query is stopped between two
# batches as well as that can be seen from outside. What it was doing is replayed, so nothing is lost or doubled.
_PATIENCE = 20.0
_PROCESSING = "Processing new data"


def drain(query: StreamingQuery, sleep: Callable[[float], None] = time.sleep) -> None:
    """Wait for the running batch to be committed, then stop the query. Its readers have been told to begin no other."""
    before = _finished(query)
    deadline: float | None = None
    while query.isActive:
        status = query.status
        if not status["isTriggerActive"]:
            break
        if deadline is None and _finished(query) >= before + 2:  # one more was begun: its sources see no flag
            deadline = time.monotonic() + _PATIENCE
        if deadline is not None and (status["message"] != _PROCESSING or time.monotonic() > deadline):
            break
        sleep(_LOOK_EVERY)
    query.stop()


def _finished(query: StreamingQuery) -> int:
    progress = query._jsq.lastProgress()  # noqa: SLF001 - the public way reads the whole report
    return -1 if progress is None else int(progress.batchId())
