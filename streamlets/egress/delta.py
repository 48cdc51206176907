"""The sink `delta`: a Delta table outside of the application, which each batch changes once.

A batch is staged as Parquet files by Spark. Then `deltalake` writes them to the table in one commit, which has an
application transaction with the id of the query and the number of the batch. A batch that the table already has is not
written again. The first commit of a query has another transaction with the name of the sink, by which a query with a
new checkpoint recognizes that the table has its records already.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from blueprint.catalog import ParameterProblem, ParameterType, SinkOption, SinkTraits
from blueprint.settings.sinks import column_names
from streamlets.batches import execute, query_id
from streamlets.egress.base import SinkFiles, SinkQuery, SinkType, SinkWriter
from streamlets.egress.errors import ExistingFilesError, SinkError, TableMismatchError
from streamlets.egress.staging import (
    EXISTING,
    KEYS,
    SEQUENCE_BY,
    last_of_each_key,
    staged,
    unique,
)
from streamlets.storage.crash import crash_point

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as ds
    from deltalake import DeltaTable, Schema
    from pyspark.sql import DataFrame, SparkSession

STORAGE = "storage."
"""The beginning of the options that `deltalake` gets for an object store."""

_DECORATION = re.compile(r"\x1b\[\d*m↳?")  # of the messages of `deltalake`, which have several lines
_UNWRITABLE = re.compile(r"[\[\]^|\\]|%[0-9A-Fa-f]{2}")
"""The characters of a path that `deltalake` (1.6) cannot write to: it panics, or changes the path."""

_URL = re.compile(r"(s3a?|gs|az|azure|abfss?|adl)://[^/]+/.+")


class DeltaSink(SinkType):
    """A Delta table."""

    traits: ClassVar[SinkTraits] = SinkTraits(
        name="delta",
        description="A Delta table.",
        guarantee="exactly-once",
        options=(
            SinkOption(
                name="path",
                description="the directory of the table, relative to the file that sets the option",
                type=ParameterType.PATH,
            ),
            SinkOption(
                name="url",
                description="the URL of the table in an object store, instead of `path`, such as `s3://bucket/table`",
            ),
            EXISTING,
            KEYS,
            SEQUENCE_BY,
        ),
        output_modes=("append", "update", "complete"),
        partitioning=True,
        exclusive=(("path", "url"),),
        passes_on=(STORAGE,),
        package="deltalake",
        install="streamlets[delta]",
    )

    def option_problems(self, options: Mapping[str, object]) -> Iterator[ParameterProblem]:
        """Yield problems with the place of the table."""
        url = options.get("url")
        if url is None and "path" not in options:
            message = "the sink `delta` requires the option `path`, or `url` for a table in an object store"
            yield ParameterProblem(("options", "path"), message, ("add `options { path = ... }` next to `to`",))
        elif url is not None and not _URL.fullmatch(str(url)):
            help = "write `s3://bucket/table`, `gs://...`, `az://...` or `abfss://...`; set a directory as `path`"
            yield ParameterProblem(("options", "url"), f"`{url}` is not the URL of a table in an object store", (help,))
        elif url is None:
            if odd := _UNWRITABLE.search(str(options["path"])):
                message = f"the path of a Delta table cannot contain `{odd[0]}`: `{options['path']}`"
                yield ParameterProblem(("options", "path"), message, ("set another path",))
            for name in options:
                if name.startswith(STORAGE):
                    message = f"`{name}` is for an object store, and the table is in a directory"
                    yield ParameterProblem(("options", *name.split(".", 1)), message, ("set `url`",), "key")

    def open(self, rows: DataFrame, query: SinkQuery) -> SinkWriter:
        """Return a writer that commits each batch once."""
        batches = DeltaBatches(query)
        return SinkWriter(rows.writeStream.foreachBatch(batches), batches)

    def files(self, options: Mapping[str, object]) -> SinkFiles | None:
        """Return the files of the current version of a table in a directory."""
        return _TableFiles(Path(str(options["path"])), "parquet", {}) if "path" in options else None


@dataclass(frozen=True, slots=True)
class _TableFiles(SinkFiles):
    """The files of a Delta table, of which older versions have others in the same directory."""

    def paths(self, session: SparkSession) -> list[str]:
        """Return the paths of the files of the current version, sorted."""
        from deltalake import DeltaTable

        return sorted(DeltaTable(self.root).file_uris()) if DeltaTable.is_deltatable(str(self.root)) else []


@dataclass(slots=True)
class DeltaBatches:
    """The function of the sink's `foreachBatch`, and the record of its batches.

    Arguments:
        query: the query and its options.
    """

    query: SinkQuery
    _claimed: str = field(default="", init=False)

    def __call__(self, rows: DataFrame, batch: int) -> None:
        """Write a batch in one commit, unless the table has it.

        Raises:
            SinkError: the table cannot be read or written, or the directory has other files; nothing was written.
            ExistingFilesError: the sink wrote to the table with an earlier checkpoint.
            TableMismatchError: the table has other columns than the records.
            KeysError: records of the batch have the same keys, and nothing orders them.
        """
        id = query_id(rows)
        if self._claimed != id:
            with self._failing("read"):
                self._claim(id)
        if self.may_have_written(id, batch):
            execute(rows)
        else:
            with self._failing("write to"):
                self._write(rows, id, batch)
        crash_point("before-spark-commit")

    @contextmanager
    def _failing(self, verb: str) -> Iterator[None]:
        """Raise a `SinkError` with the table for an error of the file system or of `deltalake`."""
        from deltalake.exceptions import DeltaError

        try:
            yield
        except (OSError, DeltaError) as error:
            reason = " ".join(_DECORATION.sub("", str(error)).split())
            raise SinkError(
                f"{self.query.name}: cannot {verb} the table `{self.location}`: {reason}; no data was written"
            ) from error

    @property
    def location(self) -> str:
        """The directory or the URL of the table."""
        return str(self.query.options.get("url") or self.query.options["path"])

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that identify a row; () if records are appended."""
        return column_names(self.query.options.get("keys"))

    def may_have_written(self, id: str, batch: int) -> bool:
        """Return whether the table has a batch or a later one.

        Raises:
            SinkError: it cannot be read.
        """
        with self._failing("read"):
            table = self._table()
            return table is not None and _has_batch(table, id, batch)

    @property
    def _storage(self) -> dict[str, str]:
        options = self.query.options
        return {name.removeprefix(STORAGE): str(options[name]) for name in options if name.startswith(STORAGE)}

    def _table(self) -> DeltaTable | None:
        from deltalake import DeltaTable
        from deltalake.exceptions import TableNotFoundError

        try:  # `is_deltatable` would stop all threads while it waits for an object store
            return DeltaTable(self.location, storage_options=self._storage)
        except TableNotFoundError:
            return None

    def _claim(self, id: str) -> None:
        """Check that the table may be written.

        Refuse to append again what an earlier checkpoint appended. A merge and a complete result replace it.
        """
        table = self._table()
        if table is None:
            directory = Path(self.location)  # which a URL never is
            if directory.is_dir() and any(directory.iterdir()):
                message = f"`{directory}` has files, but is not a Delta table; set another `path`"
                raise SinkError(f"{self.query.name}: {message}")
        elif table.transaction_version(_writer_id(id)) is None and table.transaction_version(self._sink_id) is not None:
            replaces = bool(self.keys) or self.query.output_mode == "complete"
            if not replaces and self.query.options["existing"] == "fail":
                raise ExistingFilesError(
                    f"{self.query.name}: a sink of this name wrote to the table `{self.location}` with an earlier "
                    "checkpoint, or in another application, so records would be duplicated; set `options.existing` to "
                    "`append`, or set another table"
                )
        self._claimed = id

    @property
    def _sink_id(self) -> str:
        return f"streamlets.sink.{self.query.name}"

    def _write(self, rows: DataFrame, id: str, batch: int) -> None:
        latest = last_of_each_key(rows, self.keys, self._sequence)
        with staged(latest, self.query.staging(id)) as records:
            count = records.count_rows()
            if count or self.query.output_mode == "complete":
                self.commit(records, id, batch)
            crash_point("after-topic-commit")
        self.query.written(batch, count)

    def commit(self, records: ds.Dataset, id: str, batch: int) -> None:
        """Write records to the table in one commit, which fails if another process commits the same batch meanwhile.

        Arguments:
            records: the records of the batch.
            id: the id of the query.
            batch: the number of the batch.

        Raises:
            TableMismatchError: as for a call.
            KeysError: as for a call.
        """
        from deltalake import CommitProperties, Transaction, write_deltalake

        table = self._table() or self._create(records.schema)
        if _has_batch(table, id, batch):
            return
        self._check_columns(records.schema, table)
        transactions = [Transaction(_writer_id(id), batch)]
        if table.transaction_version(_writer_id(id)) is None:
            transactions.append(Transaction(self._sink_id, 0))
        commit = CommitProperties(app_transactions=transactions)
        if self.keys and not self._sequence:
            records = unique(self.query.name, records, self.keys)
        reader = records.scanner().to_reader()
        if not self.keys:
            mode: Literal["append", "overwrite"] = "overwrite" if self.query.output_mode == "complete" else "append"
            write_deltalake(table, reader, mode=mode, commit_properties=commit)
            return
        same = " AND ".join(f"(new.`{key}` IS NOT DISTINCT FROM old.`{key}`)" for key in self.keys)
        merge = table.merge(reader, same, source_alias="new", target_alias="old", commit_properties=commit)
        order = self._sequence
        newer = f"old.`{order}` IS NULL OR new.`{order}` >= old.`{order}`" if order else None
        merge.when_matched_update_all(predicate=newer).when_not_matched_insert_all().execute()

    def _create(self, schema: pa.Schema) -> DeltaTable:
        """Create the table. All its columns are nullable, so that the schema of the records can become so."""
        import pyarrow as pa
        from deltalake import DeltaTable

        nullable = pa.schema([field.with_nullable(True) for field in schema])
        return DeltaTable.create(
            self.location, nullable, mode="ignore", partition_by=list(self.query.partition_by),
            storage_options=self._storage,
        )  # fmt: skip

    def _check_columns(self, schema: pa.Schema, table: DeltaTable) -> None:
        """Check the columns and partitions of the table, because a merge ignores columns that it does not have."""
        from deltalake import Schema

        ours, theirs = _types(Schema.from_arrow(schema)), _types(table.schema())
        problems = [f"has no column `{name}`" for name in ours if name not in theirs]
        problems += [f"has the column `{name}`, and the records do not" for name in theirs if name not in ours]
        problems += [
            f"has another type for `{name}`: {theirs[name]}, and the records have {ours[name]}"
            for name in ours
            if name in theirs and theirs[name] != ours[name]
        ]
        partitions = tuple(table.metadata().partition_columns)
        if partitions != self.query.partition_by:
            problems.append(f"is partitioned by {list(partitions)}, and the sink by {list(self.query.partition_by)}")
        if problems:
            raise TableMismatchError(f"{self.query.name}: the table `{self.location}` {'; it '.join(problems)}")

    @property
    def _sequence(self) -> str:
        return str(self.query.options.get("sequence-by", ""))


def _types(schema: Schema) -> dict[str, str]:
    """Return the types of columns as JSON, without nullability, which a commit checks for each value."""
    return {field.name: json.dumps(_plain(json.loads(field.type.to_json()))) for field in schema.fields}


def _plain(type: Any) -> Any:
    if isinstance(type, list):
        return [_plain(item) for item in type]
    if isinstance(type, dict):
        ignored = ("nullable", "containsNull", "valueContainsNull", "metadata")
        return {key: _plain(value) for key, value in type.items() if key not in ignored}
    return type


def _has_batch(table: DeltaTable, id: str, batch: int) -> bool:
    last = table.transaction_version(_writer_id(id))
    return last is not None and last >= batch


def _writer_id(query: str) -> str:
    return f"streamlets.{query}"
