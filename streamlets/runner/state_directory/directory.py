"""The folder in which an application keeps what must outlive a run, and the lock that gives it one owner."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

STATE_DIRECTORY = ".flow"
"""Beside the blueprint, unless `--state-dir` says otherwise."""

DESCRIPTOR = "descriptor.json"
"""What the application was when it last ran, in its folder."""

LOCK = "lock"
"""The file whose lock the owner of an application's folder holds."""

HANDED_OVER = "STREAMLETS_STATE_LOCK"
"""The environment variable that gives the next version of a runner, in the same process, the lock's descriptor."""

ACCESS: Mapping[str, int] = {"owner": 0o700, "group": 0o750}
"""The mode of an application's directories, by who may read them. What is below has the modes that Spark, Python and
the umask give it: nobody reaches it whom these do not let through."""

# Who only looks whether the folder is owned holds its lock for an instant; so long an owner-to-be tries again.
_LOCK_PATIENCE = 0.5
_LOCK_PAUSE = 0.02


class StateError(Exception):
    """The state folder cannot be used; `help` says what to do."""

    def __init__(self, message: str, help: str) -> None:
        super().__init__(message)
        self.help = help


@dataclass(frozen=True, slots=True)
class StateDirectory:
    """`<root>/<application>/` with `topics`, `checkpoints`, `status` and `logs`; nothing is made before `locked`."""

    root: Path
    application: str

    @property
    def directory(self) -> Path:
        """All of the application's."""
        return self.root / self.application

    @property
    def topics(self) -> Path:
        """A folder per topic of the embedded channel."""
        return self.directory / "topics"

    @property
    def checkpoints(self) -> Path:
        """`<streamlet>/<query>` below it is Spark's checkpoint of one query."""
        return self.directory / "checkpoints"

    @property
    def status_file(self) -> Path:
        """The run's status as JSON, replaced atomically."""
        return self.directory / "status" / "status.json"

    @property
    def descriptor_file(self) -> Path:
        """What the application was when it last ran, for whoever upgrades it."""
        return self.directory / DESCRIPTOR

    @property
    def logs(self) -> Path:
        """`run.log` is the runner's, `spark.log` Spark's."""
        return self.directory / "logs"

    @property
    def scratch(self) -> Path:
        """What no run needs after its end: emptied when the next one begins, as a killed one could not."""
        return self.directory / "tmp"

    @property
    def control(self) -> Path:
        """Requests to the runner and its answers."""
        return self.directory / "control"

    @property
    def paused_file(self) -> Path:
        """The paused streamlets, with the reason: they stay down in the next run, too."""
        return self.directory / "status" / "paused.json"

    @property
    def launch_file(self) -> Path:
        """What the run was started with, for an upgrade; only its owner may read it, for settings may be secret."""
        return self.directory / "status" / "launch.json"

    @property
    def upgrade_file(self) -> Path:
        """What became of the last upgrade; only its owner may read it, for settings may be secret."""
        return self.directory / "status" / "upgrade.json"

    def keep_launch(self, arguments: tuple[str, ...]) -> None:
        """Note what the run was started with.

        Raises:
            StateError: the folder cannot be written.
        """
        with _writing(self.directory):
            self.launch_file.unlink(missing_ok=True)
            file = os.open(self.launch_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(file, "w", encoding="utf-8") as text:
                json.dump(arguments, text)

    def launched(self) -> tuple[str, ...]:
        """What the last run was started with; () when that is not known to this user."""
        try:
            found = json.loads(self.launch_file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return ()
        return tuple(str(each) for each in found) if isinstance(found, list) else ()

    def owner(self) -> int | None:
        """The process that owns the folder; None when none does, 0 when it does not say."""
        try:
            lock = os.open(self._lock_file, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                text = os.pread(lock, 32, 0).decode(errors="replace").strip()
                return int(text) if text.isdigit() else 0
            return None
        finally:
            os.close(lock)

    @property
    def _lock_file(self) -> Path:
        return self.directory / LOCK

    @contextmanager
    def locked(self, mode: int | None = None) -> Iterator[int]:
        """Own the folder; the operating system takes the lock back when the owner dies, however it dies.

        Gives the lock's descriptor: the lock is held as long as a duplicate of it is open.

        Arguments:
            mode: of the application's directories, out of `ACCESS`; None leaves them as they are.

        Raises:
            StateError: another process owns it, or it cannot be written.
        """
        with _writing(self.directory):
            known = self.directory.is_dir()
            self.directory.mkdir(mode=ACCESS["owner"], parents=True, exist_ok=True)
            if mode is None:
                mode = stat.S_IMODE(self.directory.stat().st_mode) if known else ACCESS["owner"]
            _restrict(self.directory, mode)
            lock = self._handed_over()
            if lock is None:
                lock = os.open(self._lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            if not _taken(lock):
                raise StateError(
                    f"the application `{self.application}` is already run by process {self.owner() or 'unknown'} on "
                    f"{self.directory}",
                    "`flow status` says how it is and `flow stop` ends it; or give this run a state folder of its own "
                    "with `--state-dir`",
                )
            with _writing(self.directory):
                os.truncate(lock, 0)
                os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
                shutil.rmtree(self.scratch, ignore_errors=True)
                for folder in (self.topics, self.checkpoints, self.status_file.parent, self.logs, self.scratch):
                    folder.mkdir(parents=True, exist_ok=True)
                    _restrict(folder, mode)
            yield lock
            shutil.rmtree(self.scratch, ignore_errors=True)
        finally:
            os.close(lock)

    @property
    def taken_over(self) -> bool:
        """Whether this process takes over from the version that ran in it, and has not locked the folder yet."""
        return HANDED_OVER in os.environ

    def _handed_over(self) -> int | None:
        """The lock's descriptor as the version before this one left it to this process."""
        text = os.environ.pop(HANDED_OVER, "")
        try:
            lock = int(text)
            if not os.path.samestat(os.fstat(lock), self._lock_file.stat()):
                return None
            os.set_inheritable(lock, False)
        except (ValueError, OSError):
            return None
        return lock

    def holds_anything(self) -> bool:
        """Whether an earlier run left topics or checkpoints."""
        return any(folder.is_dir() and any(folder.iterdir()) for folder in (self.topics, self.checkpoints))

    def clear(self) -> None:
        """Delete topics, checkpoints, status and descriptor; to be called by the owner. Directories vanish whole first.

        Raises:
            StateError: the folder cannot be written.
        """
        with _writing(self.directory):
            grave = Path(tempfile.mkdtemp(prefix="cleared-", dir=self.scratch))
            # Checkpoints first: topics without checkpoints are read again, checkpoints without topics cannot go on.
            for folder in (self.checkpoints, self.topics, self.status_file.parent):
                mode = stat.S_IMODE(folder.stat().st_mode)
                folder.rename(grave / folder.name)
                folder.mkdir(mode=ACCESS["owner"])
                _restrict(folder, mode)
            self.descriptor_file.unlink(missing_ok=True)  # last: checkpoints without it cannot be compared with
            shutil.rmtree(grave, ignore_errors=True)


def is_application(folder: Path) -> bool:
    """Whether a directory holds the state of an application: the lock that a run makes before anything else, or, where
    only a part was copied, a topic or a checkpoint."""
    return (folder / LOCK).is_file() or any(
        True for pattern in ("topics/*/*/_delta_log", "checkpoints/*/*/offsets") for _ in folder.glob(pattern)
    )


def applications_in(root: Path) -> tuple[str, ...]:
    """The names of the applications that keep their state in a directory, sorted; other directories may lie there."""
    try:
        return tuple(sorted(folder.name for folder in root.iterdir() if is_application(folder)))
    except OSError:
        return ()


def _restrict(folder: Path, mode: int) -> None:
    """Give a directory a mode, and leave it the group that what is made in it inherits. One of another user's keeps its
    own: who shares a directory with others may not change it."""
    now = stat.S_IMODE(folder.stat().st_mode)
    wanted = mode | (now & stat.S_ISGID)
    if now != wanted:
        with suppress(PermissionError):
            folder.chmod(wanted)


def _taken(lock: int) -> bool:
    """Take the lock; False when another process keeps it."""
    for _ in range(round(_LOCK_PATIENCE / _LOCK_PAUSE)):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_LOCK_PAUSE)
        else:
            return True
    return False


def write_atomically(file: Path, text: str, *, durable: bool = False, private: bool = False) -> None:
    """Replace a file's text; a reader sees the old or the new one, never a part.

    Arguments:
        durable: whether that holds after a power cut, too; it takes a write to the disk.
        private: whether only its owner may read it.
    """
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        mode = 0o600 if private else 0o666
        with open(draft, "w", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, mode)) as stream:
            stream.write(text)
            if durable:
                stream.flush()
                os.fsync(stream.fileno())
        draft.replace(file)
    except OSError:
        with suppress(OSError):
            draft.unlink()
        raise


def read_status(state: StateDirectory) -> Mapping[str, object] | None:
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
