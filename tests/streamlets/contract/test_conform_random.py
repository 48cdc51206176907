"""Random rows and random contracts on Spark: rows are accepted or rejected as by fastavro's validation."""

from __future__ import annotations

import json
import random
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from fastavro.validation import validate
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from blueprint.avro import Contract, parse_contract
from blueprint.avro.model import Array, Enum, Fixed, Map, Record, Schema, Union
from blueprint.avro.spark_types import member, optional
from streamlets.contract import arrow_schema, conformance, spark_schema
from tests.random_examples import examples
from tests.streamlets.contract.avro_values import plain
from tests.streamlets.contract.schemas import schemas, values

pytestmark = pytest.mark.spark


@settings(
    max_examples=examples(25),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
@given(st.data())
def test_rows_are_kept_or_refused(spark: SparkSession, data: st.DataObject) -> None:
    """Valid rows are unchanged, and rows with an error have a reason."""
    contract = parse_contract(json.dumps(data.draw(schemas())))
    sound = data.draw(st.lists(values(contract.record, contract), min_size=3, max_size=6))
    chance = random.Random(data.draw(st.integers(0, 2**32)))
    rows = [_flawed(row, contract.record, contract, chance) if n % 2 else row for n, row in enumerate(sound)]
    table = pa.Table.from_pylist(rows, schema=_relaxed_arrow(arrow_schema(contract)))
    frame = spark.createDataFrame(table, schema=_relaxed(spark_schema(contract)))
    found = conformance(frame.schema, contract)
    reason = found.reason.alias("reason") if found.reason is not None else None
    if reason is None:
        assert all(_is_sound(row, contract) for row in rows)
        return
    read = frame.select(reason, *found.columns).toArrow()
    reasons = read["reason"].to_pylist()
    assert [text is None for text in reasons] == [_is_sound(row, contract) for row in rows], reasons
    good = [n for n, text in enumerate(reasons) if text is None]
    assert read.drop(["reason"]).take(good).to_pylist() == [_ordered(rows[n], contract) for n in good]


def _ordered(row: Any, contract: Contract) -> Any:
    return {f.name: row[f.name] for f in contract.record.fields}


def _relaxed(kind: DataType) -> Any:
    """Return a type that is nullable everywhere, as in most sources."""
    match kind:
        case StructType(fields=fields):
            return StructType([StructField(f.name, _relaxed(f.dataType), True) for f in fields])
        case ArrayType(elementType=element):
            return ArrayType(_relaxed(element), True)
        case MapType(keyType=key, valueType=value):
            return MapType(key, _relaxed(value), True)
    return kind


def _relaxed_arrow(schema: pa.Schema) -> pa.Schema:
    return pa.schema([pa.field(f.name, _relaxed_arrow_type(f.type)) for f in schema])


def _relaxed_arrow_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(f.name, _relaxed_arrow_type(f.type)) for f in kind])
    if pa.types.is_map(kind):
        return pa.map_(kind.key_type, pa.field("value", _relaxed_arrow_type(kind.item_type)))
    if pa.types.is_list(kind):
        return pa.list_(pa.field("element", _relaxed_arrow_type(kind.value_type)))
    return kind


def _is_sound(row: Any, contract: Contract) -> bool:
    try:
        value = plain(row, contract.record, contract)
    except AssertionError:
        return False  # not exactly one member of a union
    schema = fastavro.parse_schema(json.loads(contract.json))
    return bool(validate(value, schema, raise_errors=False, strict=True))


def _flawed(value: Any, schema: Schema, contract: Contract, chance: random.Random) -> Any:
    """Return a value with (in most cases) one error somewhere inside."""
    held, may_be_null = optional(schema, contract)
    if value is None:
        return None
    match held:
        case Record(fields=fields) if chance.random() < 0.8:
            field = chance.choice(fields)
            return {**value, field.name: _flawed(value[field.name], field.schema, contract, chance)}
        case Array(items=items) if value and chance.random() < 0.8:
            return [_flawed(value[0], items, contract, chance), *value[1:]]
        case Map(values=inner) if value and chance.random() < 0.8:
            return [(value[0][0], _flawed(value[0][1], inner, contract, chance)), *value[1:]]
        case Enum():
            return "NO_SYMBOL"
        case Fixed():
            return value + b"!"
        case Union(branches=branches) if chance.random() < 0.8:
            return {member(i): None for i in range(len(branches))}
    return value if schema is contract.record else None if not may_be_null or chance.random() < 0.5 else value
