"""The registration of the sink `jdbc`."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar

from blueprint.catalog import ParameterProblem, SinkOption, SinkTraits
from streamlets.egress.base import SinkQuery, SinkType, SinkWriter
from streamlets.egress.jdbc.databases import UrlError, database
from streamlets.egress.staging import EXISTING, KEYS, SEQUENCE_BY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class JdbcSink(SinkType):
    """A table of SQLite, DuckDB or PostgreSQL."""

    traits: ClassVar[SinkTraits] = SinkTraits(
        name="jdbc",
        description="A table of SQLite, DuckDB or PostgreSQL.",
        guarantee="exactly-once",
        options=(
            SinkOption(
                name="url",
                description="`sqlite:file`, `duckdb:file` or `postgresql://host/name`, also with `jdbc:` before it",
                required=True,
            ),
            SinkOption(name="table", description="the table, with or without `schema.`", required=True),
            SinkOption(name="user", description="the user, if the URL does not have one"),
            SinkOption(name="password", description="the password, if the URL does not have one"),
            EXISTING,
            KEYS,
            SEQUENCE_BY,
            SinkOption(
                name="delete-when",
                description="a condition in Spark SQL; a record for which it is true deletes the row",
                needs="keys",
                output_modes=("append", "update"),
            ),
        ),
        output_modes=("append", "update", "complete"),
        nested=False,
        refused_types=("interval", "variant", "void"),
    )

    def option_problems(self, options: Mapping[str, object]) -> Iterator[ParameterProblem]:
        """Yield why the database cannot be used."""
        try:
            target = database(str(options["url"]))
        except UrlError as error:
            yield ParameterProblem(("options", "url"), str(error))
            return
        if importlib.util.find_spec(target.package) is None:
            message = f"this database requires the package `{target.package}`, which is not installed"
            yield ParameterProblem(("options", "url"), message, (f"run `pip install '{target.install}'`",))

    def open(self, rows: DataFrame, query: SinkQuery) -> SinkWriter:
        """Return a writer that changes the table in one transaction per batch."""
        from pyspark.sql import functions as F

        from streamlets.egress.jdbc.batches import DELETED, JdbcBatches

        url, user, password = (str(query.options.get(name, "")) for name in ("url", "user", "password"))
        batches = JdbcBatches(query, database(url, user, password, query.directory))
        if "delete-when" in query.options:
            deleted = F.expr(str(query.options["delete-when"])).cast("boolean")
            rows = rows.withColumn(DELETED, F.coalesce(deleted, F.lit(False)))
        return SinkWriter(rows.writeStream.foreachBatch(batches), batches)
