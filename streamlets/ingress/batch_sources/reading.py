"""Reading a task in a worker: its attempts, its records as Arrow batches, and what failed as dead letters."""

from __future__ import annotations

import contextlib
import json
import os
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from blueprint.avro.model import Contract
from blueprint.avro.sources.loading import parse_contract
from blueprint.catalog import LoadFailure
from blueprint.settings.secret_sources import environment_secrets, secrets_of_values
from blueprint.settings.secrets import Secrets
from streamlets.channels.dead_letters import dead_letter_contract
from streamlets.contract.text import escaped
from streamlets.contract.typed_batch import typed_batch
from streamlets.contract.types import arrow_schema
from streamlets.contract.values import RecordError, Values
from streamlets.ingress.batch_sources.context import SourceContext
from streamlets.ingress.batch_sources.read_items import BrokenRecord, ContractBatch
from streamlets.ingress.batch_sources.settings import SourceSettings
from streamlets.ingress.batch_sources.spool import Spool
from streamlets.ingress.batch_sources.tasks import TASKS, Task
from streamlets.project.loading import StreamletNotLoadedError, load_streamlet
from streamlets.project.modules import project_at
from streamlets.spark.failure import is_users

if TYPE_CHECKING:
    import pyarrow as pa

RECORD, LETTER = "record", "letter"
"""The columns of what is read: a record of the outlet, or a dead letter; one of them is null."""

_ROWS = 1000
"""The number of records of a batch."""

_LONGEST_DELAY = 60.0
_MOST_DETAILS = 4000  # characters of the error of a task


class Readable(Protocol):
    """The part of a batch source that reads tasks."""

    def open(self, config: Mapping[str, Any], context: SourceContext) -> None: ...
    def prepare(self, task: Any) -> None: ...
    def read_next(self) -> Any: ...
    def close(self) -> None: ...


class TaskFailedError(Exception):
    """A task has failed in all attempts, and the source is set to fail then."""


class AttemptFailedError(Exception):
    """An attempt to read a task has failed.

    Arguments:
        reason: why, on one line.
        details: the error with its frames.
    """

    def __init__(self, reason: str, details: str) -> None:
        self.reason, self.details = escaped(reason), escaped(details)
        super().__init__(self.reason)


class Records(Protocol):
    """Takes the records of an attempt."""

    def add(self, batch: pa.RecordBatch) -> None:
        """Add a batch."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all batches."""

    def close(self) -> None:
        """Release them."""


@dataclass(slots=True)
class Attempt:
    """The result of an attempt to read a task.

    Arguments:
        records: the records.
        letters: records that break the contract, as dead letters.
    """

    records: Records
    letters: list[dict[str, Any]] = field(default_factory=list)


class Attempts(Protocol):
    """Makes attempts to read tasks, one at a time."""

    def attempt(self, task: Task) -> Attempt:
        """Read a task, whose records the caller releases.

        Raises:
            AttemptFailedError: the attempt has failed; what it had read is released.
        """

    def close(self) -> None:
        """Release what the attempts have in common; another attempt acquires it again."""


class TaskReader:
    """Reads tasks in several attempts, and makes dead letters of tasks that fail for good.

    Arguments:
        settings: the settings of the source.
        attempts: makes the attempts.
        sleep: waits a number of seconds between two attempts.
        clock: returns the time in seconds since the epoch.
    """

    def __init__(
        self,
        settings: SourceSettings,
        attempts: Attempts,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._settings, self._attempts, self._sleep, self._clock = settings, attempts, sleep, clock
        self._contract = parse_contract(settings.contract)

    def read(self, task: Task) -> Iterator[pa.RecordBatch]:
        """Yield the records and dead letters of a task, in batches of `schema_of`. A failed attempt yields nothing.

        Raises:
            TaskFailedError: all attempts have failed, and the source is set to fail then.
        """
        settings, delay = self._settings, self._settings.retry_delay
        for number in range(1, settings.max_attempts + 1):
            try:
                attempt = self._attempts.attempt(task)
            except AttemptFailedError as error:
                if number < settings.max_attempts:
                    self._sleep(min(delay, _LONGEST_DELAY))
                    delay *= 2
                elif settings.on_failure == "fail":
                    message = f"the task {task.number} ({task.shown:.200}) failed: {error.reason}"
                    raise TaskFailedError(message) from error
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
        """Release what the attempts have in common."""
        self._attempts.close()

    def _failure(self, task: Task, error: AttemptFailedError) -> dict[str, Any]:
        """Return the dead letter of a task that has failed."""
        record = {
            "task": task.number,
            "key": task.key,
            "payload": task.shown,
            "attempts": self._settings.max_attempts,
            "error": error.details[-_MOST_DETAILS:],
        }
        text = json.dumps(record, ensure_ascii=False)
        port = f"{self._settings.streamlet}.{TASKS}"
        return _letter(text, port, task, error.reason, self._clock(), self._settings.version)

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


class SourceInstance:
    """Reads tasks in this process with one instance of a source.

    The instance is opened for the first task and again after each failure.

    Arguments:
        settings: the settings of the source.
        create: creates an instance of the source.
        records: returns what takes the records of an attempt; default: a `Spool`.
        clock: returns the time in seconds since the epoch.
    """

    def __init__(
        self,
        settings: SourceSettings,
        create: Callable[[], Readable],
        *,
        records: Callable[[], Records] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._settings, self._create, self._records, self._clock = settings, create, records, clock
        self._contract = parse_contract(settings.contract)
        self._schema = arrow_schema(self._contract)
        self._source: Readable | None = None
        self._secrets = Secrets([*settings.secrets, *secrets_of_values(settings.config)])
        self._secrets.add(environment_secrets(os.environ))

    def attempt(self, task: Task) -> Attempt:
        """Read a task; see `Attempts.attempt`."""
        attempt = Attempt(self._records() if self._records is not None else Spool(self._schema))
        try:
            self._read(task, attempt)
        except (Exception, SystemExit) as error:
            attempt.records.close()
            self.close()
            details = "".join(traceback.format_exception(type(error), error, _users_part(error.__traceback__)))
            details = self.masked(details)[-_MOST_DETAILS:]
            raise AttemptFailedError(self.masked(_reason(error)), details) from error
        return attempt

    def masked(self, text: str) -> str:
        """Return a text without the secrets of the source."""
        return self._secrets.masked(text)

    def close(self) -> None:
        """Close the instance of the source; its errors are of no consequence."""
        source, self._source = self._source, None
        if source is not None:
            with contextlib.suppress(Exception):
                source.close()

    def _read(self, task: Task, attempt: Attempt) -> None:
        source = self._opened()
        source.prepare(self._settings.places.present(task.value))
        values, rows = Values(self._contract), list[dict[str, object]]()
        while (item := source.read_next()) is not None:
            if isinstance(item, BrokenRecord):
                self._set_aside(item.text, RecordError(item.reason), task, attempt)
                continue
            if isinstance(item, ContractBatch):
                attempt.records.add(item.records)
                continue
            batch = None if isinstance(item, Mapping) else self._arrow(item)
            typed = None if batch is None else typed_batch(batch, self._contract)
            if typed is not None:
                self._spool(rows, attempt)
                rows = []
                attempt.records.add(typed)
                continue
            for record in [item] if batch is None else batch.to_pylist(maps_as_pydicts="strict"):
                try:
                    rows.append(values.record(record, self._contract.record))
                except RecordError as error:
                    self._set_aside(json.dumps(record, default=str, ensure_ascii=False), error, task, attempt)
                if len(rows) >= _ROWS:
                    self._spool(rows, attempt)
                    rows = []
        self._spool(rows, attempt)

    def _set_aside(self, text: str, error: RecordError, task: Task, attempt: Attempt) -> None:
        """Make a record a dead letter.

        Raises:
            RecordError: broken records fail their task.
        """
        if not self._settings.broken_records:
            raise error
        port = f"{self._settings.streamlet}.{self._settings.outlet}"
        attempt.letters.append(_letter(text, port, task, str(error), self._clock(), self._settings.version))

    def _spool(self, rows: list[dict[str, object]], attempt: Attempt) -> None:
        import pyarrow as pa

        if rows:
            attempt.records.add(pa.RecordBatch.from_pylist(rows, schema=self._schema))

    def _arrow(self, item: Any) -> pa.RecordBatch:
        """Return the record batch that a source returned.

        Raises:
            TypeError: it is not a record batch, or has a column that the contract does not have.
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
        return item

    def _opened(self) -> Readable:
        if self._source is None:
            source, settings = self._create(), self._settings
            source.open(settings.config, context_of(settings, self._contract, self._secrets))
            self._source = source
        return self._source


def schema_of(contract: Contract) -> pa.Schema:
    """Return the Arrow schema of what is read: a record of the contract, or a dead letter."""
    import pyarrow as pa

    letter = pa.struct(list(arrow_schema(dead_letter_contract())))
    return pa.schema([pa.field(RECORD, pa.struct(list(arrow_schema(contract)))), pa.field(LETTER, letter)])


def context_of(settings: SourceSettings, contract: Contract, secrets: Secrets) -> SourceContext:
    """Return the context of an instance of the source that reads tasks."""
    return SourceContext(
        streamlet=settings.streamlet,
        directory=Path(settings.project),
        volume_mounts={name: Path(directory) for name, directory in settings.volume_mounts.items()},
        secrets=secrets,
        contract=contract,
    )


def _reason(error: BaseException) -> str:
    """Return an exception on one line, of a length that people read."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text[:500]


def _users_part(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback from the first frame of the user's code on; all of it if there is none."""
    first = trace
    while first is not None and not is_users(first.tb_frame.f_code.co_filename):
        first = first.tb_next
    return first or trace


def _letter(record: str, port: str, task: Task, reason: str, time: float, version: str) -> dict[str, Any]:
    return {
        "record": escaped(record),
        "port": port,
        "coordinates": f"task/{task.number}",
        "reason": escaped(reason),
        "time": int(time * 1e6),
        "version": version,
    }


def creating(settings: SourceSettings) -> Callable[[], Readable]:
    """Return a function that creates instances of the source of a project."""

    def create() -> Readable:
        source: Any = load_streamlet(settings.class_name, project_at(settings.project), tuple)
        if isinstance(source, LoadFailure):
            raise StreamletNotLoadedError(source)
        return source  # type: ignore[no-any-return]  # a BatchSource, as verified

    return create
