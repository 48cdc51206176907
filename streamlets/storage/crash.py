"""Named crash points, at which a test can kill the process, as a power failure would.

`STREAMLETS_CRASH_AT=name` kills the process when it reaches the point for the first time, `name:3` for the third time.
Without the variable a point costs one comparison.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Literal

Point = Literal[
    "after-data-files",  # the files of the batch are written; nothing refers to them
    "during-rename",  # a log entry has its temporary name, not its final one
    "after-batch-begun",  # it is noted that the batch may be written; no topic of Kafka has any of it
    "after-manifest",  # the batch is decided; no topic has it
    "after-staging",  # the messages of a batch for Kafka are stored; none was sent
    "after-shared-out",  # it is decided which tasks send the messages of a batch for Kafka; none was sent
    "after-share-sent",  # a task has sent its messages in a transaction, which is open
    "after-share-commit",  # one task has committed its messages; others may not have
    "after-staged-removal",  # the messages of an earlier batch for Kafka are deleted; the next one is not stored
    "after-topic-commit",  # one topic has the batch; the next one may not have it
    "before-spark-commit",  # all topics have the batch; Spark has not committed it
    "after-compacted-file",  # small files have been merged into a file that nothing refers to
    "after-compaction-commit",  # the log has the merged file; the checkpoint is not written
    "after-missed-note",  # notes of missed records are written; the records still exist
    "after-drop-commit",  # records are removed from the log; their files still exist
    "after-replay-decision",  # the replay of dead letters is decided; no topic has them
    "after-append-file",  # records written without Spark are in a file that nothing refers to
    "after-copied-records",  # some records of a topic have been copied with their position
    "after-append-commit",  # the topic has these records; their writer does not know it
    "before-delivery-commit",  # a spout has delivered a whole transaction, which is staged
    "before-delivery-answer",  # the topic has a transaction that the program does not know to be committed
    "after-deletion-decided",  # it is noted that checkpoints and topics are deleted; none of them is
    "after-checkpoints-deleted",  # all topics still exist
    "during-topic-deletion",  # the records of a topic are deleted, but not what belongs to them
    "after-topic-deleted",  # one topic is deleted; the next one may not be
    "after-topics-deleted",  # the descriptor of the application still exists
    "after-descriptor-deleted",  # only the note of the deletion is left
    "before-inlet-letters",  # a batch is committed; the dead letters of its inlets are not written
    "after-backfill-definition",  # a backfill is stored; nothing has been read
    "before-backfill-phase",  # a phase of a backfill is done, which is not stored
    "after-backfill-phase",  # the next phase of a backfill is stored, which has not begun
]

VARIABLE = "STREAMLETS_CRASH_AT"

_point, _, _nth = os.environ.get(VARIABLE, "").partition(":")
_remaining = int(_nth or 1)


def crash_point(name: Point, *, run: bool = False) -> None:
    """Kill this process and its descendants, such as the JVM, with SIGKILL if the environment has this point.

    Arguments:
        name: the point.
        run: whether to kill the whole run, also from a process of an executor: all ancestors with this environment.
    """
    if name == _point:
        _count_down(_run() if run else os.getpid())


def _count_down(process: int) -> None:
    global _remaining
    _remaining -= 1
    if _remaining == 0:
        own = os.getpid()
        doomed = [*_descendants(process), process]
        for other in sorted(doomed, key=lambda number: number == own):  # this process last
            os.kill(other, signal.SIGKILL)


def _run() -> int:
    """Return the first process of this run: the highest ancestor whose environment has the crash point."""
    process, mark = os.getpid(), f"{VARIABLE}={os.environ[VARIABLE]}".encode()
    while True:
        parent = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        try:
            inherited = mark in Path(f"/proc/{parent}/environ").read_bytes().split(b"\0")
        except OSError:
            return process
        if not inherited:
            return process
        process = parent


def _descendants(ancestor: int) -> list[int]:
    """Return the descendants of a process. They are killed before it, so that none of them reacts to its end."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue  # the process has ended
    descendants, generation = [], [ancestor]
    while generation:
        generation = [child for child, parent in parents.items() if parent in generation]
        descendants += generation
    return descendants
