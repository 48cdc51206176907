"""`SparkStreamletContext`: what logic may ask of its surroundings, and how its ports are joined."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from blueprint.plan import Trigger
    from streamlets.api.declared import Declared
    from streamlets.channels.base import BatchRecord, BatchWritten


@dataclass(frozen=True, slots=True)
class StreamingWrite:
    """A streaming query that is ready but not started; whoever runs it sets name, checkpoint and trigger.

    Arguments:
        query: its name within the streamlet, unique and the same at every restart.
        writer: Spark's writer, with the sink and the output mode set.
        outlets: names of the outlets it writes; () for a sink of the author's own.
        trigger: the author's wish, None when there is none; blueprint and settings come before it.
        place: where the author asked for it.
        retry: fields of `Retry` that options of the writer set; what `flow` sets comes before them.
        record: of the batches that a sink writes; None when nobody knows what it has written.
    """

    query: str
    writer: DataStreamWriter
    outlets: tuple[str, ...] = ()
    trigger: Trigger | None = None
    place: Declared | None = field(default=None, compare=False)
    retry: Mapping[str, object] = field(default_factory=dict)
    record: BatchRecord | None = None


def all_rows(rows: DataFrame) -> DataFrame:
    """The branch of a query that writes one outlet: whoever binds the port knows the outlet's rows before they flow."""
    return rows


class PortBinding(Protocol):
    """How a logic's ports are joined: by the runner to topics, by the testkit to taps, by `--plans` to nothing."""

    def read(self, inlet: str, *, name: str, metadata: bool) -> DataFrame:
        """A streaming DataFrame of the inlet's schema, its source called `name`."""

    def write(
        self, rows: DataFrame, branches: Mapping[str, Callable[[DataFrame], DataFrame]], *, query: str, output_mode: str
    ) -> DataStreamWriter:
        """An unstarted writer that brings each outlet (by name) its rows."""

    def checkpoint_dir(self, name: str) -> str:
        """The folder of the query `name`'s checkpoint."""


@dataclass(frozen=True)
class SparkStreamletContext:
    """What a running streamlet knows.

    Arguments:
        session: the streamlet's own Spark session.
        streamlet_ref: its name in the blueprint.
        config: config parameters by key, typed; defaults filled in.
        volume_mounts: folder by mount name.
        ports: how its ports are joined.
        folder: the blueprint's; relative paths in settings start there.
        on_batch: told of each batch that a sink brought out of the application; None when nobody counts.
        state: the directory of the application's state, which tells it from other applications.
        print_line: shows text to the people who watch the run, from any thread.
    """

    session: SparkSession
    streamlet_ref: str
    config: Mapping[str, object]
    volume_mounts: Mapping[str, Path]
    ports: PortBinding
    folder: Path = Path()
    on_batch: Callable[[BatchWritten], None] | None = None
    state: Path = Path()
    print_line: Callable[[str], None] = print

    def path(self, setting: str) -> Path:
        """The file or folder that a setting names, absolute; relative ones start in the blueprint's folder."""
        return (self.folder / Path(setting).expanduser()).absolute()

    def checkpoint_dir(self, name: str) -> str:
        """The folder for the checkpoint of a query that the author starts; the same at every restart."""
        return self.ports.checkpoint_dir(name)
