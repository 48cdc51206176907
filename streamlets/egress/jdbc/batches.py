"""The batches of the sink `jdbc`: rows to a temporary table, then target and batch number in one transaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from zlib import crc32

from blueprint.settings.sinks import column_names
from streamlets.batches import execute, query_id
from streamlets.egress.base import SinkQuery
from streamlets.egress.errors import ExistingFilesError, KeysError, RefusedBatchError, SinkError, TableMismatchError
from streamlets.egress.jdbc.databases import Database, listed, quoted, quoted_column
from streamlets.egress.staging import last_of_each_key, staged, unique
from streamlets.storage.crash import crash_point

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as ds
    from pyspark.sql import DataFrame

DELETED = "_streamlets_deleted"
"""The column of the staged records that is true if the row with their keys is deleted."""

LOG = "streamlets_batches"
"""The table with the last batch of each query, in the same database."""

_STAGED = "streamlets_batch"
_DELETIONS = "_streamlets_deleted"
_LONGEST_NAME = 40


@dataclass(frozen=True, slots=True)
class JdbcBatches:
    """The function of the sink's `foreachBatch`, and the record of its batches.

    Arguments:
        query: the query and its options.
        database: the database.
    """

    query: SinkQuery
    database: Database

    def __call__(self, rows: DataFrame, batch: int) -> None:
        """Write a batch in one transaction, unless the database has it.

        Raises:
            SinkError: the database does not accept the batch now; nothing was written.
            RefusedBatchError: it refuses the records, or the table does not fit them.
            TableMismatchError: the table lacks columns of the records.
            ExistingFilesError: the sink wrote to the table with an earlier checkpoint.
            KeysError: records have null as a key, or have the same keys and nothing orders them.
        """
        id = query_id(rows)
        if self.may_have_written(id, batch):
            execute(rows)
        else:
            latest = last_of_each_key(rows, self._keys, self._sequence)
            with staged(latest, self.query.staging(id)) as records:
                self.commit(records, id, batch)
                crash_point("after-topic-commit")
                self.query.written(batch, records.count_rows())
        crash_point("before-spark-commit")

    def may_have_written(self, id: str, batch: int) -> bool:
        """Return whether the database has a batch or a later one.

        Raises:
            SinkError: it cannot be asked.
        """
        mark = self.database.mark
        with self._transaction() as cursor:
            self._create_log(cursor)
            cursor.execute(f"SELECT 1 FROM {LOG} WHERE query = {mark} AND batch >= {mark}", (id, batch))
            return cursor.fetchone() is not None

    def commit(self, records: ds.Dataset, id: str, batch: int) -> None:
        """Write records in one transaction, unless the database has the batch.

        Arguments:
            records: the records of the batch, with the column `DELETED` if the sink deletes rows.
            id: the id of the query.
            batch: the number of the batch.

        Raises:
            SinkError, RefusedBatchError, TableMismatchError, ExistingFilesError, KeysError: as for a call.
        """
        self._check_keys(records)
        if self._keys and not self._sequence:
            records = unique(self.query.name, records, self._keys)
        with self._transaction() as cursor:
            self._create_log(cursor)
            if self._takes(cursor, id, batch):
                self._change(cursor, records)
                crash_point("after-manifest")

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        try:
            with self.database.transaction() as cursor:
                yield cursor
        except (OSError, self.database.errors) as error:
            reason = str(error).strip().partition("\n")[0]
            kind = RefusedBatchError if self.database.is_lasting(error) else SinkError
            place = f" in `{self.database.place}`" if self.database.place else ""
            raise kind(
                f"{self.query.name}: cannot write to the table `{self._table}`{place}: {reason}; no data of this batch "
                "was written"
            ) from error

    @property
    def _table(self) -> str:
        return str(self.query.options["table"])

    @property
    def _keys(self) -> tuple[str, ...]:
        return column_names(self.query.options.get("keys"))

    @property
    def _sequence(self) -> str:
        return str(self.query.options.get("sequence-by", ""))

    def _create_log(self, cursor: Any) -> None:
        columns = "query TEXT PRIMARY KEY, sink TEXT, target TEXT, application TEXT, batch BIGINT"
        cursor.execute(f"CREATE TABLE IF NOT EXISTS {LOG} ({columns})")

    def _takes(self, cursor: Any, id: str, batch: int) -> bool:
        """Record the batch, and return whether it was not recorded before.

        The row of the query stays locked until the transaction ends, so of two processes only one writes the batch.
        """
        mark, name = self.database.mark, self.query.name
        cursor.execute(f"SELECT 1 FROM {LOG} WHERE query = {mark}", (id,))
        if cursor.fetchone() is None:
            self._check_earlier(cursor)
            values = (id, name, self._table, self.query.application, -1)
            marks = ", ".join([mark] * len(values))
            cursor.execute(f"INSERT INTO {LOG} VALUES ({marks}) ON CONFLICT DO NOTHING", values)
        cursor.execute(
            f"UPDATE {LOG} SET batch = {mark} WHERE query = {mark} AND batch < {mark} RETURNING batch",
            (batch, id, batch),
        )
        return cursor.fetchone() is not None

    def _check_earlier(self, cursor: Any) -> None:
        """Refuse to append again what an earlier checkpoint appended; other changes replace their rows."""
        replaces = bool(self._keys) or self.query.output_mode == "complete"
        if replaces or self.query.options["existing"] == "append":
            return
        mark = self.database.mark
        cursor.execute(
            f"SELECT application FROM {LOG} WHERE sink = {mark} AND target = {mark}", (self.query.name, self._table)
        )
        earlier = cursor.fetchone()
        if earlier is not None:
            other = earlier[0] != self.query.application
            by = f" in another application (its state directory: `{earlier[0]}`)" if other else ""
            raise ExistingFilesError(
                f"{self.query.name}: this sink wrote to the table `{self._table}` with an earlier checkpoint{by}, so "
                "records would be duplicated; set `options.existing` to `append`, or set another `table`"
            )

    def _check_keys(self, records: ds.Dataset) -> None:
        import pyarrow.dataset as ds

        for key in self._keys:
            if records.count_rows(filter=ds.field(key).is_null()):
                raise KeysError(f"{self.query.name}: the key `{key}` is null in records of the batch")

    def _change(self, cursor: Any, records: ds.Dataset) -> None:
        """Change the table in the running transaction."""
        table, columns = quoted(self._table), [name for name in records.schema.names if name != DELETED]
        keys = f", PRIMARY KEY ({listed(self._keys)})" if self._keys else ""
        cursor.execute(f"CREATE TABLE IF NOT EXISTS {table} ({self._definition(records.schema, columns)}{keys})")
        self._check_columns(cursor, columns)
        if self._keys:
            self._merge(cursor, table, columns, records)
            return
        if self.query.output_mode == "complete":
            cursor.execute(f"DELETE FROM {table}")
        self.database.load(cursor, f"{table} ({listed(columns)})", records)

    def _check_columns(self, cursor: Any, columns: list[str]) -> None:
        cursor.execute(f"SELECT * FROM {quoted(self._table)} WHERE 1 = 0")
        theirs = [str(column[0]) for column in cursor.description]
        missing = [c for c in columns if not any(self.database.same_column(c, other) for other in theirs)]
        if missing:
            names = ", ".join(f"`{name}`" for name in missing)
            raise TableMismatchError(
                f"{self.query.name}: the table `{self._table}` has no column {names}; add it to the table, or "
                "remove it from the records"
            )

    def _merge(self, cursor: Any, table: str, columns: list[str], records: ds.Dataset) -> None:
        """Replace and delete the rows that have the keys of records, and insert the others."""
        names, staged_columns = listed(columns), records.schema.names
        cursor.execute(f"CREATE TEMPORARY TABLE {_STAGED} ({self._definition(records.schema, staged_columns)})")
        self.database.load(cursor, f"{_STAGED} ({listed(staged_columns)})", records)
        kept = "1 = 1"  # SQLite needs a condition before ON CONFLICT
        if "delete-when" in self.query.options:
            kept = f"NOT {DELETED}"
            if self._sequence:
                self._drop_older_than_deletion(cursor, records.schema)
            newer = f" AND ({self._newer('new', 'old')})" if self._sequence else ""
            cursor.execute(
                f"DELETE FROM {table} AS old WHERE EXISTS "
                f"(SELECT 1 FROM {_STAGED} AS new WHERE new.{DELETED} AND {self._same}{newer})"
            )
        insert = f"INSERT INTO {table} AS old ({names}) SELECT {names} FROM {_STAGED} WHERE {kept}"
        cursor.execute(insert + self._on_conflict(columns))
        if "delete-when" in self.query.options and self._sequence:
            self._note_deletions(cursor, table)
        cursor.execute(f"DROP TABLE {_STAGED}")

    def _drop_older_than_deletion(self, cursor: Any, schema: pa.Schema) -> None:
        """Drop the staged records that are older than the deletion of their row, which they would insert again."""
        columns = [*self._keys, self._sequence]
        cursor.execute(
            f"CREATE TABLE IF NOT EXISTS {self._deletions} "
            f"({self._definition(schema, columns)}, PRIMARY KEY ({listed(self._keys)}))"
        )
        order = quoted_column(self._sequence)
        cursor.execute(
            f"DELETE FROM {_STAGED} AS new WHERE EXISTS (SELECT 1 FROM {self._deletions} AS old WHERE {self._same} "
            f"AND (new.{order} IS NULL OR new.{order} < old.{order}))"
        )

    def _note_deletions(self, cursor: Any, table: str) -> None:
        """Record when the rows that no longer exist were deleted, and forget the rows that exist again.

        An existing row needs no such record: it has its own value of `sequence-by`.
        """
        columns, order = listed((*self._keys, self._sequence)), quoted_column(self._sequence)
        exists = f"EXISTS (SELECT 1 FROM {table} AS old WHERE {self._same})"
        cursor.execute(
            f"INSERT INTO {self._deletions} ({columns}) SELECT {columns} FROM {_STAGED} AS new "
            f"WHERE {DELETED} AND {order} IS NOT NULL AND NOT {exists} "
            f"ON CONFLICT ({listed(self._keys)}) DO UPDATE SET {order} = excluded.{order}"
        )
        same = " AND ".join(f"new.{key} = gone.{key}" for key in map(quoted_column, self._keys))
        cursor.execute(
            f"DELETE FROM {self._deletions} AS gone WHERE EXISTS "
            f"(SELECT 1 FROM {_STAGED} AS new WHERE NOT new.{DELETED} AND {same})"
        )

    @property
    def _deletions(self) -> str:
        """The table of the keys of deleted rows, next to the target, as SQL."""
        schema, dot, name = self._table.rpartition(".")
        # A database cuts a name that is too long, and could then name another table.
        short = name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 9]}_{crc32(name.encode()):08x}"
        return quoted(f"{schema}{dot}{short}{_DELETIONS}")

    @property
    def _same(self) -> str:
        return " AND ".join(f"new.{key} = old.{key}" for key in map(quoted_column, self._keys))

    def _on_conflict(self, columns: list[str]) -> str:
        values = [quoted_column(name) for name in columns if name not in self._keys]
        if not values:
            return f" ON CONFLICT ({listed(self._keys)}) DO NOTHING"
        changes = ", ".join(f"{name} = excluded.{name}" for name in values)
        newer = f" WHERE {self._newer('excluded', 'old')}" if self._sequence else ""
        return f" ON CONFLICT ({listed(self._keys)}) DO UPDATE SET {changes}{newer}"

    def _newer(self, new: str, old: str) -> str:
        order = quoted_column(self._sequence)
        return f"{old}.{order} IS NULL OR {new}.{order} >= {old}.{order}"

    def _definition(self, schema: pa.Schema, columns: list[str]) -> str:
        return ", ".join(
            f"{quoted_column(name)} {self.database.column_type(schema.field(name).type)}" for name in columns
        )
