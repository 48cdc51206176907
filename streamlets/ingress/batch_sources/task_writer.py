"""`TaskWriter`: appends tasks to the task topic with dense numbers, many in one commit."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from streamlets.channels.base import TopicResource
from streamlets.contract.text import escaped
from streamlets.ingress.batch_sources.tasks import Task, TaskError, payload_of, task_contract, to_batch
from streamlets.runner.state_directory.places import Places

if TYPE_CHECKING:
    import pyarrow as pa

GROUP = 0.05
"""Seconds for which tasks are collected for one commit. With the commit itself a task is durable within 100 ms."""

_MAX_GROUP = 10_000
"""The largest number of tasks of one commit."""

_MOST_EVENT = 1_000
"""The number of characters of an event that each of its tasks has: an event may name a thousand files."""

_MAX_PENDING = 40_000
"""The number of tasks that are not stored yet above which `eat` waits, so that memory does not grow."""


class DiscoveryStoppedError(Exception):
    """The source is being stopped. The discovery runs again when the source starts the next time."""


class TaskLogConflictError(Exception):
    """Another process discovers for the same source."""


class TaskWriter:
    """Appends to a task topic. A thread of its own commits what was discovered; see `GROUP`.

    The marker of the appender has the next number, what the source has remembered, and the event of a discovery until
    it is complete, so that a discovery that a kill interrupts runs again.

    Arguments:
        topic: the task topic.
        writer: the id of the writer, the same after a restart.
        clock: returns the time in seconds since the epoch.
        places: the places of the project. Keys that begin with a path below it are relative to it, so that they are
            the same in another place.
    """

    def __init__(
        self, topic: TopicResource, writer: str, clock: Callable[[], float], places: Places | None = None
    ) -> None:
        self._topic, self._clock, self._places = topic, clock, places or Places()
        self._appender = topic.appender(task_contract(), writer=writer)
        stored = json.loads(self._appender.marker or b"{}")
        self._next: int = stored.get("next", 0)
        self.interrupted: str | None = stored.get("discovering")
        self._sequence = -1 if self._appender.last is None else self._appender.last
        self._event: str | None = self.interrupted
        self._retried: int = stored.get("retried", 0)
        self._remembered: Any = stored.get("remembered")
        self._notes: list[tuple[int, Any]] = []  # what is to be remembered, with the number after its task
        self._keys: set[bytes] | None = None
        self._pending: list[Task] = []
        self._changed = threading.Condition()
        self._committing = False
        self._stopping = self._closed = False
        self._error: BaseException | None = None
        self.repeated = 0
        self._thread = threading.Thread(target=self._run, name=f"tasks-{writer}", daemon=True)
        self._thread.start()

    @property
    def next(self) -> int:
        """The number of the next task; as many tasks were discovered so far."""
        return self._next

    @property
    def retried(self) -> int:
        """The number of stored tasks that repeat a failed one."""
        return self._retried

    def begin(self, event: str) -> None:
        """Record that a discovery begins."""
        with self._changed:
            self._event = event
        self._commit([])

    @property
    def remembered(self) -> Any:
        """The value that was remembered last; None if there is none."""
        with self._changed:
            return self._notes[-1][1] if self._notes else self._remembered

    def remember(self, value: Any) -> None:
        """Remember a value, in one commit with the last task before it.

        Arguments:
            value: plain JSON data.

        Raises:
            TaskError: the value cannot be stored.
        """
        payload_of(value)
        with self._changed:
            self._notes.append((self._next, value))

    def eat(self, value: object, *, key: str | None = None, remember: Any = None, retry_of: int | None = None) -> bool:
        """Take a task. It is durable within 100 ms.

        Arguments:
            value: bytes, or plain JSON data.
            key: what makes the task the same as another one: if a task with this key was discovered before, this one is
                dropped.
            remember: plain JSON data that is remembered in one commit with the task, also if the task is dropped.
            retry_of: the number of the failed task that it repeats: it is dropped if that was repeated before, whatever
                its key.

        Returns:
            Whether the task is new; False if it was dropped.

        Raises:
            TaskError: the task cannot be stored.
            DiscoveryStoppedError: the source is being stopped.
            TopicWriteError: earlier tasks could not be stored.
        """
        if key is not None and not isinstance(key, str):
            raise TaskError(f"the key of a task must be a string, found a value of type `{type(key).__name__}`")
        payload, encoding = payload_of(value)
        if remember is not None:
            payload_of(remember)
        key = None if key is None else escaped(self._places.portable(key))
        with self._changed:
            if len(self._pending) >= _MAX_PENDING:
                self._changed.wait_for(lambda: len(self._pending) < _MAX_PENDING or self._stopping or self._error)
            self._require_usable()
            if key is not None or retry_of is not None:
                if self._keys is None:
                    self._keys = self._stored_keys()
                digest = _digest(key) if retry_of is None and key is not None else _retry_digest(retry_of)
                if digest in self._keys:
                    self.repeated += retry_of is None
                    if remember is not None:
                        self._notes.append((self._next, remember))
                    return False
                self._keys.add(digest)
            event = escaped(self._event or "")[:_MOST_EVENT]
            task = Task(self._next, payload, encoding, key, event, self._clock(), retry_of)
            self._next += 1
            self._pending.append(task)
            if remember is not None:
                self._notes.append((self._next, remember))
            if len(self._pending) == 1 or len(self._pending) == _MAX_GROUP:  # otherwise nobody waits for it
                self._changed.notify_all()
        return True

    def finish(self) -> None:
        """Wait until all tasks are stored, and record that the discovery is complete.

        Raises:
            TopicWriteError: tasks could not be stored.
        """
        self.flush()
        with self._changed:
            self._event = None
        self._commit([])

    def flush(self) -> None:
        """Wait until all tasks are stored.

        Raises:
            TopicWriteError: tasks could not be stored.
        """
        with self._changed:
            self._changed.wait_for(lambda: not (self._pending or self._committing) or self._error or self._closed)
            if self._error is not None:
                raise self._error

    def stop(self) -> None:
        """Have `eat` raise, so that a running discovery ends."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()

    def close(self) -> None:
        """Store what is pending, and release the topic."""
        with self._changed:
            self._stopping = self._closed = True
            self._changed.notify_all()
        self._thread.join()
        self._appender.close()

    def _require_usable(self) -> None:
        if self._error is not None:
            raise self._error
        if self._stopping:
            raise DiscoveryStoppedError("the source is being stopped")

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._pending or self._closed)
                if not self._pending:
                    return
                if len(self._pending) < _MAX_GROUP and not self._closed:
                    self._changed.wait_for(lambda: len(self._pending) >= _MAX_GROUP or self._closed, GROUP)
                group, self._pending = self._pending[:_MAX_GROUP], self._pending[_MAX_GROUP:]
                self._committing = True
            try:
                self._commit(group)
            except BaseException as error:  # noqa: BLE001 - the discovery gets it
                with self._changed:
                    self._error = error
            finally:
                with self._changed:
                    self._committing = False
                    self._changed.notify_all()
            if self._error is not None:
                return

    def _commit(self, group: list[Task]) -> None:
        """Append tasks, which are consecutive, and the marker in one commit."""
        marker: dict[str, Any] = {"next": group[-1].number + 1 if group else self._next}
        self._retried += sum(task.retry_of is not None for task in group)
        if self._retried:
            marker["retried"] = self._retried
        with self._changed:
            while self._notes and self._notes[0][0] <= marker["next"]:
                self._remembered = self._notes.pop(0)[1]
        if self._remembered is not None:
            marker["remembered"] = self._remembered
        if self._event is not None:
            marker["discovering"] = self._event
        rows: Iterable[pa.RecordBatch] = [to_batch(group)] if group else []
        if not self._appender.append(rows, self._sequence + 1, marker=json.dumps(marker).encode()):
            raise TaskLogConflictError("another process discovers tasks of this source; stop one of them")
        self._sequence += 1

    def _stored_keys(self) -> set[bytes]:
        keys: set[bytes] = set()
        for batch in self._topic.scan(task_contract()):
            keys.update(_digest(self._places.portable(key)) for key in batch["key"].to_pylist() if key is not None)
            keys.update(_retry_digest(number) for number in batch["retry_of"].drop_null().to_pylist())
        return keys


class Eater:
    """Takes the tasks of one discovery; see `Eat`.

    Arguments:
        writer: stores them.
        after: is called after each task.
    """

    def __init__(self, writer: TaskWriter, after: Callable[[], object] = lambda: None) -> None:
        self._writer, self._after = writer, after

    @property
    def remembered(self) -> Any:
        """The value that was remembered last."""
        return self._writer.remembered

    def __call__(self, task: object, *, key: str | None = None, remember: Any = None) -> bool:
        """Take a task."""
        new = self._writer.eat(task, key=key, remember=remember)
        self._after()
        return new

    def remember(self, value: Any) -> None:
        """Remember a value."""
        self._writer.remember(value)


def _digest(key: str) -> bytes:
    """Return the digest by which a key is remembered: 16 bytes, so that a million keys take about 100 MB at most."""
    return hashlib.blake2b(key.encode(), digest_size=16).digest()


def _retry_digest(number: int | None) -> bytes:
    """Return the mark of the repetition of a failed task; no digest of a key has its length."""
    return f"retry {number}".encode()
