"""The source `jdbc`: rows of a table or a query by a column that grows."""

from __future__ import annotations

import importlib.util
import math
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

from blueprint.avro.model import Array, Field, Map, Primitive, Record
from blueprint.avro.spark_types import optional
from blueprint.catalog import ParameterProblem, ParameterType, SourceOption, SourceTraits
from streamlets.egress.jdbc.databases import Database, UrlError, database, listed, quoted, quoted_column
from streamlets.ingress.batch_sources.context import Eat, SourceContext
from streamlets.ingress.sources.base import OpenSource, SourceItem, SourceType, contract_of
from streamlets.ingress.sources.jdbc_sample import sample_of_rows
from streamlets.ingress.sources.records import Records
from streamlets.ingress.sources.sample import Sample
from streamlets.ingress.spouts.codecs import Row

_ROWS = 1000
"""The number of rows that are fetched at once."""


_TIMES = {"date": "DATE", "timestamp-micros": "TIMESTAMPTZ", "timestamp-millis": "TIMESTAMPTZ"}
"""The types of databases by the logical types of Avro; `TIMESTAMP` for others."""


class JdbcSource(SourceType):
    """Rows of a table of SQLite, DuckDB or PostgreSQL, by a column that grows."""

    traits: ClassVar[SourceTraits] = SourceTraits(
        name="jdbc",
        description="Rows of a table or a query of SQLite, DuckDB or PostgreSQL, by a column that grows.",
        task="a range of the column",
        identity="the remembered end of the range before",
        guarantee="exactly-once",
        order="by the column",
        options=(
            SourceOption(
                name="url",
                description="`sqlite:file`, `duckdb:file` or `postgresql://host/name`, also with `jdbc:` before it",
                required=True,
            ),
            SourceOption(name="table", description="the table, with or without `schema.`"),
            SourceOption(name="query", description="a query instead of a table; its columns have the schema's names"),
            SourceOption(name="user", description="the user, if the URL does not have one"),
            SourceOption(name="password", description="the password of the user", secret=True),
            SourceOption(
                name="column",
                description="the column whose values grow: a new row has a larger one, or with `delay` a later time",
                required=True,
                columns=True,
                column_types=("int", "bigint", "timestamp", "timestamp_ntz", "date"),
            ),
            SourceOption(
                name="delay",
                description="leave rows whose time in `column` is not this long ago to a later discovery, because "
                "transactions that have not ended may insert earlier ones",
                type=ParameterType.DURATION,
            ),
            SourceOption(
                name="rows",
                description="the number of rows of a task; more only if they have the same value",
                type=ParameterType.INTEGER,
                default="10000",
                minimum=1,
            ),
        ),
        discovery={"triggerer": "interval", "config": {"interval": "1 minute"}},
        nested=False,
        exclusive=(("table", "query"),),
    )

    def open(self, options: Mapping[str, Any], context: SourceContext) -> OpenJdbc:
        """Return the open source."""
        return OpenJdbc(options, context)

    def sample(self, options: Mapping[str, Any], context: SourceContext, count: int) -> Sample:
        """Return the first rows of the table or the query."""
        target = connected(options, context)
        return sample_of_rows(target, options.get("table"), options.get("query"), count)

    def option_problems(self, options: Mapping[str, Any]) -> Iterator[ParameterProblem]:
        """Yield why the database cannot be used."""
        if "table" not in options and "query" not in options:
            help = ("set `table`, or `query` to a statement",)
            yield ParameterProblem(("options",), "the source `jdbc` requires `table` or `query`", help)
        parts = urlsplit(str(options["url"]).removeprefix("jdbc:"))
        if parts.password is not None or "password" in parse_qs(parts.query):
            help = ("set `user`, and `password { env = NAME }`",)
            yield ParameterProblem(("options", "url"), "`url` has a password, which is not a secret there", help)
        try:
            target = database(str(options["url"]))
        except UrlError as error:
            yield ParameterProblem(("options", "url"), str(error))
            return
        if importlib.util.find_spec(target.package) is None:
            message = f"this database requires the package `{target.package}`, which is not installed"
            yield ParameterProblem(("options", "url"), message, (f"run `pip install '{target.install}'`",))


class OpenJdbc(OpenSource):
    """The open source.

    Arguments:
        options: its options.
        context: the environment.
        clock: returns the time in seconds since the epoch.
    """

    def __init__(
        self, options: Mapping[str, Any], context: SourceContext, clock: Callable[[], float] = time.time
    ) -> None:
        self._options, self._context, self._clock = options, context, clock
        self._contract = contract_of(context)
        self._database = connected(options, context)
        (field,) = (field for field in self._contract.record.fields if field.name == options["column"])
        type = self.type_of(field)
        logical = type.logical.name if isinstance(type, Primitive) and type.logical is not None else ""
        self._time = _TIMES.get(logical, "TIMESTAMP" if logical else "")
        self._delay = options["delay"].seconds if "delay" in options else None
        if self._delay is not None and not self._time:
            raise ValueError("the option `delay` requires that `column` is a column of times")
        self._column = quoted_column(options["column"])
        self._rows = f"({options['query']}) AS source" if "query" in options else quoted(options["table"])

    def discover(self, eat: Eat, event: str) -> None:
        """Pass the ranges of the column after the remembered end, each with as many rows as a task has.

        Raises:
            Exception: of the database's driver.
        """
        of, stored = [self._options.get("table"), self._options["column"]], eat.remembered
        after = stored["after"] if isinstance(stored, dict) and stored.get("of") == of else None
        with self._database.reading() as cursor:
            while True:
                upto = self._end(cursor, after)
                if upto is None:
                    return
                eat({"after": after, "upto": upto}, remember={"of": of, "after": upto})
                after = upto

    def read(self, task: Any) -> Iterator[SourceItem]:
        """Yield the rows of a range."""
        fields = self._contract.record.fields
        names = listed([field.name for field in fields])
        after, upto = task["after"], task["upto"]
        condition, values = self._between(after, upto)
        statement = f"SELECT {names} FROM {self._rows} WHERE {condition} ORDER BY {self._column}"
        source = self._options.get("table", "the query")
        place = f"{source}, {self._options['column']} {f'after {after} ' if after is not None else ''}up to {upto}"
        with self._database.reading() as cursor:
            found = rows_of(cursor, statement, values)
            plain = (
                Row({f.name: plain_value(v, f, self) for f, v in zip(fields, row, strict=True)}, f"row {number}")
                for number, row in enumerate(found, 1)
            )
            yield from Records(self._contract, place, {}).of_rows(plain)

    def type_of(self, field: Field) -> Any:
        """Return the type of a field that is not null."""
        return optional(field.schema, self._contract)[0]

    def _end(self, cursor: Any, after: Any) -> Any:
        """Return the end of the next range; None if there are no rows."""
        condition, values = self._between(after, None)
        where = f"FROM {self._rows} WHERE {condition}"
        offset = self._options["rows"] - 1
        page = f"SELECT {self._column} {where} ORDER BY {self._column} LIMIT 1 OFFSET {offset}"
        for statement in (page, f"SELECT MAX({self._column}) {where}"):
            for (value,) in rows_of(cursor, statement, values):
                if value is not None:
                    return self._position(value)
        return None

    def _position(self, value: Any) -> Any:
        """Return a value of the column as a task has it.

        Raises:
            ValueError: it cannot be the end of a range.
        """
        stored = stored_value(value)
        if isinstance(stored, bool) or not isinstance(stored, int | float | str) or stored in (math.inf, -math.inf):
            rows = f"`{self._options['table']}`" if "table" in self._options else "the query"
            column, shown = self._options["column"], f"{value!r:.60}"
            raise ValueError(
                f"the column `{column}` of {rows} has the value {shown}, which is not a number or a time that can be "
                "remembered: correct the row, or leave it out with a query"
            )
        return stored

    def _between(self, after: Any, upto: Any) -> tuple[str, list[Any]]:
        """Return the condition of a range, and the values of its placeholders; None stands for no limit."""
        conditions, values = [f"{self._column} IS NOT NULL"], []
        for operator, value in ((">", after), ("<=", upto)):
            if value is not None:
                conditions.append(f"{self._column} {operator} {self._placeholder(value)}")
                values.append(value)
        if self._delay is not None and upto is None:
            latest = datetime.fromtimestamp(self._clock() - self._delay, UTC)
            text = latest.isoformat(" ") if self._time == "TIMESTAMPTZ" else latest.replace(tzinfo=None).isoformat(" ")
            sqlite = self._database.package == "sqlite3"  # which has times as strings in several forms
            column, mark = (
                (f"julianday({self._column})", "julianday(?)") if sqlite else (self._column, self._placeholder(text))
            )
            conditions.append(f"{column} <= {mark}")
            values.append(text)
        return " AND ".join(conditions), values

    def _placeholder(self, value: Any) -> str:
        """Return the placeholder of a value of the column, which is a string if it is a time."""
        mark = self._database.mark
        cast = isinstance(value, str) and self._database.package != "sqlite3"
        return f"CAST({mark} AS {self._time})" if cast else mark


def connected(options: Mapping[str, Any], context: SourceContext) -> Database:
    """Return the database of options, with its password."""
    password = context.secret(options["password"]) if "password" in options else ""
    return database(options["url"], options.get("user", ""), password, context.directory)


def rows_of(cursor: Any, statement: str, values: list[Any]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a statement.

    Arguments:
        cursor: the cursor of a transaction.
        statement: the statement.
        values: the values of its placeholders.
    """
    cursor.execute(statement, values)
    while rows := cursor.fetchmany(_ROWS):
        yield from rows


def stored_value(value: Any) -> Any:
    """Return a value of the column as JSON has it."""
    if isinstance(value, datetime | date):
        return value.isoformat(" ") if isinstance(value, datetime) else value.isoformat()
    return int(value) if isinstance(value, Decimal) and value.is_finite() and value == int(value) else value


def plain_value(value: Any, field: Field, source: OpenJdbc) -> Any:
    """Return a value of a database as its field has it: SQLite has no truths, times and decimals of its own."""
    type = source.type_of(field)
    if isinstance(type, Record | Array | Map) or value is None:
        return value
    if isinstance(type, Primitive) and type.logical is not None and type.logical.name == "decimal":
        return Decimal(str(value)) if isinstance(value, float) else value
    if isinstance(type, Primitive) and type.type == "boolean" and isinstance(value, int):
        return bool(value)
    if isinstance(type, Primitive) and type.type in ("float", "double") and isinstance(value, Decimal):
        return float(value)
    if isinstance(type, Primitive) and type.type in ("int", "long") and isinstance(value, Decimal):
        return int(value) if value == int(value) else value
    if isinstance(type, Primitive) and type.type == "string" and not isinstance(value, str | bytes):
        return str(value)
    return value
