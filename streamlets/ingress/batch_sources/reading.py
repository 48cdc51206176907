"""Reading a task in a worker: its attempts, its records as Arrow batches, and what failed as dead letters."""

from __future__ import annotations

import contextlib
import json
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from blueprint.avro.model import Contract
from blueprint.avro.sources.loading import parse_contract
from streamlets.channels.dead_letters import dead_letter_contract
from streamlets.channels.records import fitted
from streamlets.contract.types import arrow_schema
from streamlets.contract.values import RecordError, Values
from streamlets.ingress.batch_sources.context import SourceContext
from streamlets.ingress.batch_sources.settings import SourceSettings
from streamlets.ingress.batch_sources.spool import Spool
from streamlets.ingress.batch_sources.tasks import TASKS, Task

if TYPE_CHECKING:
    import pyarrow as pa

RECORD, LETTER = "record", "letter"
"""The columns of what is read: a record of the outlet, or a dead letter; one of them is null."""

_ROWS = 1000
"""The number of records of a batch."""

_LONGEST_DELAY = 60.0


class Readable(Protocol):
    """The part of a batch source that reads tasks."""

    def open(self, config: Mapping[str, Any], context: SourceContext) -> None: ...
    def prepare(self, task: Any) -> None: ...
    def read_next(self) -> Any: ...
    def close(self) -> None: ...


class TaskFailedError(Exception):
    """A task has failed in all attempts, and the source is set to fail then."""


@dataclass(slots=True)
class Attempt:
    """What an attempt to read a task has yielded.

    Arguments:
        records: the records.
        letters: records that break the contract, as dead letters.
    """

    records: Spool
    letters: list[dict[str, Any]] = field(default_factory=list)


class TaskReader:
    """Reads tasks with one instance of a source, which is opened for the first task and again after each failure.

    Arguments:
        settings: the settings of the source.
        create: creates an instance of the source.
        sleep: waits a number of seconds between two attempts.
        clock: returns the time in seconds since the epoch.
    """

    def __init__(
        self,
        settings: SourceSettings,
        create: Callable[[], Readable],
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._settings, self._create, self._sleep, self._clock = settings, create, sleep, clock
        self._contract = parse_contract(settings.contract)
        self._schema = arrow_schema(self._contract)
        self._source: Readable | None = None

    def read(self, task: Task) -> Iterator[pa.RecordBatch]:
        """Yield the records of a task and its dead letters, in batches of `schema_of`. An attempt that fails yields
        nothing.

        Raises:
            TaskFailedError: all attempts have failed, and the source is set to fail then.
        """
        settings, delay = self._settings, self._settings.retry_delay
        for number in range(1, settings.max_attempts + 1):
            attempt = Attempt(Spool(self._schema))
            try:
                self._attempt(task, attempt)
            except Exception as error:
                attempt.records.close()
                self.close()
                if number < settings.max_attempts:
                    self._sleep(min(delay, _LONGEST_DELAY))
                    delay *= 2
                elif settings.on_failure == "fail":
                    reason = _reason(error)
                    raise TaskFailedError(f"the task {task.number} ({task.shown:.200}) failed: {reason}") from error
                else:
                    yield self._batch(None, [self._failure(task, error)])
            else:
                with contextlib.closing(attempt.records):
                    for records in attempt.records.batches():
                        yield self._batch(records, [])
                    if attempt.letters:
                        yield self._batch(None, attempt.letters)
                return

    def close(self) -> None:
        """Close the instance of the source; its errors are of no consequence."""
        source, self._source = self._source, None
        if source is not None:
            with contextlib.suppress(Exception):
                source.close()

    def _attempt(self, task: Task, attempt: Attempt) -> None:
        source = self._opened()
        source.prepare(task.value)
        values, rows = Values(self._contract), list[dict[str, object]]()
        while (item := source.read_next()) is not None:
            if not isinstance(item, Mapping):
                self._spool(rows, attempt)
                rows = []
                attempt.records.add(self._arrow(item))
                continue
            try:
                rows.append(values.record(item, self._contract.record))
            except RecordError as error:
                if not self._settings.broken_records:
                    raise
                text = json.dumps(item, default=str, ensure_ascii=False)
                attempt.letters.append(self._letter(text, self._settings.outlet, f"task/{task.number}", str(error)))
            if len(rows) >= _ROWS:
                self._spool(rows, attempt)
                rows = []
        self._spool(rows, attempt)

    def _spool(self, rows: list[dict[str, object]], attempt: Attempt) -> None:
        import pyarrow as pa

        if rows:
            attempt.records.add(pa.RecordBatch.from_pylist(rows, schema=self._schema))

    def _arrow(self, item: Any) -> pa.RecordBatch:
        """Return the record batch that a source returned, with the types of the contract.

        Raises:
            TypeError: it is not a record batch, or its columns have other types.
        """
        import pyarrow as pa

        if not isinstance(item, pa.RecordBatch):
            name = type(item).__name__
            raise TypeError(f"`read_next` must return a dict by field name, a RecordBatch or None, found `{name}`")
        unknown = [name for name in item.schema.names if name not in self._schema.names]
        if unknown:
            raise TypeError(
                f"the batch has the column `{unknown[0]}`, which `{self._contract.record.name}` does not have"
            )
        return fitted(item, self._schema)

    def _opened(self) -> Readable:
        if self._source is None:
            source, settings = self._create(), self._settings
            source.open(settings.config, context_of(settings))
            self._source = source
        return self._source

    def _failure(self, task: Task, error: Exception) -> dict[str, Any]:
        """Return the dead letter of a task that has failed."""
        record = {
            "task": task.number,
            "key": task.key,
            "payload": task.shown,
            "attempts": self._settings.max_attempts,
            "error": "".join(traceback.format_exception(error))[-4000:],
        }
        return self._letter(json.dumps(record, ensure_ascii=False), TASKS, f"task/{task.number}", _reason(error))

    def _letter(self, record: str, port: str, coordinates: str, reason: str) -> dict[str, Any]:
        return {
            "record": record,
            "port": f"{self._settings.streamlet}.{port}",
            "coordinates": coordinates,
            "reason": reason,
            "time": int(self._clock() * 1e6),
            "version": "",
        }

    def _batch(self, records: pa.RecordBatch | None, letters: list[dict[str, Any]]) -> pa.RecordBatch:
        import pyarrow as pa

        schema = schema_of(self._contract)
        count = records.num_rows if records is not None else len(letters)
        record, letter = schema.field(RECORD).type, schema.field(LETTER).type
        columns = [
            pa.StructArray.from_arrays(records.columns, fields=list(record)) if records is not None
            else pa.nulls(count, record),
            pa.array(letters, letter) if letters else pa.nulls(count, letter),
        ]  # fmt: skip
        return pa.RecordBatch.from_arrays(columns, schema=schema)


def schema_of(contract: Contract) -> pa.Schema:
    """Return the Arrow schema of what is read: a record of the contract, or a dead letter."""
    import pyarrow as pa

    letter = pa.struct(list(arrow_schema(dead_letter_contract())))
    return pa.schema([pa.field(RECORD, pa.struct(list(arrow_schema(contract)))), pa.field(LETTER, letter)])


def context_of(settings: SourceSettings, *, discovers: bool = False) -> SourceContext:
    """Return the context of an instance of the source."""
    return SourceContext(
        streamlet=settings.streamlet,
        directory=Path(settings.project),
        volume_mounts={name: Path(directory) for name, directory in settings.volume_mounts.items()},
        discovers=discovers,
    )


def _reason(error: BaseException) -> str:
    """Return an exception on one line, of a length that people read."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text[:500]
