"""Repair of a checkpoint that a power cut damaged, before Spark reads it; an unsafe repair is refused with help."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from streamlets.api.errors import StreamletError
from streamlets.runner.checkpoints.checkpoint import Checkpoint, latest, read_checkpoint

DAMAGED = "_damaged"
"""The directory in a checkpoint for its damaged files."""


class DamagedCheckpointError(StreamletError):
    """Files of a checkpoint are damaged or missing, such that it is unknown what its query has read."""


def repair(directory: Path, written: Callable[[Checkpoint, int], bool]) -> Iterator[str]:
    """Move damaged files of a checkpoint away if the query then continues as if they had been intact.

    Yields a sentence for each file.

    Arguments:
        directory: the directory of the checkpoint.
        written: returns whether a batch of the query may have been written, partly or completely.

    Raises:
        DamagedCheckpointError: the checkpoint cannot be repaired safely.
    """
    remove_temporary_files(directory)
    checkpoint = read_checkpoint(directory)
    if not checkpoint.damage:
        return
    if not checkpoint.id and ((directory / "metadata").exists() or _is_lost(checkpoint, "metadata")):
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
        if planned == 0:
            _move_state_away(directory)
        yield (
            f"offsets/{planned} of its checkpoint was damaged: batch {planned} is planned again, nothing of it was "
            "written"
        )
        checkpoint = read_checkpoint(directory)
    if checkpoint.damage:
        raise _unrepairable(checkpoint, "the records that the query has read are unknown")


def require_complete(directory: Path, written: Callable[[Checkpoint, int], bool]) -> None:
    """Refuse a checkpoint without the last batches of its query, such as one from an old backup.

    Spark plans a batch in the checkpoint before it executes it. So if the next batch is written already, its plan was
    lost. Spark would plan other records under its number, and topics would drop these records as known ones.

    Arguments:
        directory: the directory of the checkpoint, without damage.
        written: returns whether a batch of the query, or a later one, is known to be written.

    Raises:
        DamagedCheckpointError: batches that were written are missing.
    """
    checkpoint = read_checkpoint(directory)
    last = checkpoint.latest
    following = last.number + 1 if last is not None else 0
    if checkpoint.id and written(checkpoint, following):
        end = f"ends with batch {last.number}" if last is not None else "has no batch"
        raise DamagedCheckpointError(
            f"the checkpoint of {checkpoint.name} {end}, but batch {following} was written: its plan was lost, and "
            f"other records under its number would be dropped. {_remedy(checkpoint)}"
        )


def remove_temporary_files(directory: Path) -> None:
    """Delete the files that Spark was writing when it was stopped, under names such as `.0.<uuid>.tmp`.

    Spark renames these files once they are whole and never reads them again, but it refuses to begin batch 0 while
    there is any file in `offsets` or `commits` (STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY).
    """
    for place in (directory, directory / "offsets", directory / "commits"):
        for pattern in (".*.tmp", "..*.tmp.crc"):
            for file in place.glob(pattern):
                file.unlink(missing_ok=True)


def _move_state_away(directory: Path) -> None:
    """Move the state of an unplanned batch 0 out of Spark's reach: Spark does not begin batch 0 with state.

    State whose logs are missing for another reason stays, and Spark refuses to start: topics would drop what a query
    writes in a batch that they already have under its id.
    """
    state = directory / "state"
    if state.is_dir():
        (directory / DAMAGED).mkdir(exist_ok=True)
        shutil.rmtree(directory / DAMAGED / "state", ignore_errors=True)
        state.replace(directory / DAMAGED / "state")


def _is_damaged(checkpoint: Checkpoint, file: str) -> bool:
    return any(damage.startswith(f"{file} is ") for damage in checkpoint.damage)


def _is_lost(checkpoint: Checkpoint, file: str) -> bool:
    return any(damage.startswith(f"{file}, ") for damage in checkpoint.damage)


def _move_away(directory: Path, log: str, number: int) -> None:
    """Move a file of Spark's log to where Spark does not read it, and delete its checksum."""
    (directory / DAMAGED).mkdir(exist_ok=True)
    (directory / log / str(number)).replace(directory / DAMAGED / f"{log}-{number}")
    (directory / log / f".{number}.crc").unlink(missing_ok=True)


def _unrepairable(checkpoint: Checkpoint, why: str) -> DamagedCheckpointError:
    return DamagedCheckpointError(
        f"the checkpoint of {checkpoint.name} is damaged ({'; '.join(checkpoint.damage)}): {why}. {_remedy(checkpoint)}"
    )


def _remedy(checkpoint: Checkpoint) -> str:
    return (
        f"Restore {checkpoint.directory} from a backup, or reset the checkpoint with "
        f"`flow checkpoints reset {checkpoint.name}`"
    )
