"""`docs/avro-types.md`, made from the tables that the code itself goes by."""

from __future__ import annotations

from dataclasses import dataclass

from blueprint.avro import dataclass_schema
from blueprint.avro.spark_problems import MAX_PRECISION
from blueprint.avro.spark_types import LEAVES, NESTED

HINTS_TABLE = [line for line in (dataclass_schema.__doc__ or "").splitlines() if line.startswith("|")]


@dataclass(frozen=True, slots=True)
class _Row:
    """A line of the page: three cells."""

    avro: str
    spark: str
    note: str


def types_page() -> str:
    """`docs/avro-types.md`, made from the table."""
    leaves = [
        _Row(f"{kind} ({logical})" if logical else kind, spark, note)
        for (kind, logical), (spark, note) in LEAVES.items()
    ]
    rows = [*leaves, *(_Row(*one) for one in NESTED)]
    table = [f"| `{row.avro}` | `{row.spark}` | {row.note} |" for row in rows]
    lines = ["# Avro types in Spark", "", *_BEFORE, "| Avro | Spark | |", "| --- | --- | --- |", *table, "", *_AFTER]
    return "\n".join(lines) + "\n"


_BEFORE = (
    "<!-- Made by `python -m blueprint.avro.types_page > docs/avro-types.md`; a test holds both to the same. -->",
    "",
    "A port's records are described by an Avro schema and handled as Spark columns. The conversion is spark-avro's",
    "own, with one rule beside it: where Spark's type stands behind a switch that is off by default, the column holds",
    "the plain Avro number. A logical type stands in parentheses.",
    "",
)

_AFTER = (
    "## What Spark cannot carry",
    "",
    "Each is a finding (`schema-unsupported-by-spark`) at the field:",
    "",
    "* a record that holds itself, directly or through others: Spark has no recursive types;",
    f"* a decimal of more than {MAX_PRECISION} digits;",
    "* a record without fields, and a union of null alone: Parquet stores no empty struct;",
    "* two fields of a record that differ only in upper and lower case;",
    "* `[int, long]` or `[float, double]` where one has a logical type: both become one number, and nothing tells the",
    "  two meanings apart.",
    "",
    "## Schemas that are not written as Avro",
    "",
    "A port's schema may also be a dataclass, by its type hints and defaults:",
    "",
    *HINTS_TABLE,
    "",
    "or Spark DDL text such as `src string, ts timestamp NOT NULL`. In DDL a column may be null unless it says NOT",
    "NULL, and becomes a union with null and the default null; items of arrays and values of maps may always be",
    "null. A record from DDL has no name and matches a record of any name.",
)

if __name__ == "__main__":
    import sys

    sys.stdout.write(types_page())
