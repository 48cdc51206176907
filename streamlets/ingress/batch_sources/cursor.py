"""`TaskCursor`: reads a task topic in order, from an offset of the source."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from streamlets.channels.base import Position, TopicResource
from streamlets.ingress.batch_sources.tasks import Task, from_batch, task_contract


@dataclass(frozen=True, slots=True)
class TaskOffset:
    """A place in the tasks of a source.

    Arguments:
        task: the number of the last task before the place; -1 for the beginning.
        position: a position in the topic with no later task before it; None for the beginning of the topic.
    """

    task: int = -1
    position: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the offset for the checkpoint."""
        return {"task": self.task, "position": self.position}

    @classmethod
    def from_dict(cls, offset: dict[str, Any]) -> TaskOffset:
        """Return the offset from the checkpoint."""
        return cls(int(offset["task"]), offset["position"])


class TaskCursor:
    """Reads tasks ahead, as few as a batch needs. What it costs to look for news does not depend on earlier tasks.

    Arguments:
        topic: the task topic.
    """

    def __init__(self, topic: TopicResource) -> None:
        self._topic = topic
        self._until: Position | None = None
        self._ahead: deque[tuple[Task, str | None]] = deque()  # with the start of the scan that has found it
        self._before = self._last = -2  # the numbers before the first task of `_ahead`, and of the last one
        self._after: str | None = None  # the start of the scan, or without one, of the next scan
        self._scan: Iterator[list[Task]] | None = None
        self._scan_end: str | None = None

    def stop_at_end(self) -> None:
        """Read no further than to the present end of the topic."""
        self._until = self._topic.end()

    def upto(self, start: TaskOffset, count: int) -> TaskOffset:
        """Return the offset after the next tasks.

        Arguments:
            start: where they begin.
            count: the largest number of tasks.
        """
        self._seek(start)
        self._read(count)
        tasks = min(count, len(self._ahead))
        if tasks == 0:
            return start
        last = self._ahead[tasks - 1][0].number
        following = self._ahead[tasks] if tasks < len(self._ahead) else None
        return TaskOffset(last, following[1] if following is not None else self._after)

    def between(self, start: TaskOffset, end: TaskOffset) -> list[Task]:
        """Return the tasks between two offsets.

        Raises:
            LookupError: the topic does not have all of them.
        """
        self._seek(start)
        self._read(end.task - start.task)
        tasks = [task for task, _ in self._ahead if task.number <= end.task]
        if len(tasks) < end.task - start.task:
            raise self._missing(start.task + 1 + len(tasks), end.task)
        return tasks

    def oldest(self, start: TaskOffset) -> float | None:
        """Return when the first task after an offset was discovered, in seconds since the epoch; None if there is none.

        Raises:
            LookupError: as for `between`.
        """
        tasks = self.between(start, self.upto(start, 1))
        return tasks[0].time if tasks else None

    def _seek(self, start: TaskOffset) -> None:
        """Begin at an offset, with what was read ahead if possible."""
        if self._before <= start.task <= self._last:
            while self._ahead and self._ahead[0][0].number <= start.task:
                self._ahead.popleft()
        else:
            self._ahead.clear()
            self._scan, self._after, self._last = None, start.position, start.task
        self._before = start.task

    def _read(self, count: int) -> None:
        """Read ahead until there are as many tasks, or no further ones in the topic."""
        while len(self._ahead) < count:
            if self._scan is None:
                end = self._until or self._topic.end()
                if end.json == self._after:
                    return
                after = Position(self._after) if self._after is not None else None
                batches = self._topic.scan(task_contract(), after, end)
                self._scan, self._scan_end = (list(from_batch(batch)) for batch in batches), end.json
            tasks = next(self._scan, None)
            if tasks is None:
                self._scan, self._after = None, self._scan_end
                continue
            for task in tasks:
                if task.number <= self._last:
                    continue  # the scan begins before the offset
                if task.number != self._last + 1:
                    raise self._missing(self._last + 1, task.number - 1)
                self._ahead.append((task, self._after))
                self._last = task.number

    def _missing(self, first: int, last: int) -> LookupError:
        return LookupError(
            f"the task topic `{self._topic.plan.name}` does not have the tasks {first} to {last} any more"
        )
