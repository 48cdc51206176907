"""`BegunBatches`: the last batch of each query that may have been written, partly or completely."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from streamlets.storage import objects
from streamlets.storage.damage import read_whole


@dataclass(frozen=True, slots=True)
class BegunBatches:
    """The number of the last batch that each query has begun to write, in a file per checkpoint.

    Arguments:
        directory: the directory of the files.
    """

    directory: Path

    def begin(self, streamlet: str, query: str, id: str, batch: int) -> None:
        """Store that a batch is about to be written, unless a later one was.

        Arguments:
            streamlet: the name of the streamlet.
            query: the name of the query within the streamlet.
            id: the id that Spark stores in the checkpoint of the query.
            batch: the number of the batch.
        """
        if not self.has(streamlet, query, id, batch):
            self.directory.mkdir(parents=True, exist_ok=True)
            objects.replace(self._path(streamlet, query, id), str(batch).encode())

    def has(self, streamlet: str, query: str, id: str, batch: int) -> bool:
        """Return whether a batch, or a later one, was begun; see `begin` for the arguments.

        Raises:
            DamagedFileError: the file is damaged.
        """
        what = "the number of the last batch that a query has begun"
        remedy = "delete it: that the query may have written more than it has committed is then unknown"
        begun = read_whole(self._path(streamlet, query, id), int, what, remedy)
        return begun is not None and begun >= batch

    def forget(self, streamlet: str, query: str, id: str) -> None:
        """Remove what is stored for a checkpoint; see `begin` for the arguments."""
        self._path(streamlet, query, id).unlink(missing_ok=True)

    def _path(self, streamlet: str, query: str, id: str) -> Path:
        return self.directory / re.sub(r"[^A-Za-z0-9_.-]", "_", f"{streamlet}.{query}-{id}")
