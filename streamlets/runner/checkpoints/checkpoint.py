"""Checkpoints of queries, read from Spark's files without Spark: planned and committed batches, state, damage."""

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
        number: Spark's number of the batch.
        time: when it was planned, in seconds since the epoch.
        positions: its end in each source, as JSON text by the name of the source (by its number if sources have no
            names), without sources that had no data yet.
        settings: the Spark settings stored in the checkpoint, which override the session's.
    """

    number: int
    time: float
    positions: Mapping[str, str]
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Operator:
    """A stateful operator. Its properties are read from its files on access, as there may be many files.

    Arguments:
        number, name: Spark's number and name of the operator.
        directory: the directory of its state.
    """

    number: int
    name: str
    directory: Path

    @property
    def version(self) -> int | None:
        """The version of its state, which is the number of batches in it; None without any."""
        versions = (
            int(head)
            for partition in self._partitions()
            for _, _, files in os.walk(partition)
            for file in files
            if (head := file.partition(".")[0].partition("_")[0]).isdigit() and file.endswith(_STATE_FILES)
        )
        return max(versions, default=None)

    @property
    def partitions(self) -> int:
        """The number of its partitions."""
        return len(self._partitions())

    @property
    def bytes(self) -> int:
        """The size of all its files."""
        return _size(self.directory)

    def _partitions(self) -> list[Path]:
        try:
            return [entry for entry in self.directory.iterdir() if entry.name.isdigit()]
        except OSError:  # it has none yet, or the checkpoint is being reset
            return []


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A snapshot of the checkpoint of a query; sizes are read on access.

    Arguments:
        directory: the directory of the checkpoint.
        id: Spark's id of the query, "" when it does not exist or cannot be read.
        committed: the last committed batch; None without one.
        planned: the batch that was planned but not committed, which the next start replays; None without one.
        watermark: the watermark of the next batch, in seconds since the epoch; None when the query has none (yet).
        operators: the stateful operators, by number.
        damage: the damage of its files, one sentence each.
    """

    streamlet: str
    query: str
    directory: Path
    id: str
    committed: Batch | None
    planned: Batch | None
    watermark: float | None
    operators: tuple[Operator, ...]
    damage: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of the query with its streamlet, `streamlet.query`."""
        return f"{self.streamlet}.{self.query}"

    @property
    def latest(self) -> Batch | None:
        """The planned batch, or else the committed one."""
        return self.planned or self.committed

    @property
    def starts(self) -> Mapping[str, str]:
        """Where the batch after the committed one begins in each source, like `Batch.positions`, if it is known."""
        committed = self.committed.positions if self.committed is not None else {}
        planned = self.planned.positions if self.planned is not None else {}
        first = {
            source: initial_position(self.directory, source, end)
            for source, end in planned.items()
            if source not in committed
        }
        return {source: at for source, at in first.items() if at is not None} | dict(committed)

    @property
    def bytes(self) -> int:
        """The size of all its files."""
        return _size(self.directory)


def initial_position(directory: Path, source: str, end: str) -> str | None:
    """Return where the first batch of a source began, as JSON text; None if the source has not stored it.

    Arguments:
        directory: the directory of the checkpoint.
        source: the name of the source, or its number if sources have no names.
        end: the end of the batch in the source, as JSON text.
    """
    sources = directory / "sources"
    if not source.isdigit() or (sources / source).exists():
        return _initial_position(sources / source)
    # Spark 4.2 names the directories of sources, and numbers their positions: the one with the same topics is meant.
    stored = map(_initial_position, sorted(sources.glob("*")))
    return next((at for at in stored if at is not None and _topics(at) == _topics(end) != set()), None)


def _initial_position(source: Path) -> str | None:
    try:
        return (source / "0").read_text(encoding="utf-8").partition("\n")[2] or None
    except (OSError, ValueError):
        return None


def _topics(position: str) -> set[str]:
    """Return the keys of a position, which are its topics in Kafka; none if it is not an object."""
    try:
        value = json.loads(position)
    except ValueError:
        return set()
    return set(value) if isinstance(value, dict) else set()


def checkpoints_in(root: Path) -> tuple[Checkpoint, ...]:
    """Return the checkpoints `<streamlet>/<query>` below an application's directory of checkpoints, sorted."""
    directories = sorted(root.glob("*/*")) if root.is_dir() else []
    return tuple(
        read_checkpoint(directory) for directory in directories if directory.is_dir() or directory.is_symlink()
    )


def read_checkpoint(directory: Path) -> Checkpoint:
    """Read the checkpoint in a directory `<streamlet>/<query>`; damage does not raise but is in `Checkpoint.damage`."""
    damage: list[str] = []
    if directory.is_symlink() and not directory.exists():
        damage.append(f"its directory {directory.readlink()} does not exist")
    metadata = _json(directory / "metadata", damage, line=0) if (directory / "metadata").exists() else {}
    offsets, commits = latest(directory / "offsets"), latest(directory / "commits")
    committed = planned = None
    if commits is not None:
        committed = _batch(directory, commits, damage)
    if offsets is not None and offsets != commits:
        planned = _batch(directory, offsets, damage)
    if not (directory / "metadata").exists() and (committed is not None or planned is not None):
        damage.append("metadata, which has the id of the query, is missing")
    if commits is not None and (offsets is None or offsets < commits):
        damage.append(f"batch {commits} is committed, but offsets/{commits}, the positions that it read, is missing")
    commit = _json(directory / "commits" / str(commits), damage, line=1) if commits is not None else {}
    watermark = commit.get("nextBatchWatermarkMs")
    return Checkpoint(
        streamlet=directory.parent.name,
        query=directory.name,
        directory=directory,
        id=str(metadata.get("id", "")),
        committed=committed,
        planned=planned,
        watermark=watermark / 1000 if isinstance(watermark, int | float) and watermark > 0 else None,
        operators=tuple(
            Operator(number, name, directory / "state" / str(number)) for number, name in operators(directory)
        ),
        damage=tuple(damage),
    )


def batch_in(directory: Path, number: int) -> Batch | None:
    """Return a batch of a checkpoint; None if Spark has not planned it, no longer keeps it, or its file is damaged.

    Arguments:
        directory: the directory of the checkpoint.
        number: the number of the batch.
    """
    return _batch(directory, number, [])


def latest(directory: Path) -> int | None:
    """Return the highest number of a file of Spark's log in a directory; None without files."""
    return max(numbers(directory), default=None)


def numbers(directory: Path) -> Iterator[int]:
    """Yield the numbers of the files of Spark's log in a directory."""
    if directory.is_dir():
        yield from (int(entry.name) for entry in os.scandir(directory) if entry.name.isdigit())


def _batch(directory: Path, number: int, damage: list[str]) -> Batch | None:
    """Return the batch of `offsets/<number>`; None when the file is damaged or missing."""
    path = directory / "offsets" / str(number)
    if not path.exists():
        return None
    metadata = _json(path, damage, line=1)
    if not metadata:
        return None
    positions = {}
    for place, line in enumerate(_lines(path)[2:]):
        name, separator, position = line.partition(":")
        if line.startswith("{") or not separator:
            name, position = str(place), line  # sources without names, in their order
        if position not in ("", "-"):
            positions[name] = position
    settings = metadata.get("conf")
    return Batch(
        number=number,
        time=_number(metadata.get("batchTimestampMs")) / 1000,
        positions=positions,
        settings=settings if isinstance(settings, dict) else {},
    )


def _json(path: Path, damage: list[str], *, line: int) -> dict[str, object]:
    """Return the JSON object in a line of one of Spark's files; without one, add to the damage and return {}."""
    try:
        value = json.loads(_lines(path)[line])
    except (OSError, ValueError, IndexError):
        value = None
    if isinstance(value, dict):
        return value
    place = path.relative_to(path.parent.parent) if path.name.isdigit() else path.name
    damage.append(f"{place} is {'empty' if not _size(path) else 'damaged'}")
    return {}


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


_STATE_FILES = (".changelog", ".zip", ".delta", ".snapshot")


def _size(path: Path) -> int:
    """Return the size in bytes of a file, or of all files below a directory; files deleted meanwhile count as 0."""
    total = 0
    try:
        if not path.is_dir():
            return path.stat().st_size
        for entry in os.scandir(path):
            total += _size(Path(entry.path)) if entry.is_dir() else entry.stat().st_size
    except OSError:
        return total
    return total
