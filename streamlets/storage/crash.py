"""Named crash points: places where a test can have the process killed, as a power cut would.

`STREAMLETS_CRASH_AT=name` kills at the first passage, `name:3` at the third. Without the variable a point costs one
look at a constant.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Literal

Point = Literal[
    "after-data-files",  # the files of the batch are written, and nothing refers to them yet
    "during-rename",  # a log entry has its temporary name, not yet its own
    "after-manifest",  # the batch is decided, no topic has it
    "after-topic-commit",  # one topic has the batch, the next may not
    "before-spark-commit",  # all topics have the batch, Spark's checkpoint does not know
    "after-compacted-file",  # small files have been merged into one that nothing names yet
    "after-compaction-commit",  # the log names the merged file, a checkpoint of it is still to come
    "after-missed-note",  # readers that will be overtaken are noted, the records are still there
    "after-drop-commit",  # records have left the log, their files are still there
    "after-replay-decision",  # which dead letters are replayed is decided, no topic has them
    "after-append-file",  # records written without Spark are in a file that nothing names yet
    "after-append-commit",  # the topic has them, and their writer does not know it
]

VARIABLE = "STREAMLETS_CRASH_AT"

_wanted, _, _nth = os.environ.get(VARIABLE, "").partition(":")
_remaining = int(_nth or 1)


def crash_point(name: Point) -> None:
    """Kill this process and all it started (the JVM among them) with SIGKILL when the environment asks for it here."""
    if name == _wanted:
        _pass()


def _pass() -> None:
    global _remaining
    _remaining -= 1
    if _remaining == 0:
        for process in [*_descendants(os.getpid()), os.getpid()]:
            os.kill(process, signal.SIGKILL)


def _descendants(ancestor: int) -> list[int]:
    """Children first, so that none outlives its parent long enough to notice."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue  # it ended meanwhile
    found, fresh = [], [ancestor]
    while fresh:
        fresh = [child for child, parent in parents.items() if parent in fresh]
        found += fresh
    return found
