"""The folder in which an application keeps what must outlive a run, and the lock that gives it one owner."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

STATE_FOLDER = ".flow"
"""Beside the blueprint, unless `--state-dir` says otherwise."""


class StateError(Exception):
    """The state folder cannot be used; `help` says what to do."""

    def __init__(self, message: str, help: str) -> None:
        super().__init__(message)
        self.help = help


@dataclass(frozen=True, slots=True)
class StateFolder:
    """`<root>/<application>/` with `topics`, `checkpoints`, `status` and `logs`; nothing is made before `locked`."""

    root: Path
    application: str

    @property
    def folder(self) -> Path:
        """All of the application's."""
        return self.root / self.application

    @property
    def topics(self) -> Path:
        """A folder per topic of the embedded channel."""
        return self.folder / "topics"

    @property
    def checkpoints(self) -> Path:
        """`<streamlet>/<query>` below it is Spark's checkpoint of one query."""
        return self.folder / "checkpoints"

    @property
    def status_file(self) -> Path:
        """The run's status as JSON, replaced atomically."""
        return self.folder / "status" / "status.json"

    @property
    def logs(self) -> Path:
        """`run.log` is the runner's, `spark.log` Spark's."""
        return self.folder / "logs"

    @property
    def scratch(self) -> Path:
        """What no run needs after its end: emptied when the next one begins, as a killed one could not."""
        return self.folder / "tmp"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Own the folder; the operating system takes the lock back when the owner dies, however it dies.

        Raises:
            StateError: another process owns it, or it cannot be written.
        """
        with _writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                owner = os.read(lock, 32).decode(errors="replace").strip() or "unknown"
                raise StateError(
                    f"the application `{self.application}` is already run by process {owner} on {self.folder}",
                    "stop that run first, or give this one a state folder of its own with `--state-dir`",
                ) from None
            with _writing(self.folder):
                os.truncate(lock, 0)
                os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
                shutil.rmtree(self.scratch, ignore_errors=True)
                for folder in (self.topics, self.checkpoints, self.status_file.parent, self.logs, self.scratch):
                    folder.mkdir(parents=True, exist_ok=True)
            yield
            shutil.rmtree(self.scratch, ignore_errors=True)
        finally:
            os.close(lock)

    def holds_anything(self) -> bool:
        """Whether an earlier run left topics or checkpoints."""
        return any(folder.is_dir() and any(folder.iterdir()) for folder in (self.topics, self.checkpoints))

    def clear(self) -> None:
        """Forget topics, checkpoints and status; to be called by the owner. They vanish whole before they are deleted.

        Raises:
            StateError: the folder cannot be written.
        """
        with _writing(self.folder):
            grave = Path(tempfile.mkdtemp(prefix="cleared-", dir=self.scratch))
            # Checkpoints first: topics without checkpoints are read again, checkpoints without topics cannot go on.
            for folder in (self.checkpoints, self.topics, self.status_file.parent):
                folder.rename(grave / folder.name)
                folder.mkdir()
            shutil.rmtree(grave, ignore_errors=True)


def write_atomically(file: Path, text: str) -> None:
    """Replace a file's text; a reader sees the old or the new one, never a part."""
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    draft.write_text(text, encoding="utf-8")
    draft.replace(file)


def read_status(state: StateFolder) -> Mapping[str, object] | None:
    """The last status that a run of the application wrote; None when there is none."""
    try:
        found = json.loads(state.status_file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StateError(
            f"the state folder {folder} cannot be written: {error.strerror or error}",
            "free space, correct the permissions, or choose another folder with `--state-dir`",
        ) from error
