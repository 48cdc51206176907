"""The batch that Spark runs when a watermark has moved, planned in its place where a stop has prevented it.

After a batch that moved the watermark, Spark runs another one without rows, which emits the windows that are over. It
knows that only from the batch before: a query that was stopped or killed between both emits them with the next rows,
and a bounded run that finds no rows ends without them.
"""

from __future__ import annotations

import json
from typing import Any

from streamlets.runner.checkpoints.checkpoint import Checkpoint, read_checkpoint
from streamlets.storage.files import write_atomically

_WATERMARK, _TIME = "batchWatermarkMs", "batchTimestampMs"
_NEXT = "nextBatchWatermarkMs"


BATCHES_WITHOUT_ROWS = "spark.sql.streaming.noDataMicroBatches.enabled"
"""The setting of Spark for such batches; true by default."""


def with_batch_after_watermark(checkpoint: Checkpoint, now: float) -> Checkpoint:
    """Plan the batch without rows that a stop has prevented, as Spark would have; Spark executes it at the next start.

    Arguments:
        checkpoint: the checkpoint of a query that is not running.
        now: the current time in seconds since the epoch.

    Returns:
        The checkpoint with this batch; unchanged if none is missing: the watermark has not moved, a batch is planned
        already, or the query has no state.

    Raises:
        OSError: the plan cannot be written.
    """
    last = checkpoint.committed
    if last is None or checkpoint.planned is not None or checkpoint.damage or not checkpoint.operators:
        return checkpoint
    plans = checkpoint.directory / "offsets"
    version, head, *sources = (plans / str(last.number)).read_text(encoding="utf-8").split("\n")
    commit = (checkpoint.directory / "commits" / str(last.number)).read_text(encoding="utf-8")
    plan: dict[str, Any] = json.loads(head)
    moved = json.loads(commit.split("\n")[1]).get(_NEXT, 0)
    if moved <= plan.get(_WATERMARK, 0):
        return checkpoint
    plan |= {_WATERMARK: moved, _TIME: int(now * 1000)}
    text = "\n".join((version, json.dumps(plan, separators=(",", ":")), *sources))
    write_atomically(plans / str(last.number + 1), text, durable=True)
    return read_checkpoint(checkpoint.directory)
