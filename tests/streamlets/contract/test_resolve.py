"""Records are read by the rules of the Avro specification, as in the cases and as by fastavro."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from blueprint.avro import Contract, parse_contract
from blueprint.avro.resolution.planner import IncompatibleError
from streamlets.contract import ContractError, arrow_schema, resolver
from tests.streamlets.contract.avro_values import fastavro_reads, plain
from tests.streamlets.contract.cases import CASES, MISSING, Case, record


def contracts(case: Case) -> tuple[Contract, Contract]:
    """Return the writer and the reader of a case."""
    reader = record(case.reader, **dict(case.reader_extra))
    return parse_contract(json.dumps(record(case.writer))), parse_contract(json.dumps(reader))


def rows(case: Case, number: int) -> list[dict[str, Any]]:
    """Return the written (0) or read (1) values."""
    found = []
    for i, pair in enumerate(case.values):
        found.append({"id": i} | ({} if pair[number] is MISSING else {"f": pair[number]}))
    return found


def batch(case: Case) -> pa.RecordBatch:
    """Return the records of a case in the writer's schema."""
    return pa.RecordBatch.from_pylist(rows(case, 0), schema=arrow_schema(contracts(case)[0]))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_reading_gives_the_value(case: Case) -> None:
    """Each record has the value of the case, in the reader's Arrow schema."""
    writer, reader = contracts(case)
    found = resolver(writer, reader)(batch(case))
    found.validate(full=True)
    assert found.schema == arrow_schema(reader)
    assert found.to_pylist() == rows(case, 1)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_slices_are_read_alike(case: Case) -> None:
    """A slice of a batch gives the same slice of the result."""
    writer, reader = contracts(case)
    resolve = resolver(writer, reader)
    doubled = pa.Table.from_batches([batch(case)] * 2).combine_chunks().to_batches()[0]
    for start in range(doubled.num_rows):
        found = resolve(doubled.slice(start, 2))
        found.validate(full=True)
        assert found.to_pylist() == (rows(case, 1) * 2)[start : start + 2]


@pytest.mark.parametrize("case", [case for case in CASES if case.oracle], ids=lambda case: case.name)
def test_fastavro_agrees(case: Case) -> None:
    """fastavro reads the values of the cases."""
    writer, reader = contracts(case)
    for written, read in zip(rows(case, 0), rows(case, 1), strict=True):
        assert fastavro_reads(written, writer, reader) == plain(read, reader.record, reader)


def test_equal_schemas_cost_nothing() -> None:
    """A batch in the reader's schema is passed on unchanged."""
    kind = parse_contract(json.dumps(record(["null", "int", "string"])))
    rows = pa.RecordBatch.from_pylist([{"id": 1, "f": None}], schema=arrow_schema(kind))
    assert resolver(kind, kind)(rows) is rows


def test_columns_without_change_are_shared() -> None:
    """An unchanged field keeps its buffers: nothing is copied."""
    writer, reader = (parse_contract(json.dumps(record(kind))) for kind in ("int", "long"))
    rows = pa.RecordBatch.from_pylist([{"id": 1, "f": 2}], schema=arrow_schema(writer))
    assert resolver(writer, reader)(rows)["id"].buffers()[1].address == rows["id"].buffers()[1].address


def test_incompatible_schemas_are_refused() -> None:
    """An incompatible pair raises before the first record."""
    writer, reader = (parse_contract(json.dumps(record(kind))) for kind in ("string", "int"))
    with pytest.raises(IncompatibleError, match="the writer has `string`, the reader expects `int`"):
        resolver(writer, reader)


def test_empty_batches_are_read() -> None:
    """An empty batch gives an empty batch in the reader's schema."""
    for case in CASES:
        writer, reader = contracts(case)
        found = resolver(writer, reader)(pa.RecordBatch.from_pylist([], schema=arrow_schema(writer)))
        assert (found.num_rows, found.schema) == (0, arrow_schema(reader))


def test_a_record_that_holds_itself_is_refused() -> None:
    """A recursive type raises an error about Spark."""
    kind = {"type": "record", "name": "Node", "fields": [{"name": "next", "type": ["null", "Node"]}]}
    with pytest.raises(ContractError, match="`Node` contains itself"):
        arrow_schema(parse_contract(json.dumps(kind)))
