"""`DiscoveryProgress`: what the runner reports of the discoveries of a source, in a file of the state directory."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

from streamlets.storage import objects


@dataclass(frozen=True, slots=True)
class DiscoveryProgress:
    """The discoveries of a source.

    Arguments:
        run: the run that reports, as a number that increases; 0 before the first one.
        discoveries: the number of discoveries that this run has completed.
        discovered: the number of tasks that were discovered in all.
        read: the number of tasks whose batch is committed.
        repeated: the number of tasks of this run that were dropped because of their key.
        dropped: the number of triggers of this run that were dropped because a discovery was running.
        running: what triggered the discovery that is running; None without one.
        oldest: when the oldest unread task was discovered, in seconds since the epoch; None without one.
        failed: the number of tasks that have failed for good and were not repeated.
        abandoned: whether this run, which is bounded, discovers no more, although its discovery is not complete.
        failure: why this run's last discovery failed; "" if it did not.
    """

    run: int = 0
    discoveries: int = 0
    discovered: int = 0
    read: int = 0
    repeated: int = 0
    dropped: int = 0
    running: str | None = None
    oldest: float | None = None
    failed: int = 0
    abandoned: bool = False
    failure: str = ""

    @property
    def backlog(self) -> int:
        """The number of tasks whose batch is not committed."""
        return self.discovered - self.read


def progress_file(state: Path, streamlet: str) -> Path:
    """Return the file of a source.

    Arguments:
        state: the state directory of the application.
        streamlet: the name of the source.
    """
    return state / "discovery" / streamlet / "progress.json"


def write_progress(path: Path, progress: DiscoveryProgress) -> None:
    """Replace the file in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    objects.replace(path, json.dumps(asdict(progress)).encode())


def read_progress(path: Path) -> DiscoveryProgress:
    """Return the content of the file; the default if there is none."""
    try:
        stored = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return DiscoveryProgress()
    known = {field.name for field in fields(DiscoveryProgress)}
    return replace(DiscoveryProgress(), **{name: value for name, value in stored.items() if name in known})
