"""Checkpoints of queries, read from Spark's own files without Spark: what was begun, what was committed, what state
there is, and whether the files are whole."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from streamlets.runner.checkpoints.state_rows import operators


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch as Spark planned it.

    Arguments:
        number: Spark's.
        time: when it was planned, in seconds since the epoch.
        positions: where it ends in each source, as JSON text by the source's name (its number where sources have no
            names); a source that had not begun is left out.
        settings: Spark settings that hold for the checkpoint whatever the session says.
    """

    number: int
    time: float
    positions: Mapping[str, str]
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Operator:
    """A stateful operator. What its files tell is read when it is asked for: they may be many.

    Arguments:
        number, name: Spark's.
        folder: of its state.
    """

    number: int
    name: str
    folder: Path

    @property
    def version(self) -> int | None:
        """Of its state: the number of batches that went into it; None when none has."""
        versions = (
            int(head)
            for partition in self._partitions()
            for _, _, files in os.walk(partition)
            for file in files
            if (head := file.partition(".")[0].partition("_")[0]).isdigit() and file.endswith(_STATES)
        )
        return max(versions, default=None)

    @property
    def partitions(self) -> int:
        """Into how many it is divided."""
        return len(self._partitions())

    @property
    def bytes(self) -> int:
        """Of all its files."""
        return _size(self.folder)

    def _partitions(self) -> list[Path]:
        try:
            return [entry for entry in self.folder.iterdir() if entry.name.isdigit()]
        except OSError:  # it has none yet, or they are being forgotten
            return []


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The checkpoint of one query, as of one moment; sizes are read when they are asked for.

    Arguments:
        folder: its own.
        id: Spark's id of the query, "" when none was made or it cannot be read.
        committed: the last batch that is done; None when none is.
        planned: the batch that was begun and is not done, which the next start replays; None when there is none.
        watermark: of the next batch, in seconds since the epoch; None when the query has none (yet).
        operators: its stateful ones, by number.
        damage: what is wrong with its files, one sentence each.
    """

    streamlet: str
    query: str
    folder: Path
    id: str
    committed: Batch | None
    planned: Batch | None
    watermark: float | None
    operators: tuple[Operator, ...]
    damage: tuple[str, ...]

    @property
    def name(self) -> str:
        """As people say it: `streamlet.query`."""
        return f"{self.streamlet}.{self.query}"

    @property
    def latest(self) -> Batch | None:
        """The last batch that is known at all."""
        return self.planned or self.committed

    @property
    def bytes(self) -> int:
        """Of all its files."""
        return _size(self.folder)


def checkpoints_in(root: Path) -> tuple[Checkpoint, ...]:
    """The checkpoints below an application's folder of checkpoints, `<streamlet>/<query>`, sorted."""
    folders = sorted(root.glob("*/*")) if root.is_dir() else []
    return tuple(read_checkpoint(folder) for folder in folders if folder.is_dir())


def read_checkpoint(folder: Path) -> Checkpoint:
    """Read the checkpoint in a folder named `<streamlet>/<query>`; damage is told, not raised."""
    damage: list[str] = []
    metadata = _json(folder / "metadata", damage, line=0) if (folder / "metadata").exists() else {}
    offsets, commits = latest(folder / "offsets"), latest(folder / "commits")
    committed = planned = None
    if commits is not None:
        committed = _batch(folder, commits, damage)
    if offsets is not None and offsets != commits:
        planned = _batch(folder, offsets, damage)
    if commits is not None and (offsets is None or offsets < commits):
        damage.append(f"batch {commits} is committed, but offsets/{commits}, which says what it read, is not there")
    done = _json(folder / "commits" / str(commits), damage, line=1) if commits is not None else {}
    watermark = done.get("nextBatchWatermarkMs")
    return Checkpoint(
        streamlet=folder.parent.name,
        query=folder.name,
        folder=folder,
        id=str(metadata.get("id", "")),
        committed=committed,
        planned=planned,
        watermark=watermark / 1000 if isinstance(watermark, int | float) and watermark > 0 else None,
        operators=tuple(Operator(number, name, folder / "state" / str(number)) for number, name in operators(folder)),
        damage=tuple(damage),
    )


def latest(folder: Path) -> int | None:
    """The highest number that a file of Spark's log in a folder has; None when there is none."""
    return max(numbers(folder), default=None)


def numbers(folder: Path) -> Iterator[int]:
    """The numbers of the files of Spark's log in a folder."""
    if folder.is_dir():
        yield from (int(entry.name) for entry in os.scandir(folder) if entry.name.isdigit())


def _batch(folder: Path, number: int, damage: list[str]) -> Batch | None:
    """What `offsets/<number>` says; None when it is damaged or not there."""
    path = folder / "offsets" / str(number)
    if not path.exists():
        return None
    found = _json(path, damage, line=1)
    if not found:
        return None
    positions = {}
    for place, line in enumerate(_lines(path)[2:]):
        name, separator, position = line.partition(":")
        if line.startswith("{") or not separator:
            name, position = str(place), line  # sources without names, in their order
        if position not in ("", "-"):
            positions[name] = position
    settings = found.get("conf")
    return Batch(
        number=number,
        time=_number(found.get("batchTimestampMs")) / 1000,
        positions=positions,
        settings=settings if isinstance(settings, dict) else {},
    )


def _json(path: Path, damage: list[str], *, line: int) -> dict[str, object]:
    """The object in a line of a file of Spark's; {} and a word on the damage when there is none."""
    try:
        found = json.loads(_lines(path)[line])
    except (OSError, ValueError, IndexError):
        found = None
    if isinstance(found, dict):
        return found
    place = path.relative_to(path.parent.parent) if path.name.isdigit() else path.name
    damage.append(f"{place} is {'empty' if not _size(path) else 'damaged'}")
    return {}


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


_STATES = (".changelog", ".zip", ".delta", ".snapshot")


def _size(path: Path) -> int:
    """Bytes of a file, or of all files below a folder; what vanishes meanwhile counts nothing."""
    total = 0
    try:
        if not path.is_dir():
            return path.stat().st_size
        for entry in os.scandir(path):
            total += _size(Path(entry.path)) if entry.is_dir() else entry.stat().st_size
    except OSError:
        return total
    return total
