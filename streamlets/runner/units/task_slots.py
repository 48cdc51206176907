"""`TaskSlots`: the task slots of a Spark that queries in real-time mode occupy as long as they run."""

from __future__ import annotations

import threading


class TaskSlotsError(Exception):
    """Spark has fewer task slots than its queries need, so that one of them would wait for ever."""


class TaskSlots:
    """The tasks of the queries on a Spark. A query keeps its slots when it is stopped, as it may be started again."""

    def __init__(self) -> None:
        self._tasks: dict[str, int] = {}
        self._lock = threading.Lock()

    def reserve(self, query: str, tasks: int, slots: int | None) -> None:
        """Record the tasks of a query that is about to start.

        Arguments:
            query: the name of the query.
            tasks: the number of its tasks that run as long as it runs; 0 for a query that runs in batches.
            slots: the number of task slots of the Spark; None if that is not known.

        Raises:
            TaskSlotsError: the slots do not suffice for this query and those before it. All queries that run in batches
                share one slot at least.
        """
        with self._lock:
            queries = self._tasks | {query: tasks}
            real_time = sum(queries.values())
            batches = 1 if 0 in queries.values() else 0
            if slots is not None and real_time and real_time + batches > slots:
                raise TaskSlotsError(_message(queries, real_time + batches, slots))
            self._tasks = queries


def _message(queries: dict[str, int], needed: int, slots: int) -> str:
    parts = [f"{tasks} for `{query}`" for query, tasks in queries.items() if tasks]
    if 0 in queries.values():
        parts.append("1 for the queries that run in batches")
    return (
        f"Spark has {slots} task slots and needs {needed}: {', '.join(parts)}. In real-time mode each partition of a "
        f"topic and of a shuffle has a task of its own: start Spark with more slots (`--master local[{needed},4]`, or "
        "on a cluster more cores by `flow.cluster`), or use fewer partitions"
    )
