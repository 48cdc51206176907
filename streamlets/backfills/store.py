"""The backfills of an application, in a directory of its state directory."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from streamlets.backfills.model import Backfill, BackfillError
from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.storage.damage import damaged
from streamlets.storage.files import write_atomically

_FILE = "backfill.json"
_LOCK = "lock"
_DELETED = ".deleted"


@dataclass(frozen=True, slots=True)
class Store:
    """The backfills of an application.

    Arguments:
        state: the state directory of the application.
    """

    state: StateDirectory

    def names(self) -> tuple[str, ...]:
        """Return the names of the backfills, sorted."""
        return tuple(sorted(file.parent.name for file in self.state.backfills.glob(f"*/{_FILE}")))

    def home(self, name: str) -> Path:
        """Return the directory of a backfill."""
        return self.state.backfills / name

    def work(self, name: str) -> StateDirectory:
        """Return the state directory in which the streamlet of a backfill runs."""
        return StateDirectory(self.home(name), self.state.application)

    def read(self, name: str) -> Backfill | None:
        """Return a backfill; None if there is none of that name.

        Raises:
            DamagedFileError: its file is damaged.
        """
        file = self.home(name) / _FILE
        try:
            text = file.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        try:
            return Backfill.from_json(text)
        except ValueError:
            remedy = f"delete the directory {file.parent}, and begin the backfill again"
            raise damaged(f"the file of the backfill `{name}`", file, text.encode(), remedy) from None

    def write(self, backfill: Backfill) -> None:
        """Store a backfill. To be called by its owner."""
        write_atomically(self.home(backfill.name) / _FILE, backfill.to_json(), durable=True)

    def clear(self, name: str) -> None:
        """Delete what a backfill has stored. To be called by its owner; a kill never leaves half of it."""
        home = self.home(name)
        deleted = home / _DELETED
        shutil.rmtree(deleted, ignore_errors=True)
        deleted.mkdir()
        for file in sorted(home.iterdir(), key=lambda file: file.name != _FILE):  # without it, there is no backfill
            if file.name not in (_LOCK, _DELETED):
                file.rename(deleted / file.name)
        shutil.rmtree(deleted, ignore_errors=True)

    def release(self, name: str) -> None:
        """Delete the snapshots, checkpoints and topics of a backfill that is done. To be called by its owner."""
        work = self.work(name)
        for directory in (work.topics, work.checkpoints):
            shutil.rmtree(directory, ignore_errors=True)

    def owner(self, name: str) -> int | None:
        """Return the id of the process that carries a backfill out; None without one, 0 when its id is unknown."""
        try:
            lock = os.open(self.home(name) / _LOCK, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            text = os.pread(lock, 32, 0).decode(errors="replace").strip()
            return int(text) if text.isdigit() else 0
        finally:
            os.close(lock)
        return None

    @contextmanager
    def owned(self, name: str) -> Iterator[None]:
        """Own a backfill until the context is left; the operating system releases it when the owner exits.

        Raises:
            BackfillError: another process carries it out.
            OSError: its directory cannot be written.
        """
        self.state.backfills.mkdir(exist_ok=True)
        self.home(name).mkdir(mode=0o700, exist_ok=True)
        lock = os.open(self.home(name) / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BackfillError(
                    f"the backfill `{name}` is already running, as process {self.owner(name) or 'unknown'}",
                    "wait for it, or give this one another name with `--name`",
                    refused=False,
                ) from None
            os.truncate(lock, 0)
            os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
            yield
        finally:
            os.close(lock)
