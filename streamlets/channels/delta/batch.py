"""Writing the batches of a query: rows to files, files to a manifest, the manifest to one commit per topic.

Each step is idempotent, so a kill between any two of them leads to the same topics. All published rows of a batch come
from one execution, so rows of a non-deterministic query are neither lost nor duplicated.
"""

from __future__ import annotations

import shutil
import time
import uuid
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from streamlets.batches import execute, query_id
from streamlets.channels.base import Branch, TopicQuery, TopicWriteError
from streamlets.channels.conformity import broken_rows_error, outlet_conformance, with_reasons
from streamlets.channels.dead_letters import dead_letter_columns, dead_letter_contract
from streamlets.channels.delta.actions import DataFile, Txn
from streamlets.channels.delta.conformity import Place, write_both, write_valid
from streamlets.channels.delta.files import write_files
from streamlets.channels.delta.log import topic_id
from streamlets.channels.delta.manifest import STAGED, Manifest, Manifests, writer_id
from streamlets.channels.delta.table import Table, open_table
from streamlets.channels.delta.table_directory import create_table, table_name
from streamlets.shared_rows import shared_rows
from streamlets.storage.crash import crash_point

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from blueprint.avro.model import Contract
    from blueprint.plan import OutletPlan
    from streamlets.contract.conform import Conformance


@dataclass(slots=True)
class _Outcome:
    """What an attempt has written of a batch so far."""

    tables: dict[str, tuple[DataFile, ...]] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    dead_letters: int = 0
    directories: list[Path] = field(default_factory=list)
    executions: int = 1

    def add(self, table: str, files: tuple[DataFile, ...]) -> int:
        if files:
            self.tables[table] = self.tables.get(table, ()) + files
        return sum(file.records for file in files)


@dataclass(slots=True)
class BatchWriter:
    """The function of a query's `foreachBatch`.

    Arguments:
        root: the directory of the channel.
        branches: the outlets.
        dead_letters: the directory of the topic for rows that break a contract; None without one.
        query: the query.
        clock: returns the time in seconds since the epoch.
    """

    root: Path
    branches: tuple[Branch[Path], ...]
    dead_letters: Path | None
    query: TopicQuery
    clock: Callable[[], float]
    _tables: dict[str, Table] = field(default_factory=dict)
    _fits: dict[int, Conformance] = field(default_factory=dict)
    _broken: set[str] = field(default_factory=set)
    _id: str = ""

    def __call__(self, rows: DataFrame, batch: int) -> None:
        """Write a batch to its topics.

        If an earlier attempt has decided the content of the batch, the batch is executed only to update Spark's state.

        Raises:
            BrokenRowsError: rows break the contract of an outlet that does not allow it.
            TopicLostError: a topic no longer exists.
            TopicWriteError: the file system does not accept the data; no data of the batch was published.
        """
        try:
            self._write_batch(rows, batch)
        except OSError as error:
            raise TopicWriteError(
                f"{self.query.streamlet}.{self.query.name}: {error}; no data of this batch was published"
            ) from None

    def _write_batch(self, rows: DataFrame, batch: int) -> None:
        self._begin(rows)
        manifests = Manifests(self.root / STAGED / self._id)
        manifests.forget_before(batch)
        earlier, executions = manifests.find(batch), 1
        if earlier is None:
            outcome = self._write(rows, batch)
            executed, executions = time.monotonic(), outcome.executions
            manifest = Manifest(outcome.tables, outcome.rows, outcome.dead_letters)
            crash_point("after-data-files")
            decided = manifests.decide(batch, manifest) if manifest.tables else manifest
            crash_point("after-manifest")
        else:
            execute(rows)
            executed, decided = time.monotonic(), earlier
        for name, files in sorted(decided.tables.items()):
            self._table(name).append(files, Txn(self._id, batch), self.clock)
            crash_point("after-topic-commit")
        self.query.written(
            batch, decided.rows, decided.dead_letters, replayed=earlier is not None, executions=executions,
            publishing=time.monotonic() - executed,
        )  # fmt: skip
        crash_point("before-spark-commit")

    def _begin(self, rows: DataFrame) -> None:
        """Set the writer's id from the query's id. It is read for every batch, because a writer may be started
        again."""
        self._id = writer_id(self.query.streamlet, self.query.name, query_id(rows))

    def _write(self, rows: DataFrame, batch: int) -> _Outcome:
        attempt, outcome = f"{batch}/{uuid.uuid4().hex[:8]}", _Outcome()
        try:
            with shared_rows(rows) if len(self.branches) > 1 else nullcontext(rows) as executed:
                for number, branch in enumerate(self.branches):
                    self._write_branch(number, branch.rows(executed), f"{attempt}-{number}", outcome)
        except BaseException:
            for directory in outcome.directories:
                shutil.rmtree(directory, ignore_errors=True)
            raise
        return outcome

    def _write_branch(self, number: int, rows: DataFrame, attempt: str, outcome: _Outcome) -> None:
        branch = self.branches[number]
        outlet = branch.outlet
        if number not in self._fits:  # the rows of a branch always have the same schema
            self._fits[number] = outlet_conformance(rows.schema, outlet)
        fit = self._fits[number]
        table = self._ensure(branch.topic, outlet.contract, outlet.partition_by)
        place = Place(table.path, self._new_directory(table, attempt, outcome), outlet.partition_by)
        if not fit.refuses:
            files = write_files(rows.select(*fit.columns), place.table, place.directory, place.partition_by)
        elif self.dead_letters is not None and outlet.on_invalid == "dead-letters":
            files = self._write_with_dead_letters(
                with_reasons(rows, fit), place, outlet, self.dead_letters, attempt, outcome
            )
        else:
            files, broken = write_valid(with_reasons(rows, fit), place)
            if broken is not None:
                raise broken_rows_error(outlet, broken.count, broken.reason, broken.row)
        outcome.rows[outlet.name] = outcome.rows.get(outlet.name, 0) + outcome.add(self._key(table), files)

    def _write_with_dead_letters(
        self, rows: DataFrame, place: Place, outlet: OutletPlan, dead_letters: Path, attempt: str, outcome: _Outcome
    ) -> tuple[DataFile, ...]:
        """Write valid rows to a place, and broken rows to the dead letters.

        As long as no row is broken, one pass over the rows is enough. After a batch with a broken row, the rows of each
        batch are shared and split, until a batch has no broken row.
        """
        if outlet.name not in self._broken:
            files, broken = write_valid(rows, place)
            if broken is None:
                return files
            shutil.rmtree(place.directory, ignore_errors=True)
            place = replace(place, directory=place.directory.with_name(f"{place.directory.name}-split"))
            outcome.directories.append(place.directory)
            self._broken.add(outlet.name)
            outcome.executions += len(self.branches) == 1  # the rows of several outlets are shared
        table = self._ensure(dead_letters, dead_letter_contract(), ())
        columns = dead_letter_columns(outlet, f"{self.query.name}/{attempt.partition('/')[0]}", self.query.version)
        letters = Place(table.path, self._new_directory(table, attempt, outcome))
        files, dead = write_both(rows, place, letters, columns)
        if not dead:
            self._broken.discard(outlet.name)
        outcome.dead_letters += outcome.add(self._key(table), dead)
        return files

    def _new_directory(self, table: Table, attempt: str, outcome: _Outcome) -> Path:
        directory = table.path / "data" / self._id / attempt
        outcome.directories.append(directory)
        return directory

    def _ensure(self, topic: Path, contract: Contract, partition_by: tuple[str, ...]) -> Table:
        """Return the table of a contract, created if it does not exist.

        Raises:
            TopicLostError: the topic, or a table that existed before, no longer exists.
        """
        name = f"{topic.name}/{table_name(contract, partition_by)}"
        if name not in self._tables:
            topic_id(topic)
            create_table(self.root / name, contract, partition_by, self.clock)
        table = self._table(name)
        table.refresh()
        return table

    def _table(self, name: str) -> Table:
        if name not in self._tables:
            self._tables[name] = open_table(self.root / name, files=False)
        return self._tables[name]

    def _key(self, table: Table) -> str:
        return table.path.relative_to(self.root).as_posix()
