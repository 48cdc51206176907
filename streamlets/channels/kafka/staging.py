"""Staged batches: what a batch sends is stored and decided before anything is sent.

The messages of a batch are Parquet files below the directory of its query, until Spark has committed the batch. All
outlets of a batch are decided at once, in one file (`_shares.json`): their rows are from one execution, and an attempt
that ends before it is not continued. Each attempt has directories of its own, so that what an abandoned task writes
later is in files that no decision names. On a cluster of several machines the state directory must be on a file system
that all of them share.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamlets.channels.kafka.shares import FILE, Shares, read_decision, write_decision
from streamlets.storage.crash import crash_point

if TYPE_CHECKING:
    from pyspark.sql import Column

QUERY, BATCH, SEQUENCE = "streamlets-query", "streamlets-batch", "streamlets-sequence"
"""The headers of a staged message: the id of its query, the number of its batch, and its number within the batch."""


@dataclass(frozen=True, slots=True)
class BatchPlace:
    """The batch of a query.

    Arguments:
        streamlet: the name of the streamlet.
        query: the name of the query within the streamlet.
        id: the id that Spark stores in the checkpoint of the query.
        batch: the number of the batch.
    """

    streamlet: str
    query: str
    id: str
    batch: int


@dataclass(frozen=True, slots=True)
class StagedPart:
    """The stored messages of an outlet, or of its dead letters on another cluster.

    Arguments:
        shares: the messages.
        once: whether they are sent in transactions; if not, Spark's sink sends them.
    """

    shares: Shares
    once: bool


@dataclass(frozen=True, slots=True)
class StagedBatches:
    """The staged batches of all queries.

    Arguments:
        directory: their directory.
    """

    directory: Path

    def decided(self, place: BatchPlace) -> Mapping[str, StagedPart]:
        """Return the stored parts of a batch by their names, such as `out`; {} if the batch is not decided.

        Raises:
            DamagedFileError: the file with the decision is damaged.
        """
        return read_decision(self.of_batch(place), _parts) or {}

    def begin(self, place: BatchPlace) -> Path:
        """Return the directory of a batch that is not decided, without the files of earlier attempts."""
        directory = self.of_batch(place)
        shutil.rmtree(directory, ignore_errors=True)
        return directory

    def decide(self, place: BatchPlace, parts: Mapping[str, StagedPart]) -> None:
        """Store the parts of a batch by their names. Then it is not decided again."""
        content = {name: {**part.shares.to_content(), "once": part.once} for name, part in parts.items()}
        write_decision(self.of_batch(place), {"parts": content})
        crash_point("after-shared-out")

    def has_any(self, streamlet: str, query: str, id: str, batch: int) -> bool:
        """Return whether a batch, or a later one, is decided.

        Arguments:
            streamlet, query, id, batch: as for `BatchPlace`.
        """
        return any(int(path.name) >= batch and (path / FILE).exists() for path in self._numbered(streamlet, query, id))

    def remove_before(self, place: BatchPlace) -> None:
        """Remove the batches before one, which Spark has committed."""
        for path in self._numbered(place.streamlet, place.query, place.id):
            if int(path.name) < place.batch:
                shutil.rmtree(path, ignore_errors=True)
                crash_point("after-staged-removal")

    def forget(self, streamlet: str, query: str, id: str) -> None:
        """Remove all batches of a checkpoint.

        Arguments:
            streamlet, query, id: as for `BatchPlace`.
        """
        shutil.rmtree(self._query(streamlet, query, id), ignore_errors=True)

    def of_batch(self, place: BatchPlace) -> Path:
        """Return the directory of a batch, to which the names of its files are relative."""
        return self._query(place.streamlet, place.query, place.id) / str(place.batch)

    def _numbered(self, streamlet: str, query: str, id: str) -> list[Path]:
        directory = self._query(streamlet, query, id)
        return [path for path in directory.iterdir() if path.name.isdigit()] if directory.is_dir() else []

    def _query(self, streamlet: str, query: str, id: str) -> Path:
        return self.directory / re.sub(r"[^A-Za-z0-9_.-]", "_", f"{streamlet}.{query}-{id}")


def headers_of(id: str, batch: int, part: str, sequence: Column) -> Column:
    """Return the headers of a staged message.

    Arguments:
        id: the id that Spark stores in the checkpoint of the query.
        batch: the number of the batch.
        part: distinguishes the outlets of a query.
        sequence: the number of the message within the batch.
    """
    from pyspark.sql import functions as F

    values = {QUERY: F.lit(f"{id}/{part}"), BATCH: F.lit(str(batch)), SEQUENCE: sequence.cast("string")}
    return F.array(
        *(F.struct(F.lit(name).alias("key"), value.cast("binary").alias("value")) for name, value in values.items())
    )


def _parts(content: Any) -> dict[str, StagedPart]:
    return {
        name: StagedPart(Shares.from_content(part), once=bool(part["once"])) for name, part in content["parts"].items()
    }
