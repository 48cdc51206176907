"""What brings data into an application: the transactions of a spout, the tasks of a batch source."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from cli.runs.sources import counts_of, data_of, spouts_of
from cli.ui.answers.topic import resources
from streamlets.ingress.batch_sources.task_states import SourceTasks, sources_of

if TYPE_CHECKING:
    from cli.ui.served import Served

MOST_TASKS = 200
"""The tasks that are shown at once."""


def source(served: Served, ref: str) -> dict[str, Any]:
    """Return the transactions of a spout as `spout`, or the counts of the tasks of a batch source as `tasks`; {} for
    another streamlet, or one that has not run."""
    spout = next((each for each in spouts_of(served.state) if each["ref"] == ref), None)
    if spout is not None:
        return {"spout": spout}
    tasks = _tasks(served, ref)
    return {"tasks": counts_of(tasks)} if tasks is not None else {}


def tasks(served: Served, ref: str, *, every: bool, count: int) -> list[dict[str, Any]] | None:
    """Return the last tasks of a batch source that wait or have failed, the newest first; None if there is none.

    Arguments:
        every: whether to include tasks that were read or retried.
        count: the number of tasks.
    """
    known = _tasks(served, ref)
    if known is None:
        return None
    entries = (entry for entry in known.entries() if every or entry.state in ("waiting", "failed"))
    return [data_of(entry) for entry in reversed(deque(entries, count))]


def _tasks(served: Served, ref: str) -> SourceTasks | None:
    return SourceTasks(served.state, ref, resources(served)) if ref in sources_of(served.state) else None
