"""`SinkType`: the interface of a sink, which writes records outside of an application.

An author of a sink implements `SinkType`; the streamlet `Sink`, verification, the testkit and the documentation use it.
`streamlets.egress.registry` shows how a package registers its sink.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from blueprint.catalog import OutputMode, ParameterProblem, SinkTraits
from streamlets.batches import BatchRecord, BatchWritten

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter
    from pyspark.sql.types import StructType


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkQuery:
    """A query that writes to a sink.

    Arguments:
        name: the name of the sink, unique in the application and the same after a restart, for files and messages.
        streamlet: the name of the streamlet.
        query: the name of the query within the streamlet.
        options: the typed values of the sink's options by name, with defaults; paths are absolute.
        partition_by: the partition columns.
        output_mode: the output mode of the query.
        directory: the directory of the blueprint, in which a path that is part of another option starts.
        application: the absolute path of the state directory, which distinguishes the application from others.
        on_batch: takes what a batch has written; None if nobody counts.
        report: shows a message to the people who watch the run; may be called from any thread.
    """

    name: str
    streamlet: str
    query: str
    options: Mapping[str, object]
    partition_by: tuple[str, ...] = ()
    output_mode: OutputMode = "append"
    directory: Path = Path()
    application: str = ""
    on_batch: Callable[[BatchWritten], None] | None = None
    report: Callable[[str], None] = print

    def staging(self, id: str) -> Path:
        """Return the directory in which a batch is staged, on a file system that all of Spark's machines share.

        Arguments:
            id: the id of the query in Spark.
        """
        return Path(self.application) / "staging" / self.name / id

    def written(self, batch: int, records: int, *, replayed: bool = False) -> None:
        """Report a batch that the sink has written, before Spark commits it.

        Arguments:
            batch: the number of the batch in Spark.
            records: the number of records in its output.
            replayed: whether an earlier attempt had decided the content of the batch.
        """
        if self.on_batch is not None:
            self.on_batch(BatchWritten(self.streamlet, self.query, batch, {"sink": records}, replayed=replayed))


@dataclass(frozen=True, slots=True)
class SinkWriter:
    """The resources with which a sink writes.

    Arguments:
        writer: Spark's writer, not started, without name, checkpoint, trigger and output mode: with a function for
            `foreachBatch`, or with a format of Spark or of a Python data source.
        record: the record of the batches that the sink has written; None if there is no such record.
    """

    writer: DataStreamWriter
    record: BatchRecord | None = None


@dataclass(frozen=True, slots=True)
class SinkFiles:
    """The files that a sink has written, in a format that Spark reads.

    Arguments:
        root: their directory.
        format: Spark's name of their format.
        options: the options of Spark's reader.
    """

    root: Path
    format: str
    options: Mapping[str, str]

    def paths(self, session: SparkSession) -> list[str]:
        """Return the paths of the files, sorted. Names that begin with `_` or `.` are not data.

        Arguments:
            session: the Spark session that reads them.
        """
        if (self.root / "_spark_metadata").exists():  # it lists the files of completed batches
            return sorted(self.reader(session).load(str(self.root)).inputFiles())
        files = (path for path in self.root.rglob("*") if path.is_file())
        return sorted(str(path) for path in files if not path.relative_to(self.root).as_posix().startswith(("_", ".")))

    def reader(self, session: SparkSession) -> DataFrameReader:
        """Return a reader of the files.

        Arguments:
            session: the Spark session that reads them.
        """
        return session.read.format(self.format).options(**self.options).option("basePath", str(self.root))


class NothingStored:
    """The record of batches that are not stored, so that a batch may run again."""

    def may_have_written(self, id: str, batch: int) -> bool:
        """Return False: a batch is not stored."""
        return False


class SinkType(abc.ABC):
    """A sink, as it is registered. The class has no constructor arguments, and importing it does not import pyspark.

    Attributes:
        traits: its capabilities and options.
    """

    traits: ClassVar[SinkTraits]

    @abc.abstractmethod
    def open(self, rows: DataFrame, query: SinkQuery) -> SinkWriter:
        """Return a writer of rows. It must not have effects: it is also called for `flow verify --plans`.

        Arguments:
            rows: the streaming DataFrame; its columns have no problems.
            query: the query and its options.
        """

    def files(self, options: Mapping[str, object]) -> SinkFiles | None:
        """Return the files that the sink writes, so that tests can read them.

        A sink that returns None does not run in tests: the records are written to Parquet files in its place, unless
        the test permits the real sink.

        Arguments:
            options: the typed values of its options.
        """
        return None

    def option_problems(self, options: Mapping[str, object]) -> Iterable[ParameterProblem]:
        """Return the problems of options that the traits cannot express; the path of a problem is `options` and a name.

        Arguments:
            options: the typed values of its options, which agree with the traits.
        """
        return ()

    def column_problems(self, columns: StructType, query: SinkQuery) -> Iterator[str]:
        """Yield why the sink cannot write columns, beyond what its traits express.

        Arguments:
            columns: the columns of the rows.
            query: the query and its options.
        """
        yield from ()


def spark_types(columns: StructType) -> dict[str, str]:
    """Return the types of columns as Spark's DDL has them, by name."""
    return {field.name: field.dataType.simpleString() for field in columns.fields}
