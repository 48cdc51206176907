"""Failures at random, but the same ones each time: which batch fails, and how, follows from a seed."""

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
    None,  # the process dies without a word
)

_starts: defaultdict[int, Iterator[int]] = defaultdict(itertools.count)


@dataclass(frozen=True)
class Trouble:
    """The failures of one start of a query.

    Arguments:
        share: of the batches that fail.
        seed, start: what chance is made of. The next start has other luck, or what failed would fail for ever.
    """

    share: float
    seed: int
    start: int

    @classmethod
    def of_next_start(cls, share: float, seed: int) -> Trouble:
        """The failures of the start that comes next."""
        return cls(share, seed, next(_starts[seed]))

    def strike(self, batch: int, *, deadly: bool) -> None:
        """Fail when it is this batch's turn.

        Arguments:
            deadly: whether the process itself may die; else it only ever raises.
        """
        dice = random.Random(f"{self.seed} {self.start} {batch}")
        if dice.random() >= self.share:
            return
        kind = dice.choice(_KINDS if deadly else _KINDS[:-1])
        if kind is None:
            os._exit(1)
        raise kind

    def in_worker(self, rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Hand rows on unchanged, in one of Spark's Python workers, unless trouble strikes."""
        from pyspark import TaskContext

        task = TaskContext.get()
        batch = task.getLocalProperty("streaming.sql.batchId") if task is not None else None
        yield from rows
        self.strike(int(batch or 0), deadly=True)
