"""Manifests: what a batch brings to which tables, decided once.

A query's batch may go to several topics, and its rows may depend on chance or time. So before any topic hears of it the
first attempt names its files in a manifest that is made only if absent; whoever comes later takes those files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from streamlets.channels.delta.actions import DataFile
from streamlets.storage import objects

STAGED = "_staged"
"""The folder of all manifests, below the channel's."""


def writer_id(streamlet: str, query: str, checkpoint: str) -> str:
    """What a query is called in transactions and manifests: a new checkpoint counts its batches anew, so it is another
    writer."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", f"{streamlet}.{query}-{checkpoint}")


@dataclass(frozen=True, slots=True)
class Manifest:
    """The outcome of a batch.

    Arguments:
        tables: files by table, a table being `topic folder/table folder` relative to the channel's root.
        rows: records by outlet; dead_letters: rows that broke a contract.
    """

    tables: Mapping[str, tuple[DataFile, ...]] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)
    dead_letters: int = 0

    def to_json(self) -> bytes:
        """As the manifest's file holds it."""
        tables = {
            name: [{"path": f.path, "size": f.size, "rows": f.row_groups, "partition": f.partition} for f in files]
            for name, files in self.tables.items()
        }
        return json.dumps({"tables": tables, "rows": dict(self.rows), "dead-letters": self.dead_letters}).encode()

    @classmethod
    def from_json(cls, data: bytes) -> Manifest:
        """Read back what `to_json` gave."""
        content = json.loads(data)
        tables = {
            name: tuple(DataFile(f["path"], f["size"], tuple(f["rows"]), f["partition"]) for f in files)
            for name, files in content["tables"].items()
        }
        return cls(tables, content["rows"], content["dead-letters"])


@dataclass(frozen=True, slots=True)
class Manifests:
    """The manifests of one query; `folder` is its own."""

    folder: Path

    def find(self, batch: int) -> Manifest | None:
        """What an earlier attempt decided; None when none came that far."""
        data = objects.read(self._path(batch))
        return Manifest.from_json(data) if data is not None else None

    def decide(self, batch: int, manifest: Manifest) -> Manifest:
        """Make this the outcome of the batch, unless another attempt was first: then that one's is."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if objects.put_if_absent(self._path(batch), manifest.to_json()):
            return manifest
        found = self.find(batch)
        assert found is not None
        return found

    def forget_before(self, batch: int) -> None:
        """Remove the manifests of batches that Spark has committed: those before the one it runs."""
        if self.folder.is_dir():
            for path in self.folder.glob("*.json"):
                if int(path.stem) < batch:
                    path.unlink(missing_ok=True)

    def _path(self, batch: int) -> Path:
        return self.folder / f"{batch}.json"
