"""The backfills of an application, in a directory of its state directory."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from streamlets.backfills.model import Backfill, BackfillError, is_name, require_name
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
        names = (file.parent.name for file in self.state.backfills.glob(f"*/{_FILE}"))
        return tuple(sorted(filter(is_name, names)))

    def home(self, name: str) -> Path:
        """Return the directory of a backfill, which is directly below the directory of all.

        Raises:
            BackfillError: no backfill may have this name.
        """
        require_name(name)
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
        """Delete what a backfill has stored. To be called by its owner; a kill never leaves half of it.

        Raises:
            BackfillError: the directory is not one of a backfill of this name; nothing is deleted.
        """
        home = self.home(name)
        self._require_own(name)
        deleted = home / _DELETED
        shutil.rmtree(deleted, ignore_errors=True)
        deleted.mkdir()
        for file in sorted(home.iterdir(), key=lambda file: file.name != _FILE):  # without it, there is no backfill
            if self._is_own(file) and file.name not in (_LOCK, _DELETED):
                file.rename(deleted / file.name)
        shutil.rmtree(deleted, ignore_errors=True)

    def delete(self, name: str) -> None:
        """Delete a backfill with its log, but not its results. To be called by its owner.

        Raises:
            BackfillError: as `clear`.
        """
        self.clear(name)
        home = self.home(name)
        home.with_name(f"{name}.log").unlink(missing_ok=True)
        (home / _LOCK).unlink(missing_ok=True)
        with suppress(OSError):  # files of others remain
            home.rmdir()

    def release(self, name: str) -> None:
        """Delete the snapshots, checkpoints and topics of a backfill that is done. To be called by its owner.

        Raises:
            BackfillError: as `clear`.
        """
        self._require_own(name)
        work = self.work(name)
        for directory in (work.topics, work.checkpoints):
            shutil.rmtree(directory, ignore_errors=True)

    def _is_own(self, file: Path) -> bool:
        """Return whether a file or directory in the directory of a backfill is a part of it."""
        name = file.name
        return name in (_FILE, _LOCK, _DELETED, self.state.application) or name.startswith(f".{_FILE}.")

    def _require_own(self, name: str) -> None:
        """Require that a directory, if it has anything, is the one of a backfill of this name.

        Raises:
            BackfillError: it is a link or a file, has files of others only, or another backfill.
            DamagedFileError: the file of the backfill is damaged.
        """
        home = self.home(name)
        files = [*home.iterdir()] if home.is_dir() else []
        linked = any(file.is_symlink() for file in (home, *filter(self._is_own, files)))
        known = self.read(name) if files and not linked else None
        begun = not files or ((home / _LOCK).is_file() and all(self._is_own(file) for file in files))
        if linked or home.is_file() or (known is None and not begun):
            raise BackfillError(
                f"{home} is not the directory of a backfill: it is a link or a file, or has other files",
                "choose another name, or move it away",
            )
        if known is not None and known.name != name:
            raise BackfillError(f"{home} has the backfill `{known.name}`", f"rename it to `{known.name}`, or delete it")

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
    def owned(
        self, name: str, help: str = "wait for it, or give this one another name with `--name`"
    ) -> Iterator[None]:
        """Own a backfill until the context is left; the operating system releases it when the owner exits.

        Arguments:
            name: its name.
            help: what to do if it is running.

        Raises:
            BackfillError: another process carries it out or has just deleted it, or its directory is not a backfill's.
            DamagedFileError: the file of the backfill is damaged.
            OSError: its directory cannot be written.
        """
        self._require_own(name)
        self.state.backfills.mkdir(exist_ok=True)
        self.home(name).mkdir(mode=0o700, exist_ok=True)
        lock = os.open(self.home(name) / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BackfillError(
                    f"the backfill `{name}` is already running, as process {self.owner(name) or 'unknown'}",
                    help,
                    refused=False,
                ) from None
            if not os.fstat(lock).st_nlink:
                raise BackfillError(f"the backfill `{name}` has just been deleted", "repeat the command", refused=False)
            os.truncate(lock, 0)
            os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
            yield
        finally:
            os.close(lock)
