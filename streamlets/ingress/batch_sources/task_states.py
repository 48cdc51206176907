"""`SourceTasks`: the tasks of a source and their states, read without Spark and without the author's code."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from blueprint.avro.dead_letters import dead_letter_contract
from blueprint.model.blueprint import task_topic
from streamlets.channels.base import Position, TopicLostError, TopicResource
from streamlets.ingress.batch_sources.cursor import TaskCursor, TaskOffset
from streamlets.ingress.batch_sources.progress import DiscoveryProgress, progress_file, read_progress
from streamlets.ingress.batch_sources.requests import request_retry, retry_requests
from streamlets.ingress.batch_sources.tasks import QUERY, TASKS, Task, from_batch, task_contract
from streamlets.runner.checkpoints.checkpoint import read_checkpoint
from streamlets.runner.dead_letters.letters import holds_dead_letters
from streamlets.runner.state_directory.directory import StateDirectory

if TYPE_CHECKING:
    import pyarrow as pa

TaskState = Literal["waiting", "read", "failed", "retried"]


@dataclass(frozen=True, slots=True)
class TaskFailure:
    """Why a task has failed for good.

    Arguments:
        attempts: the number of attempts.
        reason: the last error, on one line.
        error: the last error with its frames.
        time: when it failed, in seconds since the epoch.
    """

    attempts: int
    reason: str
    error: str
    time: float


@dataclass(frozen=True, slots=True)
class FailedTask:
    """A task that has failed for good, as its dead letter has it.

    Arguments:
        number: its number.
        shown: the task for people, on one line.
        failure: why it has failed.
    """

    number: int
    shown: str
    failure: TaskFailure


@dataclass(frozen=True, slots=True)
class TaskEntry:
    """A task and its state.

    Arguments:
        task: the task.
        state: `waiting` until its batch is committed; then `read`, or `failed` if it is a dead letter, or `retried` if
            it has failed and its repetition was requested.
        failure: why it has failed; None if it has not.
    """

    task: Task
    state: TaskState
    failure: TaskFailure | None = None


def read_upto(state: StateDirectory, streamlet: str) -> TaskOffset:
    """Return the place after the tasks whose batch is committed."""
    checkpoint = read_checkpoint(state.checkpoints / streamlet / QUERY)
    positions = checkpoint.committed.positions if checkpoint.committed is not None else {}
    for position in positions.values():
        return TaskOffset.from_dict(json.loads(position))
    return TaskOffset()


def sources_of(state: StateDirectory) -> tuple[str, ...]:
    """Return the names of the batch sources that have run, sorted."""
    return tuple(sorted(file.parent.name for file in (state.directory / "discovery").glob("*/progress.json")))


class SourceTasks:
    """The tasks of a source.

    Arguments:
        state: the state directory of the application.
        streamlet: the name of the source.
        topics: the topics of the application.
    """

    def __init__(self, state: StateDirectory, streamlet: str, topics: Iterable[TopicResource]) -> None:
        self.streamlet = streamlet
        self._file: Path = progress_file(state.directory, streamlet)
        self._topic, self._letters = None, list[TopicResource]()
        for topic in topics:
            if topic.plan.id == task_topic(streamlet):
                self._topic = topic
            elif holds_dead_letters(topic):
                self._letters.append(topic)
        self._read = read_upto(state, streamlet)

    @property
    def progress(self) -> DiscoveryProgress:
        """The discoveries, as the last run reported them."""
        return read_progress(self._file)

    @cached_property
    def discovered(self) -> int:
        """The number of tasks that were discovered in all."""
        if self._topic is None:
            return 0
        try:
            return self._topic.count(None, self._topic.end())
        except TopicLostError:  # nothing was discovered yet
            return 0

    @property
    def waiting(self) -> int:
        """The number of tasks whose batch is not committed."""
        return max(0, self.discovered - self._read.task - 1)

    @property
    def oldest(self) -> float | None:
        """When the oldest task that waits was discovered, in seconds since the epoch; None if none waits."""
        if not self.waiting or self._topic is None:
            return None
        return TaskCursor(self._topic).oldest(self._read)

    @cached_property
    def failures(self) -> dict[int, TaskFailure]:
        """The tasks that have failed for good by their number, retried ones included."""
        return {task.number: task.failure for topic in self._letters for task in _failures(topic, self.streamlet)}

    @cached_property
    def retries(self) -> dict[int, int | None]:
        """The number of each retried task, and the number of its repetition; None for a request not carried out yet."""
        requested: dict[int, int | None] = {request.number: None for request in retry_requests(self._file.parent)}
        return requested | dict(_retries(self._topic))

    @property
    def failed(self) -> tuple[int, ...]:
        """The numbers of the tasks that have failed for good and were not retried."""
        return tuple(sorted(set(self.failures) - set(self.retries)))

    def entries(self, *, unread: bool = False) -> Iterator[TaskEntry]:
        """Yield the tasks in the order of their numbers.

        Arguments:
            unread: whether to yield only tasks that wait, which takes no longer if many were read.
        """
        if self._topic is None:
            return
        after = Position(self._read.position) if unread and self._read.position is not None else None
        for batch in self._topic.scan(task_contract(), after) if self.discovered else ():
            for task in from_batch(batch):
                if task.number > self._read.task:
                    yield TaskEntry(task, "waiting")
                elif not unread:
                    failure = self.failures.get(task.number)
                    state: TaskState = "read" if failure is None else "failed"
                    yield TaskEntry(task, "retried" if failure and task.number in self.retries else state, failure)

    def retry(self, numbers: set[int]) -> int:
        """Request that failed tasks are read again, which the runner does. A repeated request has no effect.

        Arguments:
            numbers: the numbers of the failed tasks.

        Returns:
            The number of new requests.
        """
        chosen = [entry.task for entry in self.entries() if entry.task.number in numbers and entry.state == "failed"]
        self.__dict__.pop("retries", None)
        return sum(request_retry(self._file.parent, task) for task in chosen)


def _failures(letters: TopicResource, streamlet: str) -> Iterator[FailedTask]:
    try:
        for batch in letters.scan(dead_letter_contract()):
            yield from _failed_tasks(_letters_of_tasks(batch, streamlet))
    except TopicLostError:  # no task has failed yet
        return


def _letters_of_tasks(letters: pa.RecordBatch, streamlet: str) -> pa.RecordBatch:
    import pyarrow.compute as pc

    return letters.filter(pc.equal(letters.column("port"), f"{streamlet}.{TASKS}"))


def _failed_tasks(letters: pa.RecordBatch) -> Iterator[FailedTask]:
    for row in letters.to_pylist():
        record: dict[str, Any] = json.loads(row["record"])
        failure = TaskFailure(record["attempts"], row["reason"], record["error"], row["time"].timestamp())
        yield FailedTask(record["task"], record["payload"], failure)


def _retries(topic: TopicResource | None) -> Iterator[tuple[int, int]]:
    import pyarrow.compute as pc

    try:
        for batch in topic.scan(task_contract()) if topic is not None else ():
            repetitions = batch.filter(pc.is_valid(batch.column("retry_of")))
            yield from zip(repetitions["retry_of"].to_pylist(), repetitions["number"].to_pylist(), strict=True)
    except TopicLostError:  # nothing was discovered yet
        return


class FailedTasks:
    """The failed tasks of a source during a run; each look reads only what is new.

    Arguments:
        letters: the topic of its dead letters.
        streamlet: the name of the source.

    Attributes:
        count: the number of failed tasks until the last look, including earlier runs, retried or not.
    """

    def __init__(self, letters: TopicResource, streamlet: str) -> None:
        self._letters, self._streamlet = letters, streamlet
        self._seen: Position | None = None
        self.count = 0

    def look(self) -> list[FailedTask]:
        """Return the tasks that have failed since the last look; none at the first one."""
        end, new = self._letters.end(), list[FailedTask]()
        if self._seen is None or end.json != self._seen.json:
            for batch in self._letters.scan(dead_letter_contract(), self._seen, end):
                letters = _letters_of_tasks(batch, self._streamlet)
                self.count += letters.num_rows
                new += _failed_tasks(letters) if self._seen is not None else ()
            self._seen = end
        return new
