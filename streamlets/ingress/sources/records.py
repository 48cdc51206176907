"""Rows of a task as records of the outlet's contract: batches of what conforms, and what does not with its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from blueprint.avro.model import Contract
from streamlets.contract.typed_batch import typed_batch
from streamlets.contract.types import arrow_schema
from streamlets.contract.values import JsonValues, RecordError, Values
from streamlets.ingress.batch_sources.read_items import BrokenRecord, ContractBatch
from streamlets.ingress.spouts.codecs import Row, original, record_of

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS = 2000
"""The number of records of a batch."""


def without_fields(contract: Contract, names: set[str]) -> Contract:
    """Return a contract without some fields of its record."""
    fields = tuple(field for field in contract.record.fields if field.name not in names)
    return replace(contract, record=replace(contract.record, fields=fields))


@dataclass(frozen=True, slots=True)
class Records:
    """Makes records of the rows of a task.

    Arguments:
        contract: the contract of the outlet.
        place: the task, for messages, such as the path of a file.
        given: the values that do not come from the rows, by field, converted to the contract.
        line_field: the field that gets the number of the line or record; "" for none.
    """

    contract: Contract
    place: str
    given: Mapping[str, object]
    line_field: str = ""

    @property
    def read_contract(self) -> Contract:
        """The contract of the rows."""
        return without_fields(self.contract, {*self.given, self.line_field})

    def of_rows(self, rows: Iterator[Row]) -> Iterator[ContractBatch | BrokenRecord]:
        """Yield the records of rows.

        Arguments:
            rows: the rows; they end with the number of their line or record.
        """
        read = self.read_contract
        yield from self._of(rows, lambda row: record_of(row, read, extra=True))

    def of_objects(self, rows: Iterator[Row]) -> Iterator[ContractBatch | BrokenRecord]:
        """Yield the records of parsed JSON, whose numbers with a fraction are `Decimal`.

        Arguments:
            rows: the values of each row, which may be any JSON value.
        """
        values = JsonValues(self.read_contract, extra=True)

        def convert(row: Row) -> dict[str, object]:
            if not isinstance(row.values, Mapping):
                raise RecordError(f"is not a JSON object, but {row.text[:40]}")
            return values.record(row.values, values.contract.record)

        yield from self._of(rows, convert)

    def _of(
        self, rows: Iterator[Row], convert: Callable[[Row], dict[str, object]]
    ) -> Iterator[ContractBatch | BrokenRecord]:
        import pyarrow as pa

        schema = arrow_schema(self.contract)
        records: list[dict[str, object]] = []
        for row in rows:
            try:
                record = convert(row)
            except RecordError as error:
                yield BrokenRecord(original(row), f"{self.place}, {row.place}: {error}")
                continue
            record |= self.given
            if self.line_field:
                record[self.line_field] = int(row.place.rpartition(" ")[2])
            records.append(record)
            if len(records) >= _ROWS:
                yield ContractBatch(pa.RecordBatch.from_pylist(records, schema=schema))
                records = []
        if records:
            yield ContractBatch(pa.RecordBatch.from_pylist(records, schema=schema))

    def of_batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[ContractBatch | BrokenRecord]:
        """Yield the records of Arrow batches, whose columns are fields of `read_contract`.

        Arguments:
            batches: the batches.
        """
        import pyarrow as pa

        read, schema, before = self.read_contract, arrow_schema(self.contract), 0
        for batch in batches:
            typed = typed_batch(batch, read)
            if typed is None:
                plain = batch.to_pylist(maps_as_pydicts="strict")
                yield from self.of_rows(Row(row, f"row {before + n}") for n, row in enumerate(plain, 1))
            else:
                columns = {name: typed.column(name) for name in typed.schema.names}
                for name, value in self.given.items():
                    columns[name] = pa.array([value] * batch.num_rows, schema.field(name).type)
                if self.line_field:
                    numbers = range(before + 1, before + batch.num_rows + 1)
                    columns[self.line_field] = pa.array(numbers, schema.field(self.line_field).type)
                arrays = [columns[name] for name in schema.names]
                yield ContractBatch(pa.RecordBatch.from_arrays(arrays, schema=schema))
            before += batch.num_rows


def converted(name: str, value: object, contract: Contract, convert: Callable[[object], object] = lambda v: v) -> Any:
    """Return a value that does not come from a row in the form of the contract.

    Arguments:
        name: the field.
        value: the value.
        contract: the contract of the outlet.
        convert: makes a value of a string.

    Raises:
        RecordError: the field cannot have the value.
    """
    (field,) = (field for field in contract.record.fields if field.name == name)
    return Values(contract).value(convert(value), field.schema, name)
