"""Random but reproducible failures: a seed determines which batches fail, and how."""

from __future__ import annotations

import itertools
import os
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

_KINDS = (
    ConnectionResetError("the connection was reset by the other side"),
    TimeoutError("no answer came in time"),
    MemoryError("there is no memory left"),
    OSError("the disk is busy"),
    PermissionError("the credentials are being renewed"),
    None,  # the process exits
)

_starts: defaultdict[int, Iterator[int]] = defaultdict(itertools.count)


@dataclass(frozen=True)
class Trouble:
    """The failures of one start of a query.

    Arguments:
        share: the share of batches that fail.
        seed: the seed of the random numbers.
        start: the number of the start. Each start has different failures; otherwise a batch would fail for ever.
    """

    share: float
    seed: int
    start: int

    @classmethod
    def of_next_start(cls, share: float, seed: int) -> Trouble:
        """Return the failures of the next start."""
        return cls(share, seed, next(_starts[seed]))

    def strike(self, batch: int, *, deadly: bool) -> None:
        """Fail if the batch is one that fails.

        Arguments:
            batch: the number of the batch.
            deadly: whether the process may exit; otherwise a failure is an exception.
        """
        dice = random.Random(f"{self.seed} {self.start} {batch}")
        if dice.random() >= self.share:
            return
        kind = dice.choice(_KINDS if deadly else _KINDS[:-1])
        if kind is None:
            os._exit(1)
        raise kind

    def in_worker(self, rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Pass on rows unchanged, in a Python worker of Spark, and fail if the batch is one that fails."""
        from pyspark import TaskContext

        task = TaskContext.get()
        batch = task.getLocalProperty("streaming.sql.batchId") if task is not None else None
        yield from rows
        self.strike(int(batch or 0), deadly=True)
