"""Failures of discoveries and tasks for good: their consequences, and warnings about them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from blueprint.wording import counted
from streamlets.ingress.batch_sources.task_states import FailedTask
from streamlets.ingress.batch_sources.tasks import QUERY
from streamlets.runner.events.status import UnitId
from streamlets.runner.events.unit_events import UnitWarned
from streamlets.spark.failure import failure_of_text

BOUNDED_ATTEMPTS = 4
"""How often a discovery is tried in a bounded run, which must end."""

ABANDONED = "the tasks that it has found are read; it runs again at the next start"
GIVEN_UP = "a bounded run does not try again; the tasks that it has found are read, and it runs again at the next start"
"""What follows after a discovery that was abandoned, or is not tried again."""

_MOST_WARNINGS = 5
"""How many failed tasks of one batch are reported by themselves."""


def failure_warnings(
    ref: str, failed: Sequence[FailedTask], log: Callable[[UnitId, str], None]
) -> Iterator[UnitWarned]:
    """Yield warnings about failed tasks.

    Arguments:
        ref: the batch source.
        failed: the tasks.
        log: writes the error of a task to the log of a unit.
    """
    unit = UnitId(ref, QUERY)
    for task in failed[:_MOST_WARNINGS]:
        log(unit, task.failure.error)
        frames = failure_of_text(task.failure.error, building=False).frames
        attempts = counted(task.failure.attempts, "attempt")
        text = (
            f"the task {task.number} ({task.shown:.200}) failed in {attempts}"
            f"{f', at {frames[-1]}' if frames else ''}: {task.failure.reason}; "
            f"`flow tasks show {ref} --task {task.number}` shows the error in full"
        )
        yield UnitWarned(time.time(), unit, text)
    if more := len(failed[_MOST_WARNINGS:]):
        text = f"{more} more {'task has' if more == 1 else 'tasks have'} failed; `flow tasks show {ref}` shows them"
        yield UnitWarned(time.time(), unit, text)
