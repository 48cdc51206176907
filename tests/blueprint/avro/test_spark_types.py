"""The table of Spark types, its page, and Spark's own conversion as the oracle."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from blueprint.avro import Contract, load_contract
from blueprint.avro.logical import LOGICAL_TYPES
from blueprint.avro.spark_problems import spark_problems
from blueprint.avro.spark_types import LEAVES, spark_ddl, spark_json
from blueprint.avro.types_page import types_page
from blueprint.diagnostics import Span
from tests.blueprint.avro.claims import contract_of
from tests.blueprint.avro.schemas import Generator

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Span("ports.py", 7, 5, 7, 30)
PAGE = Path(__file__).parents[3] / "docs" / "avro-types.md"


def of(kind: Any) -> Contract:
    """Return a record with one field `x`."""
    schema = {"type": "record", "name": "n.R", "fields": [{"name": "x", "type": kind}]}
    contract = load_contract(schema, base_directory="there-is-none", declared=HERE).contract
    assert contract is not None
    return contract


def logical(kind: str, name: str, **more: Any) -> dict[str, Any]:
    """Return a logical type."""
    if kind == "fixed":
        more = {"name": "n.F", "size": {"uuid": 16, "duration": 12}.get(name, 8), **more}
    if name == "decimal":
        more = {"precision": 10, "scale": 2, **more}
    return {"type": kind, "logicalType": name, **more}


def record(*fields: dict[str, Any]) -> dict[str, Any]:
    """Return a nested record."""
    return {"type": "record", "name": "n.S", "fields": list(fields)}


def test_the_page_is_the_table() -> None:
    """docs/avro-types.md matches the code; generate it with `python -m blueprint.avro.types_page`."""
    assert PAGE.read_text() == types_page()


def test_the_table_has_every_logical_type() -> None:
    """Every valid logical type has a Spark type."""
    wanted = {(kind, name) for name, kinds in LOGICAL_TYPES.items() for kind in kinds}
    assert wanted <= LEAVES.keys()


def test_ddl_of_all_kinds() -> None:
    """Nullability, nesting and unions in DDL."""
    nested = record({"name": "y", "type": ["null", "int"]}, {"name": "z", "type": {"type": "map", "values": "long"}})
    kind = ["null", {"type": "array", "items": ["int", nested]}]
    wanted = "x array<struct<member0: int, member1: struct<y: int, z: map<string, bigint> NOT NULL>>>"
    assert spark_ddl(of(kind)) == wanted


PROBLEMS: list[tuple[Any, str]] = [
    (["null", "n.R"], "the record `n.R` contains itself"),
    ({"type": "array", "items": record({"name": "y", "type": ["null", "S"]})}, "the record `n.S` contains itself"),
    (logical("bytes", "decimal", precision=39), "its decimal precision is 39"),
    (record(), "it has no fields"),
    (["null"], "its union contains only null"),
    ([logical("int", "date"), "long"], "become one number"),
    (record({"name": "y", "type": "int"}, {"name": "Y", "type": "int"}), "its name differs from `y` only in case"),
]


@pytest.mark.parametrize(("kind", "says"), PROBLEMS)
def test_what_spark_cannot_represent_is_a_finding(kind: Any, says: str) -> None:
    """Each is one finding with a location, never a crash."""
    (problem,) = spark_problems(of(kind))
    assert problem.code == "schema-unsupported-by-spark"
    assert says in problem.headline
    assert problem.primary is not None


def test_a_record_used_twice_is_no_recursion() -> None:
    """A record that is used twice, but is not recursive, is valid."""
    nested = record({"name": "y", "type": "int"})
    assert spark_problems(of(["null", {"type": "array", "items": ["null", nested, "string"]}])) == ()


KINDS: list[Any] = [
    *(logical(kind, name) for kind, name in LEAVES if name),
    *("null", "boolean", "int", "long", "float", "double", "bytes", "string"),
    {"type": "fixed", "name": "n.F", "size": 3},
    {"type": "enum", "name": "n.E", "symbols": ["A"]},
    *([one, two] for one in ("int", "float") for two in ("long", "double", "null", "string")),
    ["null", "int", "long"],
    ["int", "null", "string"],
    ["int", "long", "float"],
    [record({"name": "y", "type": "int"}), "null", {"type": "array", "items": ["null", "string"]}],
    {"type": "map", "values": ["string", "null"]},
]


def test_a_record_used_in_many_places_is_looked_at_once() -> None:
    """Records that each use the next one twice are checked in linear time; checking every use would never end."""
    kind = record({"name": "x", "type": "int"}, {"name": "X", "type": "int"})
    for level in range(60):
        fields = [{"name": "a", "type": kind}, {"name": "b", "type": kind["name"]}]
        kind = {"type": "record", "name": f"n.R{level}", "fields": fields}
    assert len(spark_problems(of(kind))) == 1


OFF_BY_DEFAULT = {
    "time-micros": "time(6)",
    "timestamp-nanos": "timestamp_ltz(9)",
    "local-timestamp-nanos": "timestamp_ntz(9)",
}
"""Spark's types that are disabled by default; the table has `bigint` for them."""


@pytest.mark.spark
def test_the_table_is_sparks_own_conversion(spark: SparkSession) -> None:
    """Every type, and some 250 random schemas, are converted like `SchemaConverters` in Spark's jar."""
    generator = Generator(random.Random(0))
    schemas = [of(kind) for kind in KINDS] + [contract_of(generator.schema()) for _ in range(300)]
    compared = 0
    for contract in schemas:
        if any("contains itself" in problem.headline for problem in spark_problems(contract)):
            with pytest.raises(ValueError, match="contains itself"):
                spark_json(contract)
            continue
        if any("only null" in problem.headline for problem in spark_problems(contract)):
            continue  # Spark makes an empty struct of it, which nothing can store
        assert spark_json(contract) == _by_spark(spark, contract), contract.json
        compared += 1
    assert compared > 200


@pytest.mark.spark
def test_ddl_and_json_are_one_type_to_spark(spark: SparkSession) -> None:
    """Spark parses the DDL to the type in the JSON, except for non-nullable items, which DDL cannot express."""
    from pyspark.sql.types import StructType

    for kind in KINDS:
        contract = of(kind)
        parsed = json.loads(spark._jvm.org.apache.spark.sql.types.StructType.fromDDL(spark_ddl(contract)).json())  # type: ignore[union-attr]
        assert _nullable_inside(parsed) == _nullable_inside(StructType.fromJson(spark_json(contract)).jsonValue())


def _by_spark(spark: SparkSession, contract: Contract) -> Any:
    """Return what `SchemaConverters` makes of a schema, its types that are off by default replaced by the table's."""
    jvm: Any = spark._jvm
    schema = jvm.org.apache.avro.Schema.Parser().parse(contract.json)
    text = jvm.org.apache.spark.sql.avro.SchemaConverters.toSqlType(schema).dataType().json()
    for name in OFF_BY_DEFAULT.values():
        text = text.replace(f'"{name}"', '"long"')
    return json.loads(text)


def _nullable_inside(kind: Any) -> Any:
    """Return a type with items and values that may be null, as DDL has them."""
    if isinstance(kind, dict):
        forced = {key: True for key in ("containsNull", "valueContainsNull") if key in kind}
        return {key: _nullable_inside(part) for key, part in kind.items()} | forced
    return [_nullable_inside(one) for one in kind] if isinstance(kind, list) else kind
