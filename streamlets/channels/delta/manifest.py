"""Manifests: the files of a batch for each table, decided once.

A batch may be written to several topics, and its rows may depend on chance or time. So the first attempt lists its
files in a manifest, created only if absent, before it commits to any topic. Later attempts commit the files of the
manifest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from streamlets.channels.delta.actions import DataFile
from streamlets.storage import objects
from streamlets.storage.damage import read_whole

STAGED = "_staged"
"""The directory of all manifests, below the directory of the channel."""


def writer_id(streamlet: str, query: str, checkpoint: str) -> str:
    """Return the id of a query in transactions and manifests.

    It contains the id of the checkpoint, because a new checkpoint numbers its batches from 0 again.
    """
    return re.sub(r"[^A-Za-z0-9_.-]", "_", f"{streamlet}.{query}-{checkpoint}")


def checkpoint_of(writer: str) -> str:
    """Return the id of the checkpoint in the id of a writer; "" if the writer is not a query."""
    match = re.search(r"-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$", writer)
    return match[1] if match is not None else ""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The outcome of a batch.

    Arguments:
        tables: the files by table, which is named by its path `topic/table` in the directory of the channel.
        rows: the number of records by outlet.
        dead_letters: the number of rows that broke a contract.
    """

    tables: Mapping[str, tuple[DataFile, ...]] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)
    dead_letters: int = 0

    def to_json(self) -> bytes:
        """Return the content of the manifest's file."""
        tables = {
            name: [{"path": f.path, "size": f.size, "rows": f.row_groups, "partition": f.partition} for f in files]
            for name, files in self.tables.items()
        }
        return json.dumps({"tables": tables, "rows": dict(self.rows), "dead-letters": self.dead_letters}).encode()

    @classmethod
    def from_json(cls, data: bytes) -> Manifest:
        """Return the manifest from what `to_json` returned."""
        content = json.loads(data)
        tables = {
            name: tuple(DataFile(f["path"], f["size"], tuple(f["rows"]), f["partition"]) for f in files)
            for name, files in content["tables"].items()
        }
        return cls(tables, content["rows"], content["dead-letters"])


def read_manifest(path: Path) -> Manifest | None:
    """Return the manifest in a file, None if there is none.

    Raises:
        DamagedFileError: the manifest is damaged.
    """
    remedy = "delete it: the batch is computed again for the topics that do not have it"
    return read_whole(path, Manifest.from_json, f"the manifest of batch {path.stem}", remedy)


@dataclass(frozen=True, slots=True)
class Manifests:
    """The manifests of a query.

    Arguments:
        directory: the directory for the manifests of this query only.
    """

    directory: Path

    def find(self, batch: int) -> Manifest | None:
        """Return the manifest that an attempt decided, None if there is none.

        Raises:
            DamagedFileError: the manifest is damaged.
        """
        return read_manifest(self._path(batch))

    def decide(self, batch: int, manifest: Manifest) -> Manifest:
        """Store the manifest of a batch, unless another attempt has stored one; return the stored manifest."""
        self.directory.mkdir(parents=True, exist_ok=True)
        if objects.put_if_absent(self._path(batch), manifest.to_json()):
            return manifest
        earlier = self.find(batch)
        assert earlier is not None
        return earlier

    def forget_before(self, batch: int) -> None:
        """Delete the manifests of earlier batches, which Spark has committed."""
        if self.directory.is_dir():
            for path in self.directory.glob("*.json"):
                if int(path.stem) < batch:
                    path.unlink(missing_ok=True)

    def _path(self, batch: int) -> Path:
        return self.directory / f"{batch}.json"
