"""Conversion of rows to a contract: matching types, defaults, and reasons of broken rows."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from blueprint.avro import Contract, parse_contract
from blueprint.avro.spark_types import spark_json
from streamlets.contract import ContractError, conform, conformance, spark_schema
from streamlets.contract.values import JsonValues, RecordError
from tests.streamlets.contract.cases import CASES, MISSING, array, enum, fixed, logical, mapping, point, record

pytestmark = pytest.mark.spark


def contract(**fields: Any) -> Contract:
    """Return a contract with the given fields; a pair is a type and a default."""
    found = []
    for name, kind in fields.items():
        pair = {"type": kind[0], "default": kind[1]} if isinstance(kind, tuple) else {"type": kind}
        found.append({"name": name, **pair})
    return parse_contract(json.dumps({"type": "record", "name": "Root", "fields": found}))


def reasons(spark: SparkSession, rows: DataFrame, wanted: Contract, **settings: Any) -> list[str | None]:
    """Return the reason of each row."""
    found = conformance(rows.schema, wanted, **settings).reason
    assert found is not None
    return [row[0] for row in rows.select(found).collect()]


def misfits(spark: SparkSession, schema: str, wanted: Contract, **settings: Any) -> list[str]:
    """Return why a DataFrame with a schema can never conform."""
    from pyspark.sql.types import _parse_datatype_string

    with pytest.raises(ContractError) as caught:
        conformance(_parse_datatype_string(schema), wanted, **settings)  # type: ignore[arg-type]
    return [str(misfit) for misfit in caught.value.misfits]


def test_the_struct_is_the_tables(spark: SparkSession) -> None:
    """Spark's struct of a contract matches the table of types, for every type of the cases."""
    for case in CASES:
        found = parse_contract(json.dumps(record(case.reader, **dict(case.reader_extra))))
        assert spark_schema(found).jsonValue() == spark_json(found)


def test_columns_come_in_schema_order_with_its_types(spark: SparkSession) -> None:
    """Fields are matched by name, and widened where no value changes."""
    rows = spark.sql("select 1S as b, 2 as a, 0.5F as c, 7Y as d, 3 as e")
    found = conform(rows, contract(a="long", b="int", c="double", d="float", e="double"))
    assert found.schema.simpleString() == "struct<a:bigint,b:int,c:double,d:float,e:double>"
    assert [tuple(row) for row in found.collect()] == [(2, 1, 0.5, 7.0, 3.0)]


def test_rows_that_cannot_break_are_not_checked(spark: SparkSession) -> None:
    """If types and nullability are sufficient, there is no check, and columns are passed on."""
    rows = spark.sql("select 1 as a, named_struct('x', 1D) as p")
    found = conformance(rows.schema, contract(a="int", p=point("x")))
    assert found.reason is None
    assert [str(column) for column in found.columns] == ["Column<'a AS a'>", "Column<'p AS p'>"]


def test_missing_fields_are_filled(spark: SparkSession) -> None:
    """A missing field gets its default, or null if that is allowed."""
    rows = spark.sql("select named_struct('x', 1D) as p")
    inner = point("x", {"name": "z", "type": "int", "default": 7}, {"name": "n", "type": ["null", "string"]})
    found = conform(rows, contract(p=inner, q=(array("int"), [1, 2]), r=["null", "long"]))
    assert found.collect()[0].asDict(recursive=True) == {"p": {"x": 1.0, "z": 7, "n": None}, "q": [1, 2], "r": None}
    assert found.schema["r"].dataType.simpleString() == "bigint"


def test_defaults_are_the_values_of_the_cases(spark: SparkSession) -> None:
    """Each default of the cases is filled in as the value that a reader would get."""
    wanted = [case for case in CASES if case.writer == MISSING]
    fields = {f"f{n}": _renamed(case.reader, n) for n, case in enumerate(wanted)}
    found = contract(**{f"f{n}": (fields[f"f{n}"], case.reader_extra[0][1]) for n, case in enumerate(wanted)})
    (row,) = conform(spark.range(1), found, extra="drop").toArrow().to_pylist()
    assert row == {f"f{n}": case.values[0][1] for n, case in enumerate(wanted)}


def _renamed(kind: Any, number: int) -> Any:
    return {**kind, "name": f"{kind['name']}{number}"} if isinstance(kind, dict) and "name" in kind else kind


def test_null_where_there_is_no_null(spark: SparkSession) -> None:
    """A null in a field without null is reported with its path; a nullable record may be null."""
    rows = spark.sql(
        "select a, p from values (1, named_struct('x', 1D)), (null, named_struct('x', 2D)),"
        " (3, named_struct('x', cast(null as double))), (4, null) as t(a, p)"
    )
    assert reasons(spark, rows, contract(a="int", p=["null", point("x")])) == [
        None,
        "`a`: is null, and the schema does not allow null",
        "`p.x`: is null, and the schema does not allow null",
        None,
    ]


def test_symbols_sizes_uuids_and_times(spark: SparkSession) -> None:
    """What Spark's types cannot say is checked in each row, and the first reason in schema order is reported."""
    good = "'RED', X'010203', '6f1ed002-ab58-4b1f-9c0f-1a2b3c4d5e6f', 86399999"
    rows = spark.sql(
        f"select * from values ({good}), ('PINK', X'01', 'no', -1), ('RED', X'01', 'no', -1),"
        " ('RED', X'010203', 'no', -1), ('RED', X'010203', '6f1ed002-ab58-4b1f-9c0f-1a2b3c4d5e6f', 86400000)"
        " as t(e, f, u, t)"
    )
    kind = contract(e=enum("RED", "BLUE"), f=fixed(3), u=logical("string", "uuid"), t=logical("int", "time-millis"))
    assert reasons(spark, rows, kind) == [
        None,
        "`e`: 'PINK' is not a symbol of `Colour` (RED, BLUE)",
        "`f`: 1 byte, expected 3 for `Hash`",
        "`u`: 'no' is not a UUID",
        "`t`: 86400000 is out of range for time-millis",
    ]


def test_a_letter_that_still_breaks_its_contract_has_the_same_reason(spark: SparkSession) -> None:
    """A replay, which checks the JSON of a dead letter without Spark, words reasons as the query did."""
    rows = spark.sql(
        "select * from values"
        " ('PINK', X'010203', 1.5, named_struct('x', 1D), array(named_struct('x', 1D))),"
        f" ('{'x' * 50}', X'010203', 1.5, named_struct('x', 1D), array(named_struct('x', 1D))),"
        " ('RED', X'01', 1.5, named_struct('x', 1D), array(named_struct('x', 1D))),"
        " ('RED', X'010203', 1000.5, named_struct('x', 1D), array(named_struct('x', 1D))),"
        " ('RED', X'010203', 1.5, named_struct('x', cast(null as double)), array(named_struct('x', 1D))),"
        " ('RED', X'010203', 1.5, named_struct('x', 1D), array(named_struct('x', 1D), named_struct('x', null)))"
        " as t(e, f, d, p, ps)"
    )
    amount = logical("bytes", "decimal", precision=4, scale=1)
    symbols = [f"COLOUR_{number}" for number in range(20)]
    kind = contract(e=enum("RED", *symbols), f=fixed(3), d=amount, p=point("x"), ps=array("Point"))
    conversion = conformance(rows.schema, kind)
    assert conversion.reason is not None
    for reason, letter in rows.select(conversion.reason, conversion.original).collect():
        with pytest.raises(RecordError) as raised:
            JsonValues(kind).record(json.loads(letter, parse_float=Decimal), kind.record)
        assert str(raised.value) == reason


def test_decimals_fit_or_say_so(spark: SparkSession) -> None:
    """A decimal is accepted if no digit is lost; a wider type needs no check."""
    rows = spark.sql(
        "select cast(a as decimal(20,10)) a, 5 b, cast(1.5 as decimal(3,1)) c"
        " from values ('999.99'), ('1000'), ('0.001'), ('999.995'), (null) as t(a)"
    )
    kind = logical("bytes", "decimal", precision=5, scale=2)
    wide = logical("bytes", "decimal", precision=20, scale=2)
    found = contract(a=["null", kind], b=wide, c=wide)
    assert reasons(spark, rows, found) == [
        None,
        "`a`: 1000.0000000000 does not fit decimal(5,2)",
        "`a`: 0.0010000000 does not fit decimal(5,2)",
        "`a`: 999.9950000000 does not fit decimal(5,2)",
        None,
    ]
    first = conform(rows.limit(1), found).collect()[0]
    assert tuple(first) == (Decimal("999.99"), Decimal("5.00"), Decimal("1.50"))


def test_milliseconds_are_cut(spark: SparkSession) -> None:
    """A timestamp of milliseconds is rounded down, in any time zone."""
    rows = spark.sql(
        "select timestamp '2013-07-01 12:00:00.123456Z' a, timestamp_ntz '1969-12-31 23:59:59.999999' b,"
        " timestamp '1969-12-31 23:59:59.999999Z' c"
    )
    kind = contract(
        a=logical("long", "timestamp-millis"),
        b=logical("long", "local-timestamp-millis"),
        c=logical("long", "timestamp-millis"),
    )
    (row,) = conform(rows, kind).toArrow().to_pylist()
    assert (row["a"].microsecond, row["c"].microsecond) == (123000, 999000)
    assert row["b"] == datetime.datetime(1969, 12, 31, 23, 59, 59, 999000)


def test_items_and_values_are_checked_with_their_place(spark: SparkSession) -> None:
    """The reason names the first item or key that breaks the contract; a shallow check ignores items."""
    rows = spark.sql(
        "select * from values (array('RED'), map('k', array(named_struct('x', 1D)))),"
        " (array('RED', 'PINK', 'GREY'), map()),"
        " (array(), map('a', array(), 'k', array(named_struct('x', 1D), named_struct('x', cast(null as double)))))"
        " as t(es, m)"
    )
    kind = contract(es=array(enum("RED")), m=mapping(array(point("x"))))
    assert reasons(spark, rows, kind) == [
        None,
        "`es[1]`: 'PINK' is not a symbol of `Colour` (RED)",
        "`m['k'][1].x`: is null, and the schema does not allow null",
    ]
    assert conformance(rows.schema, kind, deep=False).reason is None


def test_items_and_values_are_widened(spark: SparkSession) -> None:
    """Items, values and nested fields get the schema's types, and nulls remain."""
    rows = spark.sql("select array(1, null) a, map('k', 1S) m, array(named_struct('y', 1F, 'x', 2F)) p")
    kind = contract(a=array(["null", "long"]), m=mapping("int"), p=array(point("x", "y")))
    (row,) = conform(rows, kind).toArrow().to_pylist()
    assert row == {"a": [1, None], "m": [("k", 1)], "p": [{"x": 2.0, "y": 1.0}]}


def test_unions_have_one_member(spark: SparkSession) -> None:
    """Exactly one member of a union's struct is set, others may be omitted; a plain value is assigned to its branch."""
    ddl = "u struct<member0:int,member1:string>, v struct<member1:string>, w string"
    rows = spark.createDataFrame(
        [((1, None), ("a",), "b"), ((1, "x"), ("a",), "b"), ((None, None), ("a",), "b"), ((1, None), (None,), "b")], ddl
    )
    kind = contract(u=["int", "string"], v=["int", "string"], w=["null", "int", "string"])
    nullable = contract(u=["int", "string", "null"], v=["int", "string", "null"], w=["null", "int", "string"])
    assert reasons(spark, rows, nullable) == [
        None,
        "`u`: 2 members of the union are set, expected one",
        "`u`: 0 members of the union are set, expected one",
        "`v`: 0 members of the union are set, expected one",
    ]
    assert conform(rows.limit(1), kind).toArrow().to_pylist() == [
        {
            "u": {"member0": 1, "member1": None},
            "v": {"member0": None, "member1": "a"},
            "w": {"member0": None, "member1": "b"},
        }
    ]


def test_a_broken_row_fails_the_query(spark: SparkSession) -> None:
    """`conform` raises the reason of a row when the row is processed, by any action."""
    rows = spark.sql("select * from values ('RED'), ('PINK') as t(e)")
    with pytest.raises(Exception, match="'PINK' is not a symbol of `Colour`"):
        conform(rows, contract(e=enum("RED"))).count()


def test_the_row_as_it_came(spark: SparkSession) -> None:
    """`original` is the unchanged row, as JSON with its nulls."""
    rows = spark.sql("select 1 a, cast(null as string) `b.c`, array(named_struct('x', 1)) d, X'0102' e")
    found = conformance(rows.schema, contract(a="long"), extra="drop")
    text = rows.select(found.original).collect()[0][0]
    assert json.loads(text) == {"a": 1, "b.c": None, "d": [{"x": 1}], "e": "AQI="}


def test_schemas_that_can_never_fit(spark: SparkSession) -> None:
    """All misfits are reported together, with their paths and remedies."""
    found = misfits(
        spark,
        "nam string, b string, c bigint, d struct<x:double,y:double>, e array<struct<x:string>>, f void, g date,"
        " m map<int,int>",
        contract(
            name="string",
            b="int",
            c="int",
            d=point("x"),
            e=array({**point("x"), "name": "Other"}),
            f="int",
            g=logical("long", "timestamp-micros"),
            m=mapping("int"),
        ),
    )
    assert found == [
        "`nam`: the schema has no such field (did you mean `name`?)",
        "`name`: the rows have no such field, expected string (did you mean `nam`?)",
        '`b`: is string, expected int (cast it: F.col(…).cast("int"))',
        '`c`: is bigint, expected int (cast it: F.col(…).cast("int"))',
        '`d.y`: the schema has no such field (drop the column, or set extra="drop")',
        '`e[].x`: is string, expected double (cast it: F.col(…).cast("double"))',
        "`f`: is always null, expected int",
        '`g`: is date, expected timestamp (cast it: F.col(…).cast("timestamp"))',
        '`m`: is map<int,int>, expected map<string,int> (cast it: F.col(…).cast("map<string,int>"))',
    ]


def test_columns_that_spark_cannot_tell_apart(spark: SparkSession) -> None:
    """Two columns with the same name, or names that differ only in case, are reported by name."""
    assert misfits(spark, "a int, A int, b int, b int", contract(a="int", A="int", b="int")) == [
        "`a` and `A` differ only in case (rename one of them)",
        "duplicate field `b` (rename one of them)",
    ]


def test_a_union_gets_something_else(spark: SparkSession) -> None:
    """The message lists the union's members."""
    (found,) = misfits(spark, "u double", contract(u=["int", "string"]))
    assert found.startswith("`u`: is double, expected a union (member0 int, member1 string)")


def test_names_with_points_and_back_quotes(spark: SparkSession) -> None:
    """Dropped columns may have any name."""
    rows = spark.sql("select 1 as `a`, 2 as `x.y`, 3 as `q``q`")
    assert conform(rows, contract(a="int"), extra="drop").collect()[0]["a"] == 1
