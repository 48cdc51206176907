"""`Task`: what a discovery has found, and how it is stored in the task topic."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from blueprint.avro.tasks import task_contract
from streamlets.contract.text import escaped
from streamlets.contract.types import arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["QUERY", "TASKS", "Task", "TaskError", "from_batch", "payload_of", "task_contract", "to_batch"]

QUERY = "read"
"""The name of the query that reads tasks."""

TASKS = "tasks"
"""The name that stands for the port of tasks in dead letters."""


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


class TaskError(TypeError):
    """A task cannot be stored."""


@dataclass(frozen=True, slots=True)
class Task:
    """A task.

    Arguments:
        number: its number, 0 for the first of the source, without gaps.
        payload: the stored task.
        encoding: `json`, or `bytes` for a task of the type bytes.
        key: what makes it the same as another one; None for none.
        event: what triggered the discovery, its beginning if it is long.
        time: when it was discovered, in seconds since the epoch.
        retry_of: the number of the failed task that it repeats; None for none.
    """

    number: int
    payload: bytes
    encoding: str
    key: str | None = None
    event: str = ""
    time: float = 0.0
    retry_of: int | None = None

    @property
    def value(self) -> Any:
        """The task as the source discovered it."""
        return self.payload if self.encoding == "bytes" else json.loads(self.payload)

    @property
    def shown(self) -> str:
        """The task for people, on one line."""
        return self.payload.decode("utf-8", "replace") if self.encoding == "json" else repr(self.payload)


def payload_of(value: object) -> tuple[bytes, str]:
    """Return the payload and the encoding with which a task is stored.

    Raises:
        TaskError: the value is neither bytes nor what JSON can represent.
    """
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value), "bytes"
    if value is None:
        raise TaskError("a task cannot be None: pass what `prepare` needs to read it")
    try:
        return escaped(_ENCODER.encode(value)).encode(), "json"  # JSON escapes a lone surrogate likewise
    except (TypeError, ValueError, RecursionError) as error:
        name = type(value).__name__
        raise TaskError(
            f"a task of the type `{name}` cannot be stored ({error}): pass bytes, or plain JSON data"
        ) from None


def to_batch(tasks: Iterable[Task]) -> pa.RecordBatch:
    """Return tasks as records of the task topic."""
    import pyarrow as pa

    rows = list(tasks)
    columns: list[list[object]] = [
        [task.number for task in rows],
        [task.key for task in rows],
        [task.payload for task in rows],
        [task.encoding for task in rows],
        [task.event for task in rows],
        [int(task.time * 1e6) for task in rows],
        [task.retry_of for task in rows],
    ]
    schema = arrow_schema(task_contract())
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def from_batch(batch: pa.RecordBatch) -> Iterator[Task]:
    """Yield the tasks of records of the task topic."""
    for row in batch.to_pylist():
        time: datetime.datetime = row["time"]
        yield Task(
            row["number"], row["payload"], row["encoding"], row["key"], row["event"], time.timestamp(), row["retry_of"]
        )
