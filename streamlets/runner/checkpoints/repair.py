"""What is done about a checkpoint that a power cut damaged, before Spark meets it: mended where that is safe, else
refused with what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from streamlets.api.errors import StreamletError
from streamlets.runner.checkpoints.checkpoint import Checkpoint, latest, read_checkpoint

ASIDE = "_damaged"


class DamagedCheckpointError(StreamletError):
    """A checkpoint's files are damaged, and nobody knows any more what its query has read."""


def mend(folder: Path, written: Callable[[Checkpoint, int], bool]) -> Iterator[str]:
    """Put damaged files aside where the query then does what it would have done; one sentence each.

    Arguments:
        folder: the checkpoint's.
        written: whether a batch of the query may have been written, in part or wholly.

    Raises:
        DamagedCheckpointError: it cannot be mended.
    """
    found = read_checkpoint(folder)
    if not found.damage:
        return
    if not found.id and (folder / "metadata").exists():
        raise _refused(found, "topics know the query by the id that stands there")
    commits = latest(folder / "commits")
    if commits is not None and _broken(found, f"commits/{commits}"):
        _aside(folder, "commits", commits)
        yield f"commits/{commits} of its checkpoint was damaged: batch {commits} is replayed"
        found = read_checkpoint(folder)
        commits = latest(folder / "commits")
    planned = latest(folder / "offsets")
    if planned is not None and _broken(found, f"offsets/{planned}"):
        if planned == commits or written(found, planned):
            raise _refused(found, f"batch {planned} was written, and what it had read is not known any more")
        _aside(folder, "offsets", planned)
        was = f"offsets/{planned} of its checkpoint was damaged"
        yield f"{was}: batch {planned}, of which nothing was written, is planned anew"
        found = read_checkpoint(folder)
    if found.damage:
        raise _refused(found, "what the query has read is not known any more")


def _broken(found: Checkpoint, file: str) -> bool:
    return any(damage.startswith(f"{file} is ") for damage in found.damage)


def _aside(folder: Path, log: str, number: int) -> None:
    """Move a file of Spark's log, and its checksum, out of Spark's sight."""
    (folder / ASIDE).mkdir(exist_ok=True)
    (folder / log / str(number)).replace(folder / ASIDE / f"{log}-{number}")
    (folder / log / f".{number}.crc").unlink(missing_ok=True)


def _refused(found: Checkpoint, why: str) -> DamagedCheckpointError:
    return DamagedCheckpointError(
        f"the checkpoint of {found.name} is damaged ({'; '.join(found.damage)}): {why}. Put {found.folder} back from a "
        f"backup, or let the query begin anew with `flow checkpoints reset {found.name}`"
    )
