"""The sink `iceberg`: an Iceberg table, to which each batch is appended once.

A batch is staged as Parquet files by Spark. Then `pyiceberg` appends them in one commit, which also sets a property of
the table: the number of the batch, by the id of the query. A batch that the table already has is not appended again.
The snapshot has the id and the number, too; but snapshots expire, and properties do not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from blueprint.catalog import ParameterProblem, SinkOption, SinkTraits
from streamlets.batches import execute, query_id
from streamlets.egress.base import SinkQuery, SinkType, SinkWriter
from streamlets.egress.errors import ExistingFilesError, SinkError, TableMismatchError
from streamlets.egress.staging import EXISTING, staged
from streamlets.storage.crash import crash_point

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as ds
    from pyspark.sql import DataFrame

CATALOG = "catalog."
"""The beginning of the options that are properties of the catalog."""

_PROPERTY = "streamlets.query."
_ATTEMPTS = 5
"""How often a batch is appended if other writers commit at the same time."""


class IcebergSink(SinkType):
    """An Iceberg table."""

    traits: ClassVar[SinkTraits] = SinkTraits(
        name="iceberg",
        description="An Iceberg table.",
        guarantee="exactly-once",
        options=(
            SinkOption(name="table", description="the table, as `namespace.table`", required=True),
            SinkOption(name="catalog.name", description="the name of the catalog", default="default"),
            EXISTING,
        ),
        output_modes=("append",),
        partitioning=True,
        passes_on=(CATALOG,),
        package="pyiceberg",
        install="streamlets[iceberg]",
    )

    def option_problems(self, options: Mapping[str, object]) -> Iterator[ParameterProblem]:
        """Yield why the table cannot have its name."""
        if not all(str(options["table"]).split(".")) or "." not in str(options["table"]):
            message = f"`table` must have a namespace and a name, found `{options['table']}`"
            yield ParameterProblem(("options", "table"), message, ("write `namespace.table`",))

    def open(self, rows: DataFrame, query: SinkQuery) -> SinkWriter:
        """Return a writer that appends each batch once."""
        batches = IcebergBatches(query)
        return SinkWriter(rows.writeStream.foreachBatch(batches), batches)


@dataclass(slots=True)
class IcebergBatches:
    """The function of the sink's `foreachBatch`, and the record of its batches.

    Arguments:
        query: the query and its options.
    """

    query: SinkQuery
    _opened: Any = field(default=None, init=False)

    def __call__(self, rows: DataFrame, batch: int) -> None:
        """Append a batch in one commit, unless the table has it.

        Raises:
            SinkError: other writers committed at the same time as each attempt; nothing was written.
            ExistingFilesError: the sink wrote to the table with an earlier checkpoint.
            TableMismatchError: the table has other columns than the records.
        """
        id = query_id(rows)
        if self.may_have_written(id, batch):
            execute(rows)
        else:
            with staged(rows, self.query.staging(id)) as records:
                self.commit(records, id, batch)
                crash_point("after-topic-commit")
                self.query.written(batch, records.count_rows())
        crash_point("before-spark-commit")

    def may_have_written(self, id: str, batch: int) -> bool:
        """Return whether the table has a batch or a later one."""
        table = self._table()
        return table is not None and _last_batch(table, id) >= batch

    def commit(self, records: ds.Dataset, id: str, batch: int) -> None:
        """Append records in one commit, unless the table has the batch.

        Arguments:
            records: the records of the batch.
            id: the id of the query.
            batch: the number of the batch.

        Raises:
            SinkError, ExistingFilesError, TableMismatchError: as for a call.
        """
        from pyiceberg.exceptions import CommitFailedException

        if not records.count_rows():
            return
        for _ in range(_ATTEMPTS):
            table = self._table() or self._create(records.schema)
            if _last_batch(table, id) >= batch:
                return
            self._check_earlier(table, id)
            self._check_columns(records.schema, table)
            try:
                self._append(table, records, id, batch)
            except CommitFailedException:  # another writer was faster
                continue
            return
        raise SinkError(
            f"{self.query.name}: other writers changed the table `{self._name}` during {_ATTEMPTS} attempts to append "
            "to it; no data of this batch was written"
        )

    @property
    def _name(self) -> str:
        return str(self.query.options["table"])

    @property
    def _catalog(self) -> Any:
        """The catalog, opened once: some keep connections."""
        if self._opened is None:
            from pyiceberg.catalog import load_catalog

            options = self.query.options.items()
            properties = {name.removeprefix(CATALOG): str(v) for name, v in options if name.startswith(CATALOG)}
            self._opened = load_catalog(properties.pop("name"), **properties)
        return self._opened

    def _table(self) -> Any:
        """Return the current version of the table; None if it does not exist."""
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        try:
            return self._catalog.load_table(self._name)
        except (NoSuchTableError, NoSuchNamespaceError):
            return None

    def _create(self, schema: pa.Schema) -> Any:
        """Create the table. All its columns are optional, so that the schema of the records can become so."""
        import pyarrow as pa

        self._catalog.create_namespace_if_not_exists(self._name.rpartition(".")[0])
        columns = pa.schema([column.with_nullable(True) for column in schema])
        created = self._catalog.create_table_if_not_exists(self._name, columns)
        if self.query.partition_by and not created.spec().fields and created.current_snapshot() is None:
            with created.update_spec() as spec:
                for name in self.query.partition_by:
                    spec.add_identity(name)
        return self._table()

    def _append(self, table: Any, records: ds.Dataset, id: str, batch: int) -> None:
        """Append records, and record the batch, in one commit."""
        written = {"streamlets.query": id, "streamlets.batch": str(batch)}
        noted = json.dumps({"batch": batch, "sink": self.query.name, "application": self.query.application})
        # A retry of pyiceberg would append the batch to a newer version of the table, which may already have it.
        table.properties["commit.retry.num-retries"] = "0"  # of this object, not of the stored table
        partitioned = bool(table.spec().fields)  # pyiceberg divides only a table in memory into partitions
        with table.transaction() as transaction:
            data = records.to_table() if partitioned else records.scanner().to_reader()
            transaction.append(data, snapshot_properties=written)
            transaction.set_properties({f"{_PROPERTY}{id}": noted})

    def _check_earlier(self, table: Any, id: str) -> None:
        """Refuse to append again what an earlier checkpoint appended."""
        if f"{_PROPERTY}{id}" in table.properties or self.query.options["existing"] == "append":
            return
        for earlier in _queries(table):
            if earlier["sink"] == self.query.name:
                owner = earlier["application"]
                other = owner != self.query.application
                by = f" in another application (its state directory: `{owner}`)" if other else ""
                raise ExistingFilesError(
                    f"{self.query.name}: this sink wrote to the table `{self._name}` with an earlier checkpoint{by}, "
                    "so records would be duplicated; set `options.existing` to `append`, or set another `table`"
                )

    def _check_columns(self, schema: pa.Schema, table: Any) -> None:
        """Check the columns and partitions of the table, because an append omits columns that it does not have."""
        columns = table.schema().as_arrow()
        problems = [f"has no column `{name}`" for name in schema.names if name not in columns.names]
        problems += [
            f"has the column `{name}`, and the records do not" for name in columns.names if name not in schema.names
        ]
        for name in schema.names:
            ours, theirs = _plain(schema.field(name).type), _plain(columns.field(name).type) if not problems else None
            if theirs is not None and ours != theirs:
                problems.append(f"has another type for `{name}`: {theirs}, and the records have {ours}")
        names = {column.field_id: column.name for column in table.schema().fields}
        parts = tuple(f"{names.get(part.source_id)}" for part in table.spec().fields)
        if parts != self.query.partition_by:
            problems.append(f"is partitioned by {list(parts)}, and the sink by {list(self.query.partition_by)}")
        if problems:
            raise TableMismatchError(f"{self.query.name}: the table `{self._name}` {'; it '.join(problems)}")


def _queries(table: Any) -> Iterator[Mapping[str, Any]]:
    for name, value in table.properties.items():
        if name.startswith(_PROPERTY):
            yield json.loads(value)


def _last_batch(table: Any, id: str) -> int:
    """Return the number of the last batch of a query that the table has, -1 for none."""
    noted = table.properties.get(f"{_PROPERTY}{id}")
    return int(json.loads(noted)["batch"]) if noted is not None else -1


def _plain(type: pa.DataType) -> str:
    """Return a type without differences that have no meaning in an Iceberg table.

    These are the width of offsets and of small integers, nullability inside, and names that each library gives the
    parts of lists and maps.
    """
    import pyarrow as pa

    if pa.types.is_map(type):
        return f"map<{_plain(type.key_type)}, {_plain(type.item_type)}>"
    if pa.types.is_list(type) or pa.types.is_large_list(type):
        return f"list<{_plain(type.value_type)}>"
    if pa.types.is_struct(type):
        return f"struct<{', '.join(f'{part.name}: {_plain(part.type)}' for part in type)}>"
    if pa.types.is_integer(type) and type.bit_width < 32:
        return "int32"
    return str(type).removeprefix("large_")
