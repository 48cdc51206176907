"""The record that a files sink keeps of its batches: the application that writes, its files and its decisions.

In `_batches/<streamlet>/<query id>/` of the sink's directory:

* `owner`: the application that writes, as the path of its state directory;
* `files`: the path of each published file, one per line;
* `<batch>.json`: the manifest of a batch that Spark may not have committed yet;
* `merges`: the merges that have been decided and are not complete yet.

This module does not use Spark: the runner calls it before it starts the query.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from streamlets.storage import objects
from streamlets.storage.crash import crash_point
from streamlets.storage.damage import read_whole

STAGING, BATCHES = "_staging", "_batches"

_LAST_BATCH = re.compile(r"-(\d{6,})-(?:\d+|merged)\.[^/]*$")
"""The number of the batch in the name of a published file; a merged file has the number of its last batch."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """A query that wrote to the directory with another checkpoint.

    Arguments:
        id: the id of the query.
        owner: the state directory of its application; "" if it is not recorded.
    """

    id: str
    owner: str


@dataclass(frozen=True, slots=True)
class Merge:
    """A decision to replace files by a merged one. All paths are relative to the directory of the sink.

    Arguments:
        staged: the path of the merged file in the staging directory.
        target: its final path.
        sources: the paths of the files that it replaces.
    """

    staged: str
    target: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FilesRecord:
    """The record of a sink. A query is identified by the id that Spark stores in its checkpoint.

    Arguments:
        root: the directory of the sink.
        streamlet: the name of the sink in the blueprint.
        owner: the application that writes, as the path of its state directory.
    """

    root: Path
    streamlet: str
    owner: str

    def may_have_written(self, id: str, batch: int) -> bool:
        """Return whether the files of a batch, or of a later one, were decided or published."""
        decided = [int(path.stem) for path in self._directory(id).glob("*.json")]
        published = [int(match[1]) for path in self.files(id) if (match := _LAST_BATCH.search(path))]
        return max((*decided, *published), default=-1) >= batch

    def forget(self, id: str) -> None:
        """Remove what is stored for the unfinished batches of a query whose checkpoint no longer exists.

        The list of its published files is kept, because `existing = replace` deletes these files.
        """
        self.finish_merges(id)
        self._append_to_list(id, [path for path in self._decided(id) if (self.root / path).exists()])
        for path in self._directory(id).glob("*.json"):
            path.unlink(missing_ok=True)
        self.unstage(id)

    def earlier(self, id: str) -> list[Earlier]:
        """Return the other queries of this sink that wrote to the directory, sorted."""
        own = self.root / BATCHES / self.streamlet
        names = sorted(path.name for path in own.iterdir() if path.is_dir()) if own.is_dir() else []
        return [Earlier(name, self._owner(name)) for name in names if name != id]

    def knows(self, id: str) -> bool:
        """Return whether the query has claimed the directory."""
        return self._directory(id).is_dir()

    def claim(self, id: str) -> None:
        """Record this application as the owner of the query's files, and complete its merges."""
        self._directory(id).mkdir(parents=True, exist_ok=True)
        self.finish_merges(id)
        if self._owner(id) != self.owner:
            objects.replace(self._directory(id) / "owner", self.owner.encode())

    def decided(self, id: str, batch: int) -> dict[str, str] | None:
        """Return the final paths of a batch's files by their staged paths, None if no attempt has decided them.

        Raises:
            DamagedFileError: the manifest is damaged.
        """
        return _read_moves(self._directory(id) / f"{batch}.json")

    def decide(self, id: str, batch: int, moves: Mapping[str, str]) -> None:
        """Store the final paths of a batch's files by their staged paths, unless an earlier attempt has stored them."""
        objects.put_if_absent(self._directory(id) / f"{batch}.json", json.dumps(dict(moves)).encode())

    def publish(self, id: str, batch: int, paths: Iterable[str]) -> None:
        """Add the files of a batch to the list of published files, and delete the manifests of earlier batches.

        Spark has committed the earlier batches.
        """
        self._append_to_list(id, paths)
        for path in self._directory(id).glob("*.json"):
            if int(path.stem) < batch:
                path.unlink(missing_ok=True)

    def files(self, id: str) -> list[str]:
        """Return the paths of all files that the query has published or decided, oldest first."""
        noted = (objects.read(self._directory(id) / "files") or b"").decode(errors="replace")
        whole = noted.split("\n")[:-1]  # `splitlines` would also split at other characters, which a path may have
        return list(dict.fromkeys((*whole, *self._decided(id))))

    def delete(self, id: str) -> int:
        """Delete the files that the query has published, and their record; return the number of deleted files."""
        self.finish_merges(id)
        root, count = self.root.resolve(), 0
        for path in self.files(id):
            file = self.root / path
            if file.is_file() and file.parent.resolve().is_relative_to(root):
                file.unlink()
                count += 1
        self.unstage(id)
        shutil.rmtree(self._directory(id))  # last, so that the files are listed as long as they exist
        return count

    def decide_merges(self, id: str, merges: Iterable[Merge]) -> None:
        """Store merges, which are completed even if the process is killed."""
        content = [{"staged": m.staged, "target": m.target, "sources": m.sources} for m in merges]
        objects.replace(self._directory(id) / "merges", json.dumps(content).encode())

    def finish_merges(self, id: str) -> None:
        """Complete the decided merges: rename the merged files, and delete the files that they replace.

        Raises:
            DamagedFileError: the file with the merges is damaged.
        """
        remedy = (
            "delete it: if the files were being merged, records are in a file with `-merged` in its name and in the "
            "files that it should replace"
        )
        decided = read_whole(self._directory(id) / "merges", _merges, "the list of decided merges", remedy)
        if decided is None:
            return
        merges = []
        for merge in decided:
            staged, target = self.root / merge.staged, self.root / merge.target
            replaced_by_target = not staged.exists() or objects.move_if_absent(staged, target)
            crash_point("during-rename")
            if replaced_by_target and target.exists():  # never delete a file that was not replaced
                merges.append(merge)
                for source in merge.sources:
                    (self.root / source).unlink(missing_ok=True)
        replaced = {source for merge in merges for source in merge.sources}
        kept = dict.fromkeys((*(merge.target for merge in merges), *self.files(id)))
        lines = "".join(f"{path}\n" for path in kept if path not in replaced)
        objects.replace(self._directory(id) / "files", lines.encode())
        (self._directory(id) / "merges").unlink()

    def staging(self, id: str) -> Path:
        """Return the directory in which the query's files are written before they are published."""
        return self.root / STAGING / self.streamlet / id

    def unstage(self, id: str) -> None:
        """Delete the staged files of the query."""
        staging = self.staging(id)
        shutil.rmtree(staging, ignore_errors=True)
        for directory in (staging.parent, staging.parent.parent):
            if directory.is_dir() and not any(directory.iterdir()):
                directory.rmdir()

    def _directory(self, id: str) -> Path:
        return self.root / BATCHES / self.streamlet / id

    def _owner(self, id: str) -> str:
        return (objects.read(self._directory(id) / "owner") or b"").decode(errors="replace")

    def _decided(self, id: str) -> list[str]:
        manifests = sorted(self._directory(id).glob("*.json"), key=lambda path: int(path.stem))
        return [target for path in manifests for target in (_read_moves(path) or {}).values()]

    def _append_to_list(self, id: str, paths: Iterable[str]) -> None:
        """Append to the list of published files. If a power failure has left an incomplete line, it is ended first."""
        lines = "".join(f"{path}\n" for path in paths)
        if not lines:
            return
        with (self._directory(id) / "files").open("ab+") as file:
            if file.tell():
                file.seek(-1, os.SEEK_END)
                lines = lines if file.read(1) == b"\n" else f"\n{lines}"
            file.write(lines.encode())
            file.flush()
            os.fsync(file.fileno())


def _read_moves(path: Path) -> dict[str, str] | None:
    """Return the final paths in a manifest by the staged paths, None if there is no manifest.

    Raises:
        DamagedFileError: the manifest is damaged.
    """
    remedy = (
        f"delete it, and the files of the sink with `-{int(path.stem):06}-` in their names: then the batch is written "
        "again"
    )
    return read_whole(path, _moves, f"the manifest of batch {path.stem}", remedy)


def _moves(data: bytes) -> dict[str, str]:
    return {str(staged): str(final) for staged, final in json.loads(data).items()}


def _merges(data: bytes) -> list[Merge]:
    return [Merge(str(m["staged"]), str(m["target"]), tuple(map(str, m["sources"]))) for m in json.loads(data)]
