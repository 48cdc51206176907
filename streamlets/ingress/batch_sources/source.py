"""The Python data source that reads tasks: a partition of Spark for each task.

Spark runs the stream reader in a process of its own, and asks it for the latest offset about every 10 ms. Workers read
the tasks, which they get with the partitions: they need no access to the task topic.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxFiles, SupportsTriggerAvailableNow

from streamlets.channels.registry import CHANNEL_TYPES
from streamlets.ingress.batch_sources.cursor import TaskCursor, TaskOffset
from streamlets.ingress.batch_sources.progress import read_progress
from streamlets.ingress.batch_sources.reading import AttemptFailedError, TaskFailedError, TaskReader
from streamlets.ingress.batch_sources.settings import OPTION, SourceSettings
from streamlets.ingress.batch_sources.task_process import TaskProcess
from streamlets.ingress.batch_sources.tasks import Task

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

FORMAT = "streamlets_tasks"

_DISCOVERY_POLL = 0.1
"""Seconds between two looks whether the discovery of a bounded run is complete."""


class TaskSource(DataSource):
    """The tasks of a batch source as a streaming source. Without settings it is only planned, never read."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return FORMAT

    def streamReader(self, schema: StructType) -> TaskStreamReader:  # noqa: N802
        """Return a stream reader with the options of the source."""
        return TaskStreamReader(dict(self.options)[OPTION])


@dataclass
class TaskPartition(InputPartition):
    """The task of a partition; None in an empty batch."""

    task: Task | None


class TaskStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans the batches of a batch source. `read` runs in the workers.

    Arguments:
        encoded: the settings, as an option.
    """

    def __init__(self, encoded: str) -> None:
        self._encoded = encoded
        self._cursor: TaskCursor | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Return the place before the first task."""
        return TaskOffset().to_dict()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Wait until the discovery of a bounded run is complete or abandoned, and read no further than its end."""
        while True:
            progress = read_progress(self._settings.progress)
            if progress.discoveries or progress.abandoned:
                break
            time.sleep(_DISCOVERY_POLL)
        self._tasks.stop_at_end()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Return the largest number of tasks of a batch."""
        return ReadMaxFiles(self._settings.max_tasks)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Return the end of the next batch, `start` without new tasks."""
        count = limit.max_files if isinstance(limit, ReadMaxFiles) else self._settings.max_tasks
        return self._tasks.upto(TaskOffset.from_dict(start), count).to_dict()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[TaskPartition]:
        """Return a partition for each task."""
        tasks = self._tasks.between(TaskOffset.from_dict(start), TaskOffset.from_dict(end))
        return [TaskPartition(task) for task in tasks] or [TaskPartition(None)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the records of a task."""
        assert isinstance(partition, TaskPartition)
        if partition.task is not None:
            try:
                yield from _reader(self._encoded).read(partition.task)
            except TaskFailedError as error:
                # Spark passes on the text alone, in which the runner finds the frames of the user's code.
                raise TaskFailedError(f"\n{_frames(error)}{error}") from None

    @property
    def _settings(self) -> SourceSettings:
        return SourceSettings.from_options({OPTION: self._encoded})

    @property
    def _tasks(self) -> TaskCursor:
        if self._cursor is None:
            settings = self._settings
            channel = CHANNEL_TYPES[settings.topic.channel].open(settings.topics)
            self._cursor = TaskCursor(channel.topic(settings.topic))
        return self._cursor


def _frames(error: TaskFailedError) -> str:
    """Return the lines with the frames of the error of the last attempt."""
    details = error.__cause__.details if isinstance(error.__cause__, AttemptFailedError) else ""
    return "".join(f"{line}\n" for line in details.splitlines() if line.startswith("  "))


_readers: dict[str, TaskReader] = {}


def _reader(encoded: str) -> TaskReader:
    """Return the reader of this worker process, which keeps its process with the source between tasks."""
    if encoded not in _readers:
        for reader in _readers.values():  # of an earlier start of a query
            reader.close()
        _readers.clear()
        settings = SourceSettings.from_options({OPTION: encoded})
        _readers[encoded] = TaskReader(settings, TaskProcess(settings))
    return _readers[encoded]
