"""`SparkStreamletContext`: the environment of a running streamlet, and the connection of its ports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from blueprint.hocon.text_place import TextPlace
    from blueprint.plan import OutletPlan, TopicPlan
    from blueprint.trigger import Trigger
    from streamlets.api.source_location import SourceLocation
    from streamlets.batches import BatchRecord, BatchWritten


@dataclass(frozen=True, slots=True)
class StreamingWrite:
    """A streaming query that is not started; the runner sets name, checkpoint and trigger.

    Arguments:
        query: its name within the streamlet, unique and the same at each restart.
        writer: Spark's writer, with the sink and the output mode.
        outlets: the names of the outlets that it writes; () for a sink of the author.
        trigger: the trigger in the author's code, None for the default; the blueprint and the settings override it.
        place: the location of the author's call.
        retry: the fields of `Retry` that options of the writer set; `flow` settings override them.
        record: the record of the batches that the sink has written; None if there is no such record.
        checkpoint: the absolute path of its checkpoint; None for the usual one, in the state directory.
        rows: the rows of its only outlet; None if functions compute the rows of the outlets from each batch.

    Example:
        `write_stream` and `query` of the logic return it; the trigger of one can be replaced::

            dataclasses.replace(self.write_stream(rows, me.out), trigger=triggers.available_now())
    """

    query: str
    writer: DataStreamWriter
    outlets: tuple[str, ...] = ()
    trigger: Trigger | None = None
    place: SourceLocation | None = field(default=None, compare=False)
    retry: Mapping[str, object] = field(default_factory=dict)
    record: BatchRecord | None = None
    checkpoint: Path | None = None
    rows: DataFrame | None = field(default=None, compare=False, repr=False)


def all_rows(rows: DataFrame) -> DataFrame:
    """Return the rows unchanged: the branch of a query with one outlet, whose rows are known before the query runs."""
    return rows


@dataclass(frozen=True, slots=True)
class TaskConnection:
    """The connection of a batch source.

    Arguments:
        outlet: its outlet.
        topic: the topic with its tasks; None if none are read.
        secrets: the secrets of the configuration, which no file and no output shows.
        version: the version of the application, for dead letters.
        replicas: the largest number of tasks of Spark that read a batch; None if it is not set.
    """

    outlet: OutletPlan
    topic: TopicPlan | None
    secrets: frozenset[str] = frozenset()
    version: str = ""
    replicas: int | None = None


class PortBinding(Protocol):
    """The connection of a logic's ports: to topics by the runner, to taps by the testkit, to nothing by `--plans`."""

    def read(self, inlet: str, *, name: str, metadata: bool) -> DataFrame:
        """Return a streaming DataFrame of the inlet's schema, whose source has the name `name`."""

    def write(
        self,
        rows: DataFrame,
        branches: Mapping[str, Callable[[DataFrame], DataFrame]],
        *,
        query: str,
        output_mode: str,
        trigger: Trigger | None = None,
    ) -> DataStreamWriter:
        """Return an unstarted writer of rows to outlets, by name; `trigger` is the one in the author's code."""

    def task_source(self, outlet: str) -> TaskConnection:
        """Return the connection of a batch source with this outlet."""

    def checkpoint_dir(self, name: str) -> str:
        """Return the checkpoint directory of a query."""


@dataclass(frozen=True, kw_only=True)
class SparkStreamletContext:
    """The environment of a running streamlet.

    Arguments:
        session: the streamlet's own Spark session.
        streamlet_ref: its name in the blueprint.
        config: the typed values of config parameters by key, including defaults.
        volume_mounts: directories by mount name.
        ports: the connection of its ports.
        directory: the directory of the blueprint, against which relative paths in settings are resolved.
        on_batch: called with each batch that a sink has written outside of the application, if it is counted.
        state: the state directory, which distinguishes the application from others.
        print_line: prints a line for the people who watch the run; may be called from any thread.
        texts: the places of the texts among its parameters, by key; where they are not known, locations in a text have
            the name of the parameter instead of a file.
        inlet_sources: the names in checkpoints of the sources of those inlets that the logic has read.

    Example:
        The directory of a checkpoint, and the value of a parameter, in a logic::

            self.context.checkpoint_dir("averages")
            self.context.config["window"]
    """

    session: SparkSession
    streamlet_ref: str
    config: Mapping[str, object]
    volume_mounts: Mapping[str, Path]
    ports: PortBinding
    directory: Path = Path()
    on_batch: Callable[[BatchWritten], None] | None = None
    state: Path = Path()
    print_line: Callable[[str], None] = print
    texts: Mapping[str, TextPlace] = field(default_factory=dict)
    inlet_sources: set[str] = field(default_factory=set)

    def path(self, setting: str) -> Path:
        """Return the absolute path that a setting refers to; relative paths start in the directory of the blueprint.

        Arguments:
            setting: the path as it is configured.
        """
        return (self.directory / Path(setting).expanduser()).absolute()

    def checkpoint_dir(self, name: str) -> str:
        """Return the checkpoint directory of a query that the author starts; it is the same at each restart.

        Arguments:
            name: the name of the query, unique in the streamlet.
        """
        return self.ports.checkpoint_dir(name)
