"""Samples of databases: the first rows of a table or a query, with the types that the database has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from streamlets.egress.jdbc.databases import Database, quoted, quoted_column
from streamlets.ingress.sources.sample import Sample, SampledRow, SampleError


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Arguments:
        name: its name.
        type: its type as the database writes it.
        nullable: whether it can be null.
    """

    name: str
    type: str
    nullable: bool


_POSTGRESQL_KEY = """
SELECT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey)
WHERE i.indrelid = to_regclass(%s) AND i.indisprimary ORDER BY array_position(i.indkey::int2[], a.attnum)
"""


def sample_of_rows(database: Database, table: str | None, query: str | None, count: int) -> Sample:
    """Return the first rows of a table or a query.

    Arguments:
        database: the database.
        table: the table, with or without its schema; None for a query.
        query: the query.
        count: the number of rows.

    Raises:
        SampleError: the database cannot be reached, or the table does not exist.
    """
    if table is None and query is None:
        raise SampleError("the source `jdbc` requires `table` or `query`")
    rows = quoted(table) if table is not None else f"({query}) AS source"
    try:
        with database.reading() as cursor:
            columns = _columns(database, cursor, table, rows)
            cursor.execute(f"SELECT * FROM {rows} LIMIT {count}")
            names = [column[0] for column in cursor.description]
            found = [dict(zip(names, row, strict=True)) for row in islice(iter(cursor.fetchone, None), count)]
            keys = primary_key(database, cursor, table) if table is not None else ()
    except database.errors as error:
        message = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise SampleError(f"the database cannot be read: {message}") from None
    known = {column.name: column for column in columns}
    types: dict[str, object] = {}
    doubts: list[tuple[str, str]] = []
    for column in columns:
        values = [row[column.name] for row in found if row[column.name] is not None]
        declared = avro_type(column.type) if database.package != "sqlite3" else _sqlite_type(column.type, values)
        if declared is None and any(isinstance(value, dict | list | bytes | memoryview) for value in values):
            doubts.append((column.name, f"it has the type `{column.type}`: a `query` can CAST it to text"))
            types[column.name] = None
        elif declared is not None:
            types[column.name] = ["null", declared] if column.nullable else declared
    sampled = [SampledRow(row, f"row {number}") for number, row in enumerate(found, 1)]
    options = {"column": keys[0]} if len(keys) == 1 and _grows(types.get(keys[0]), known[keys[0]]) else {}
    of = f"the table `{table}`" if table is not None else "the query"
    return Sample(sampled, of, (), types, doubts, options, names)


def primary_key(database: Database, cursor: Any, table: str) -> Sequence[str]:
    """Return the columns of the primary key of a table, in their order; () if it has none.

    Arguments:
        database: the database.
        cursor: the cursor of a transaction.
        table: the table, with or without its schema.
    """
    if database.package == "sqlite3":
        cursor.execute(f"PRAGMA table_info({quoted_column(table.rpartition('.')[2])})")
        return [row[1] for row in sorted(cursor.fetchall(), key=lambda row: row[5]) if row[5]]
    if database.package == "psycopg":
        cursor.execute(_POSTGRESQL_KEY, [quoted(table)])
        return [row[0] for row in cursor.fetchall()]
    cursor.execute(
        "SELECT constraint_column_names FROM duckdb_constraints() "
        "WHERE constraint_type = 'PRIMARY KEY' AND table_name = ?",
        [table.rpartition(".")[2]],
    )
    found = cursor.fetchone()
    return list(found[0]) if found else ()


def _columns(database: Database, cursor: Any, table: str | None, rows: str) -> list[Column]:
    """Return the columns as the database describes them; none of a query that it does not describe."""
    if database.package == "duckdb":
        cursor.execute(f"DESCRIBE SELECT * FROM {rows}")
        return [Column(row[0], row[1], row[2] != "NO") for row in cursor.fetchall()]
    if table is None:
        return []
    if database.package == "sqlite3":
        cursor.execute(f"PRAGMA table_info({quoted_column(table.rpartition('.')[2])})")
        return [Column(row[1], row[2], not row[3] and not row[5]) for row in cursor.fetchall()]
    cursor.execute(
        "SELECT attname, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute "
        "WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
        [quoted(table)],
    )
    return [Column(name, type, not required) for name, type, required in cursor.fetchall()]


_TYPES = {
    "boolean": "boolean",
    **dict.fromkeys(("smallint", "tinyint", "integer", "utinyint", "usmallint"), "int"),
    **dict.fromkeys(("bigint", "uinteger"), "long"),
    **dict.fromkeys(("real", "float"), "float"),
    **dict.fromkeys(("double precision", "double"), "double"),
    **dict.fromkeys(("text", "varchar", "character varying", "character", "name", "citext"), "string"),
}
_LOGICAL = {
    "date": ("int", "date"),
    "uuid": ("string", "uuid"),
    "time": ("long", "time-micros"),
    "time without time zone": ("long", "time-micros"),
    "timestamp": ("long", "local-timestamp-micros"),
    "timestamp without time zone": ("long", "local-timestamp-micros"),
    "timestamp with time zone": ("long", "timestamp-micros"),
}
_DECIMAL = re.compile(r"(?:numeric|decimal)\((\d+)(?:,\s*(\d+))?\)", re.IGNORECASE)


def avro_type(type: str) -> object | None:
    """Return a type of PostgreSQL or DuckDB as Avro in JSON; None if only the values can say it."""
    if decimal := _DECIMAL.fullmatch(type):
        precision, scale = int(decimal[1]), int(decimal[2] or 0)
        return (
            {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
            if precision <= 38
            else None
        )
    plain = re.sub(r"\(\d+\)", "", type).strip().lower()
    if plain in _LOGICAL:
        held, logical = _LOGICAL[plain]
        return {"type": held, "logicalType": logical}
    return _TYPES.get(plain)


def _sqlite_type(declared: str, values: Sequence[object]) -> object | None:
    """Return the type of a column of SQLite, whose values decide: the declared one is only a preference."""
    name = declared.lower()
    if name.startswith("bool") and all(value in (0, 1) for value in values):
        return "boolean"
    if _DECIMAL.fullmatch(declared) and all(isinstance(value, int | float) for value in values):
        return avro_type(declared)
    if not values and "int" in name:
        return "long"
    if name in ("real", "float", "double") and all(isinstance(value, int | float) for value in values):
        return "double"
    return None


def _grows(type: Any, column: Column) -> bool:
    """Return whether the values of a key may grow: it is a number."""
    return (type or column.type.lower()) in ("int", "long", "integer", "bigint", "int8")
