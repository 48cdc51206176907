"""Repair of a checkpoint that a power cut damaged, before Spark reads it; an unsafe repair is refused with help."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from streamlets.api.errors import StreamletError
from streamlets.runner.checkpoints.checkpoint import Checkpoint, latest, read_checkpoint

DAMAGED = "_damaged"
"""The directory in a checkpoint for its damaged files."""


class DamagedCheckpointError(StreamletError):
    """A checkpoint's files are damaged such that it is unknown what its query has read."""


def repair(directory: Path, written: Callable[[Checkpoint, int], bool]) -> Iterator[str]:
    """Move damaged files of a checkpoint away if the query then continues as if they had been intact.

    Yields a sentence for each file.

    Arguments:
        directory: the directory of the checkpoint.
        written: returns whether a batch of the query may have been written, partly or completely.

    Raises:
        DamagedCheckpointError: the checkpoint cannot be repaired safely.
    """
    checkpoint = read_checkpoint(directory)
    if not checkpoint.damage:
        return
    if not checkpoint.id and (directory / "metadata").exists():
        raise _unrepairable(checkpoint, "topics identify the query by the id in that file")
    commits = latest(directory / "commits")
    if commits is not None and _is_damaged(checkpoint, f"commits/{commits}"):
        _move_away(directory, "commits", commits)
        yield f"commits/{commits} of its checkpoint was damaged: batch {commits} is replayed"
        checkpoint = read_checkpoint(directory)
        commits = latest(directory / "commits")
    planned = latest(directory / "offsets")
    if planned is not None and _is_damaged(checkpoint, f"offsets/{planned}"):
        if planned == commits or written(checkpoint, planned):
            raise _unrepairable(checkpoint, f"batch {planned} was written, but the records that it read are unknown")
        _move_away(directory, "offsets", planned)
        yield (
            f"offsets/{planned} of its checkpoint was damaged: batch {planned} is planned again, nothing of it was "
            "written"
        )
        checkpoint = read_checkpoint(directory)
    if checkpoint.damage:
        raise _unrepairable(checkpoint, "the records that the query has read are unknown")


def _is_damaged(checkpoint: Checkpoint, file: str) -> bool:
    return any(damage.startswith(f"{file} is ") for damage in checkpoint.damage)


def _move_away(directory: Path, log: str, number: int) -> None:
    """Move a file of Spark's log to where Spark does not read it, and delete its checksum."""
    (directory / DAMAGED).mkdir(exist_ok=True)
    (directory / log / str(number)).replace(directory / DAMAGED / f"{log}-{number}")
    (directory / log / f".{number}.crc").unlink(missing_ok=True)


def _unrepairable(checkpoint: Checkpoint, why: str) -> DamagedCheckpointError:
    return DamagedCheckpointError(
        f"the checkpoint of {checkpoint.name} is damaged ({'; '.join(checkpoint.damage)}): {why}. Restore "
        f"{checkpoint.folder} from a backup, or reset the checkpoint with `flow checkpoints reset {checkpoint.name}`"
    )
