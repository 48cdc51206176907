"""Schemas in Spark DDL."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest

from blueprint.avro import Contract, load_contract
from blueprint.avro.model import Field, type_text
from blueprint.avro.spark_types import spark_ddl, spark_json
from blueprint.diagnostics import Span

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Span("ports.py", 7, 5, 7, 30)


def load(text: str) -> Contract:
    """Return the contract of a DDL text."""
    loaded = load_contract(text, base_directory="there-is-none", declared=HERE)
    assert loaded.contract is not None, loaded.problems
    return loaded.contract


def test_a_column_is_nullable_unless_it_says_not() -> None:
    """A nullable column is a union with null and the default null; NOT NULL gives the plain type."""
    src, ts = load("src string, ts timestamp not null").record.fields
    assert (type_text(src.schema), src.default) == ("[null, string]", None)
    assert (type_text(ts.schema), ts.has_default) == ("long (timestamp-micros)", False)


@pytest.mark.parametrize(
    ("ddl", "avro"),
    [
        ("BOOLEAN", "boolean"),
        ("tinyint", "int"),
        ("smallint", "int"),
        ("integer", "int"),
        ("bigint", "long"),
        ("real", "float"),
        ("double", "double"),
        ("varchar(10)", "string"),
        ("binary", "bytes"),
        ("date", "int (date)"),
        ("timestamp_ntz", "long (local-timestamp-micros)"),
        ("time(6)", "long (time-micros)"),
        ("decimal", "bytes (decimal(10, 0))"),
        ("decimal(5)", "bytes (decimal(5, 0))"),
        ("numeric(10,2)", "bytes (decimal(10, 2))"),
        ("array<int>", "array<[null, int]>"),
        ("map<string,array<double>>", "map<[null, array<[null, double]>]>"),
    ],
)
def test_types(ddl: str, avro: str) -> None:
    """Types are converted as by spark-avro; items and values of arrays and maps are always nullable."""
    (field,) = load(f"x {ddl} NOT NULL").record.fields
    assert type_text(field.schema) == avro


def test_structs_comments_colons_and_quoted_names() -> None:
    """Nested structs become nested records; a comment becomes the documentation."""
    contract = load("`a` struct<b: int NOT NULL COMMENT 'how many, of it', `c`: struct<b string>> NOT NULL")
    assert set(contract.names) == {"unnamed.Row", "unnamed.Row.a", "unnamed.Row.a.c"}
    a = contract.names["unnamed.Row.a"]
    assert getattr(a, "fields")[0] == Field("b", load("b int not null").record.fields[0].schema, doc="how many, of it")  # noqa: B009


def test_there_and_back() -> None:
    """Converting DDL to a contract and back gives the same DDL."""
    text = "a int NOT NULL, b array<struct<c: string, d: map<string, bigint>>>, e decimal(10,2), f timestamp_ntz"
    assert spark_ddl(load(text)) == text


@pytest.mark.parametrize(
    ("text", "message", "character", "advice"),
    [
        ("a", "expected a type, found the end", 2, ()),
        ("a int,", "expected a column name, found the end", 7, ()),
        ("a int b int", "expected `,` or the end, found `b`", 7, ()),
        ("a innt", "unknown type `innt`", 3, ("did you mean `int`?",)),
        ("a array<int", "expected `>`, found the end", 12, ()),
        ("a int not", "expected `NULL`, found the end", 10, ()),
        ("a decimal(x)", "expected a number, found `x`", 11, ()),
        ("a decimal(39)", "invalid type decimal(39, 0): the precision must be 1 to 38", 3, ()),
        ("a int comment b", "expected the comment as a quoted string, found `b`", 15, ()),
        ("a map<int, int>", "Avro map keys must be strings", 7, ("use map<string, ...>, or an array of structs",)),
        ("a interval", "Avro has no type for `interval`", 3, ()),
        ("= int", "expected a column name, found `=`", 1, ()),
        ("", "expected a column name, found the end", 1, ()),
    ],
)
def test_one_mistake_gives_one_finding(text: str, message: str, character: int, advice: Any) -> None:
    """Invalid DDL is reported with the position in the text, at the port's declaration."""
    (problem,) = load_contract(text, base_directory=".", declared=HERE).problems
    assert problem.code == "schema-ddl"
    assert message in problem.headline
    assert f"at character {character} " in problem.causes[0]
    assert problem.help == advice
    assert problem.primary is not None
    assert problem.primary.span == HERE


def test_a_column_that_avro_cannot_name_is_a_finding() -> None:
    """Spark takes any name in back-quotes, Avro does not."""
    (problem,) = load_contract("`my-col` int", base_directory=".", declared=HERE).problems
    assert problem.code == "schema-bad-name"


def columns(rng: random.Random, depth: int = 0, colon: str = " ") -> str:
    """Return random columns in Spark DDL, with all its spellings."""
    columns = []
    for name in rng.sample(["a", "b", "`c`", "Data", "not_null", "`xy`"], rng.randint(1, 3)):
        null = rng.choice(["", "", " NOT NULL", " not  null"])
        columns.append(f"{name}{colon}{kind(rng, depth)}{null}" + rng.choice(["", "", " COMMENT 'of it, all'"]))
    return rng.choice([", ", ",", " ,  "]).join(columns)


def kind(rng: random.Random, depth: int) -> str:
    """Return a random type in Spark DDL."""
    if depth < 3 and rng.random() < 0.5:
        inner = kind(rng, depth + 1)
        fields = columns(rng, depth + 1, rng.choice([":", ": ", " "]))
        return rng.choice([f"array<{inner}>", f"MAP<string, {inner}>", f"struct<{fields}>", f"Struct < {fields} >"])
    return rng.choice(
        [
            "INT",
            "bigint",
            "String",
            "double",
            "float",
            "boolean",
            "binary",
            "date",
            "timestamp",
            "timestamp_ntz",
            "decimal",
            "DECIMAL(9)",
            "numeric(9, 2)",
            "dec(38,38)",
            "long",
            "real",
            "integer",
        ]
    )


@pytest.mark.spark
def test_spark_reads_the_same_columns(spark: SparkSession) -> None:
    """Random DDL, converted to Avro and to a Spark struct, equals the result of Spark's parser."""
    jvm: Any = spark._jvm
    for seed in range(200):
        text = columns(random.Random(seed))
        expected = json.loads(jvm.org.apache.spark.sql.types.StructType.fromDDL(text).json())
        assert spark_json(load(text)) == without_comments(expected), text


def without_comments(kind: Any) -> Any:
    """Return a type without comments."""
    if isinstance(kind, dict):
        return {key: {} if key == "metadata" else without_comments(part) for key, part in kind.items()}
    return [without_comments(part) for part in kind] if isinstance(kind, list) else kind


@pytest.mark.parametrize("number", ["1²", "1" * 5000, "x", "1.5", "-1"])
def test_a_precision_is_written_in_plain_digits(number: str) -> None:
    """Anything else is a finding, also what Python takes for a digit and no number."""
    loaded = load_contract(f"a decimal({number})", base_directory=".", declared=HERE)
    assert [problem.code for problem in loaded.problems] == ["schema-ddl"]


def test_a_comment_is_kept_without_its_escapes() -> None:
    """Its text is what Spark keeps of it."""
    assert load(r"a int comment 'it\'s \\ so'").record.fields[0].doc == r"it's \ so"
