"""What a files sink keeps about its batches, beside its files: whose they are, which they are, what was decided.

Below `_batches/<streamlet>/<query id>/` of the sink's directory:

* `owner`: the application that writes, by the directory of its state;
* `files`: the path of each file that was published, one a line;
* `<batch>.json`: the manifest of a batch that Spark may not have committed yet;
* `merges`: the files that are being put in the place of others, where files are merged.

No Spark here: the runner asks before it starts the query.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from streamlets.storage import objects
from streamlets.storage.crash import crash_point

STAGING, BATCHES = "_staging", "_batches"


@dataclass(frozen=True, slots=True)
class Earlier:
    """A query that wrote to the directory from another checkpoint; `owner` is "" where nobody noted it."""

    id: str
    owner: str


@dataclass(frozen=True, slots=True)
class Merge:
    """A staged file that is to take the place of others; all paths are below the sink's directory."""

    staged: str
    target: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FilesRecord:
    """The record of one sink.

    Arguments:
        root: the sink's directory.
        streamlet: the sink's name in the blueprint.
        owner: the application that writes, as the directory of its state.
    """

    root: Path
    streamlet: str
    owner: str

    def may_have_written(self, id: str, batch: int) -> bool:
        """Whether the files of a query's batch were decided; `id` is its checkpoint's."""
        return (self._folder(id) / f"{batch}.json").exists()

    def forget(self, id: str) -> None:
        """Remove what is kept for the unfinished batches of a query whose checkpoint no longer exists. The list of its
        published files stays: `existing = replace` deletes by it."""
        self.finish_merges(id)
        self._note(id, [path for path in self._decided(id) if (self.root / path).exists()])
        for path in self._folder(id).glob("*.json"):
            path.unlink(missing_ok=True)
        self.unstage(id)

    def earlier(self, id: str) -> list[Earlier]:
        """The other queries that wrote to the directory as this sink, sorted."""
        own = self.root / BATCHES / self.streamlet
        names = sorted(path.name for path in own.iterdir() if path.is_dir()) if own.is_dir() else []
        return [Earlier(name, self._owner(name)) for name in names if name != id]

    def knows(self, id: str) -> bool:
        """Whether the query has written to the directory, or was allowed to."""
        return self._folder(id).is_dir()

    def claim(self, id: str) -> None:
        """Note that this application writes as the query, and finish what it had begun to merge."""
        self._folder(id).mkdir(parents=True, exist_ok=True)
        self.finish_merges(id)
        if self._owner(id) != self.owner:
            objects.replace(self._folder(id) / "owner", self.owner.encode())

    def decided(self, id: str, batch: int) -> dict[str, str] | None:
        """The moves of a batch's files, from staging to their places; None when no attempt came that far."""
        found = objects.read(self._folder(id) / f"{batch}.json")
        return json.loads(found) if found is not None else None

    def decide(self, id: str, batch: int, moves: Mapping[str, str]) -> None:
        """Make these the moves of the batch, unless an earlier attempt decided."""
        objects.put_if_absent(self._folder(id) / f"{batch}.json", json.dumps(dict(moves)).encode())

    def publish(self, id: str, batch: int, paths: Iterable[str]) -> None:
        """Note the files of a batch, which are in their places; manifests of earlier batches go, as Spark has committed
        these."""
        self._note(id, paths)
        for path in self._folder(id).glob("*.json"):
            if int(path.stem) < batch:
                path.unlink(missing_ok=True)

    def files(self, id: str) -> list[str]:
        """The paths of all files that the query has published, oldest first, decided ones included."""
        noted = (objects.read(self._folder(id) / "files") or b"").decode(errors="replace")
        whole = noted[: noted.rfind("\n") + 1].splitlines()
        return list(dict.fromkeys((*whole, *self._decided(id))))

    def delete(self, id: str) -> int:
        """Delete the files that the query has published, and what is kept about them; gives how many there were."""
        self.finish_merges(id)
        root, count = self.root.resolve(), 0
        for path in self.files(id):
            file = self.root / path
            if file.is_file() and file.parent.resolve().is_relative_to(root):
                file.unlink()
                count += 1
        self.unstage(id)
        shutil.rmtree(self._folder(id))  # last: until then the files are known to be there
        return count

    def decide_merges(self, id: str, merges: Iterable[Merge]) -> None:
        """Make it sure that these merges happen, whenever the process ends."""
        content = [{"staged": m.staged, "target": m.target, "sources": m.sources} for m in merges]
        objects.replace(self._folder(id) / "merges", json.dumps(content).encode())

    def finish_merges(self, id: str) -> None:
        """Put merged files in their places and delete those that they replace."""
        decided = objects.read(self._folder(id) / "merges")
        if decided is None:
            return
        merges = []
        for m in json.loads(decided):
            merge = Merge(m["staged"], m["target"], tuple(m["sources"]))
            if (self.root / merge.staged).exists():
                (self.root / merge.staged).replace(self.root / merge.target)
            crash_point("during-rename")
            if (self.root / merge.target).exists():  # never delete what nothing has replaced
                merges.append(merge)
                for source in merge.sources:
                    (self.root / source).unlink(missing_ok=True)
        gone = {source for merge in merges for source in merge.sources}
        kept = dict.fromkeys((*(merge.target for merge in merges), *self.files(id)))
        lines = "".join(f"{path}\n" for path in kept if path not in gone)
        objects.replace(self._folder(id) / "files", lines.encode())
        (self._folder(id) / "merges").unlink()

    def staging(self, id: str) -> Path:
        """Where the query's files are written before they are published."""
        return self.root / STAGING / self.streamlet / id

    def unstage(self, id: str) -> None:
        """Remove what the query has staged."""
        staging = self.staging(id)
        shutil.rmtree(staging, ignore_errors=True)
        for folder in (staging.parent, staging.parent.parent):
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()

    def _folder(self, id: str) -> Path:
        return self.root / BATCHES / self.streamlet / id

    def _owner(self, id: str) -> str:
        return (objects.read(self._folder(id) / "owner") or b"").decode(errors="replace")

    def _decided(self, id: str) -> list[str]:
        manifests = sorted(self._folder(id).glob("*.json"), key=lambda path: int(path.stem))
        return [target for path in manifests for target in json.loads(objects.read(path) or b"{}").values()]

    def _note(self, id: str, paths: Iterable[str]) -> None:
        """Add to the list of published files; a line that a power cut left unfinished is ended first."""
        lines = "".join(f"{path}\n" for path in paths)
        if not lines:
            return
        with (self._folder(id) / "files").open("ab+") as file:
            if file.tell():
                file.seek(-1, os.SEEK_END)
                lines = lines if file.read(1) == b"\n" else f"\n{lines}"
            file.write(lines.encode())
            file.flush()
            os.fsync(file.fileno())
