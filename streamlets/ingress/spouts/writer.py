"""`TransactionWriter`: appends the transactions of a spout to the topics of its outlets."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from blueprint.avro.dead_letters import dead_letter_contract
from blueprint.plan import OutletPlan, StreamletPlan
from streamlets.channels.base import Appender, TopicResource
from streamlets.contract.plain_columns import PlainColumns
from streamlets.contract.text import escaped
from streamlets.contract.values import RecordError
from streamlets.ingress.spouts.codecs import CodecError, Row, original, record_of

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS_AT_ONCE = 5_000
_BYTES_AT_ONCE = 8 * 1024 * 1024


class RefusedError(Exception):
    """A transaction is refused, and nothing of it was published; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Committed:
    """A committed transaction.

    Arguments:
        outlet: the name of the outlet.
        records: the number of its records in the topic.
        dead_letters: the number of records that broke the contract.
    """

    outlet: str
    records: int
    dead_letters: int


class TransactionWriter:
    """Appends transactions, one after the other; its methods may be called from any thread. It is a context manager.

    All outlets share one sequence, so that the last marker of the spout has the highest sequence.

    Arguments:
        plan: the plan of the spout.
        topics: the topics by id.
        epoch: the epoch of its lease: a writer with a higher one fences this one.
        committed: takes each committed transaction, in their order. `close` waits for it.

    Raises:
        WriterFencedError: the spout was opened with a higher epoch.
        TopicLostError, TopicWriteError: a topic cannot be opened.
    """

    def __init__(
        self, plan: StreamletPlan, topics: Mapping[str, TopicResource], epoch: int,
        committed: Callable[[Committed], None] = lambda committed: None,
    ) -> None:  # fmt: skip
        self._plan, self._committed = plan, committed
        self._lock = threading.Lock()
        self._closed = False
        self._resources = ExitStack()
        self._appenders: dict[str, Appender] = {}
        self._letters: Appender | None = None
        writer = f"spout-{plan.ref}"
        with self._resources:
            for outlet in plan.outlets:
                self._appenders[outlet.name] = self._resources.enter_context(
                    topics[outlet.topic].appender(
                        outlet.contract, writer=writer, epoch=epoch, partition_by=outlet.partition_by
                    )
                )
            if plan.dead_letters is not None:
                contract = dead_letter_contract()
                self._letters = self._resources.enter_context(
                    topics[plan.dead_letters].appender(contract, writer=writer, epoch=epoch)
                )
            self._resources = self._resources.pop_all()
        self._outlets: dict[str, OutletPlan] = {outlet.name: outlet for outlet in plan.outlets}

    @property
    def outlets(self) -> Mapping[str, OutletPlan]:
        """The outlets by name."""
        return self._outlets

    @property
    def marker(self) -> bytes | None:
        """The marker of the last transaction of any outlet that had one; None without one."""
        appenders = [appender for appender in self._appenders.values() if appender.marker is not None]
        newest = max(appenders, key=lambda appender: -1 if appender.last is None else appender.last, default=None)
        return newest.marker if newest is not None else None

    def outlet(self, name: str) -> OutletPlan:
        """Return an outlet; "" stands for the only one.

        Raises:
            RefusedError: there is no such outlet, or the name is missing.
        """
        if not name and len(self._outlets) == 1:
            return next(iter(self._outlets.values()))
        if name not in self._outlets:
            ref, known = self._plan.ref, ", ".join(f"`{outlet}`" for outlet in self._outlets)
            if not name:
                first = next(iter(self._outlets), "out")
                raise RefusedError(
                    f"`{ref}` has the outlets {known}, and none was named: name one, such as `flow put {first}:PATH`, "
                    f'or in Python `spout.transaction("{first}")`'
                )
            raise RefusedError(f"`{ref}` has no outlet `{name}`; its outlets: {known}")
        return self._outlets[name]

    def commit_rows(self, outlet: OutletPlan, rows: Iterable[Row], marker: bytes | None) -> Committed:
        """Append rows in one commit, which is durable when this returns.

        Rows that break the contract become dead letters if the outlet has them; these are committed before, so that
        none is lost.

        Raises:
            RefusedError: a row breaks the contract of an outlet without dead letters, or a file cannot be decoded.
            WriterFencedError, TopicLostError, TopicWriteError: nothing was published.
        """
        with self._lock:
            batches = _Batches(outlet, self._plan.version, self._send_letters if self._letters is not None else None)
            try:
                self._append(outlet, batches.of(rows), marker)
            except CodecError as error:
                raise RefusedError(str(error)) from None
            return self._report(Committed(outlet.name, batches.records, batches.dead_letters))

    def commit_batches(self, outlet: OutletPlan, batches: Iterable[pa.RecordBatch], marker: bytes | None) -> Committed:
        """Append Arrow batches with the schema of the contract in one commit; see `commit_rows`."""
        records = 0

        def counted() -> Iterator[pa.RecordBatch]:
            nonlocal records
            for batch in batches:
                records += batch.num_rows
                yield batch

        with self._lock:
            self._append(outlet, counted(), marker)
            return self._report(Committed(outlet.name, records, 0))

    def close(self) -> None:
        """Wait for the running commit, and refuse all further ones."""
        with self._lock:
            self._closed = True
            self._resources.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _append(self, outlet: OutletPlan, batches: Iterable[pa.RecordBatch], marker: bytes | None) -> None:
        if self._closed:
            raise RefusedError(f"`{self._plan.ref}` has stopped")
        last = max((appender.last for appender in self._appenders.values() if appender.last is not None), default=-1)
        marker = self.marker if marker is None else marker  # of another outlet, it has to have the highest sequence
        if not self._appenders[outlet.name].append(batches, last + 1, marker=marker):
            raise RefusedError("another instance has written with the same epoch")

    def _report(self, committed: Committed) -> Committed:
        self._committed(committed)
        return committed

    def _send_letters(self, letters: list[dict[str, object]]) -> None:
        import pyarrow as pa

        from streamlets.contract.types import arrow_schema

        assert self._letters is not None
        sequence = 0 if self._letters.last is None else self._letters.last + 1
        batch = pa.RecordBatch.from_pylist(letters, schema=arrow_schema(dead_letter_contract()))
        self._letters.append([batch], sequence)


class _Batches:
    """The Arrow batches of a transaction, made while they are appended.

    Arguments:
        outlet: the outlet.
        version: the version of the application, for dead letters.
        send: takes dead letters; None if the spout has none.
    """

    def __init__(
        self, outlet: OutletPlan, version: str, send: Callable[[list[dict[str, object]]], None] | None
    ) -> None:
        self._outlet = outlet
        self._version = version
        self._send = send if outlet.on_invalid == "dead-letters" else None
        self._extra = outlet.extra == "drop"
        self._plain = PlainColumns(outlet.contract)
        self._broken: list[dict[str, object]] = []
        self.records = 0
        self.dead_letters = 0

    def of(self, rows: Iterable[Row]) -> Iterator[pa.RecordBatch]:
        """Yield the batches; the dead letters are committed before this ends, and so before the records."""
        together: list[Row] = []
        size = 0
        for row in rows:
            together.append(row)
            size += len(row.values) if isinstance(row.values, str) else _size(row.values)
            if len(together) >= _ROWS_AT_ONCE or size >= _BYTES_AT_ONCE:
                yield from self._converted(together)
                together, size = [], 0
        yield from self._converted(together)
        self._flush()

    def _converted(self, rows: Sequence[Row]) -> Iterator[pa.RecordBatch]:
        """Yield the batch of some rows: all at once if they are plain, which is much faster, or else one by one."""
        values = _plain_values(rows)
        batch = self._plain.batch(values) if values else None
        if batch is not None:
            self.records += batch.num_rows
            yield batch
            return
        records: list[dict[str, object]] = []
        for row in rows:
            try:
                records.append(record_of(row, self._outlet.contract, extra=self._extra))
            except RecordError as error:
                self._break(row, str(error))
        if records:
            yield self._batch(records)

    def _batch(self, records: list[dict[str, object]]) -> pa.RecordBatch:
        import pyarrow as pa

        from streamlets.contract.types import arrow_schema

        self.records += len(records)
        return pa.RecordBatch.from_pylist(records, schema=arrow_schema(self._outlet.contract))

    def _break(self, row: Row, reason: str) -> None:
        if self._send is None:
            raise RefusedError(f"{row.place}, {reason}")
        self.dead_letters += 1
        self._broken.append(
            {
                "record": escaped(original(row)),
                "port": f"{self._outlet.streamlet}.{self._outlet.name}",
                "coordinates": f"spout/{row.place}",
                "reason": escaped(reason),
                "time": int(time.time() * 1_000_000),
                "version": self._version,
            }
        )
        if len(self._broken) >= _ROWS_AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        if self._broken and self._send is not None:
            self._send(self._broken)
            self._broken = []


def _plain_values(rows: Sequence[Row]) -> list[Mapping[str, object]]:
    """Return the values of rows, parsed if they are JSON; [] if one cannot be parsed."""
    try:
        return [json.loads(row.values) if isinstance(row.values, str) else row.values for row in rows]
    except (ValueError, RecursionError):
        return []


def _size(values: Mapping[str, object]) -> int:
    return sum(len(value) for value in values.values() if isinstance(value, str | bytes))
