"""The directory with everything of an application that outlives a run, and the lock for its single owner."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from blueprint.plan import STATE_DIRECTORY as STATE_DIRECTORY
from streamlets.ownership import NotTrustedError, read_own
from streamlets.runner.state_directory.checkpoint_links import delete_linked
from streamlets.runner.state_directory.trust import StateError as StateError
from streamlets.runner.state_directory.trust import require_own_place, require_own_state

DESCRIPTOR = "descriptor.json"
"""The file with the descriptor of the application as of its last run."""

PLACES = "places.json"
"""The file with the id of the state and the places of its project."""

LOCK = "lock"
"""The file that is locked by the owner of an application's directory."""

HANDED_OVER = "STREAMLETS_STATE_LOCK"
"""The environment variable that passes the lock's file descriptor to the next version of a runner, in the same
process."""

ACCESS: Mapping[str, int] = {"owner": 0o700, "group": 0o750}
"""The mode of an application's directories for each value of `flow.state-access`. Files below them have the modes that
Spark, Python and the umask set; only users who may enter the directories can reach them."""

# A process that only checks for an owner takes the lock for an instant. A new owner retries for this many seconds.
_LOCK_PATIENCE = 0.5
_LOCK_PAUSE = 0.02


@dataclass(frozen=True, slots=True)
class StateDirectory:
    """The paths below `<root>/<application>/`; nothing is created before `locked`."""

    root: Path
    application: str

    @property
    def directory(self) -> Path:
        """The directory of the application; all others are below it."""
        return self.root / self.application

    @property
    def topics(self) -> Path:
        """The directory with a directory for each topic of the embedded channel."""
        return self.directory / "topics"

    @property
    def checkpoints(self) -> Path:
        """The directory with Spark's checkpoint of each query, `<streamlet>/<query>`."""
        return self.directory / "checkpoints"

    @property
    def status_file(self) -> Path:
        """The file with the run's status as JSON, which is replaced atomically."""
        return self.directory / "status" / "status.json"

    @property
    def descriptor_file(self) -> Path:
        """The file with the descriptor of the application as of its last run, to compare the next version with."""
        return self.directory / DESCRIPTOR

    @property
    def previous_descriptor_file(self) -> Path:
        """The file with the descriptor of the version before the one that ran last; none before the first change."""
        return self.directory / "previous-descriptor.json"

    @property
    def last_run_file(self) -> Path:
        """The file with the descriptor of the last run, if a deletion has left the status of the run without it."""
        return self.status_file.with_name(DESCRIPTOR)

    @property
    def deletion_file(self) -> Path:
        """The file that exists from the decision to delete topics and checkpoints until all are deleted."""
        return self.directory / "deletion.json"

    @property
    def logs(self) -> Path:
        """The directory of the log files: `run.log` of the runner, `spark.log` of Spark."""
        return self.directory / "logs"

    @property
    def event_history(self) -> Path:
        """The file with the events of the last runs as lines of JSON; the older half is in a file beside it."""
        return self.logs / "events.jsonl"

    @property
    def scratch(self) -> Path:
        """The directory for temporary files. It is emptied when a run ends, and when one starts after a killed one."""
        return self.directory / "tmp"

    @property
    def staging(self) -> Path:
        """The directory of data that was delivered but not committed, with a directory for each streamlet."""
        return self.directory / "staging"

    @property
    def spouts(self) -> Path:
        """The directory with the report and the lease of each spout; it is cleared together with the topics."""
        return self.directory / "status" / "spouts"

    @property
    def samples(self) -> Path:
        """The directory of the samples of the last day, and of the last batches, see `samples.reading`.

        It is cleared with the topics.
        """
        return self.directory / "status" / "samples"

    @property
    def control(self) -> Path:
        """The directory of the requests to the runner and its answers."""
        return self.directory / "control"

    @property
    def backfills(self) -> Path:
        """The directory with a directory for each backfill; a run does not use it."""
        return self.directory / "backfills"

    @property
    def paused_file(self) -> Path:
        """The file with the paused streamlets and the cause of each; they stay paused in the next run."""
        return self.directory / "status" / "paused.json"

    @property
    def launch_file(self) -> Path:
        """The file with the arguments of the run, for an upgrade; private to the user, as settings may be secret."""
        return self.directory / "status" / "launch.json"

    @property
    def upgrade_file(self) -> Path:
        """The file with the outcome of the last upgrade; private to the user, as settings may be secret."""
        return self.directory / "status" / "upgrade.json"

    def keep_launch(self, arguments: tuple[str, ...]) -> None:
        """Write the arguments that the run was started with.

        Raises:
            StateError: the directory cannot be written.
        """
        with _writing(self.directory):
            self.launch_file.unlink(missing_ok=True)
            file = os.open(self.launch_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(file, "w", encoding="utf-8") as text:
                json.dump(arguments, text)

    def launched(self) -> tuple[str, ...]:
        """Return the arguments of the last run; () when this user cannot read them, or another one wrote them."""
        try:
            arguments = json.loads(read_own(self.launch_file))
        except (OSError, ValueError, NotTrustedError):
            return ()
        return tuple(str(argument) for argument in arguments) if isinstance(arguments, list) else ()

    def owner(self) -> int | None:
        """Return the id of the process that owns the directory; None without an owner, 0 when its id is unknown."""
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
        """Own the directory until the context is left; the operating system releases the lock when the owner exits.

        Yields the lock's file descriptor. The lock is held as long as a duplicate of it is open.

        Arguments:
            mode: the mode of the application's directories, from `ACCESS`; None leaves them as they are.

        Raises:
            StateError: another process owns the directory, it cannot be written, or another user can change it.
        """
        require_own_place(self.directory)
        with _writing(self.directory):
            known = self.directory.is_dir()
            self.directory.mkdir(mode=ACCESS["owner"], parents=True, exist_ok=True)
            if mode is None:
                mode = stat.S_IMODE(self.directory.stat().st_mode) if known else ACCESS["owner"]
            _restrict(self.directory, mode)
        require_own_state(self.directory)
        with _writing(self.directory):
            lock = self._handed_over()
            if lock is None:
                lock = os.open(self._lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        try:
            if not _take(lock):
                raise StateError(
                    f"the application `{self.application}` is already running on {self.directory}, as process "
                    f"{self.owner() or 'unknown'}",
                    "show it with `flow status`, stop it with `flow stop`, or choose another state directory for this "
                    "run with `--state-dir`",
                )
            with _writing(self.directory):
                os.truncate(lock, 0)
                os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
                shutil.rmtree(self.scratch, ignore_errors=True)
                for directory in (self.topics, self.checkpoints, self.status_file.parent, self.logs, self.scratch):
                    directory.mkdir(parents=True, exist_ok=True)
                    _restrict(directory, mode)
            yield lock
            shutil.rmtree(self.scratch, ignore_errors=True)
        finally:
            os.close(lock)

    @property
    def taken_over(self) -> bool:
        """Whether this process takes over from the version that ran in it, and has not locked the directory yet."""
        return HANDED_OVER in os.environ

    def _handed_over(self) -> int | None:
        """Return the lock's file descriptor if the previous version passed it to this process, else None."""
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
        """Return whether an earlier run left topics or checkpoints."""
        return any(directory.is_dir() and any(directory.iterdir()) for directory in (self.topics, self.checkpoints))

    def clear(self, external: Collection[str] = ()) -> None:
        """Delete topics, checkpoints, status and descriptor. To be called by the owner.

        Arguments:
            external: the names of topics that other applications own, which stay.

        Raises:
            StateError: the directory cannot be written.
        """
        with _writing(self.directory):
            # Checkpoints first: topics without checkpoints are read again, checkpoints without topics cannot go on.
            self.delete_checkpoints()
            self._empty(self.topics, external)
            self._empty(self.status_file.parent)
            (self.directory / PLACES).unlink(missing_ok=True)
            self.previous_descriptor_file.unlink(missing_ok=True)
            self.descriptor_file.unlink(missing_ok=True)  # no comparison is possible without the descriptor
            self.deletion_file.unlink(missing_ok=True)  # last: until then, topics without checkpoints are not read

    def delete_checkpoints(self) -> None:
        """Delete all checkpoints, including those outside of the state directory. To be called by the owner.

        Raises:
            OSError: they cannot be deleted.
        """
        for checkpoint in self.checkpoints.glob("*/*"):
            if checkpoint.is_symlink():
                delete_linked(checkpoint)
        self._empty(self.checkpoints)

    def _empty(self, directory: Path, kept: Collection[str] = ()) -> None:
        """Empty a directory; what is in it is moved away before it is deleted, so that a kill never leaves half of it.

        Arguments:
            directory: the directory.
            kept: the names of what stays in it.
        """
        grave = Path(tempfile.mkdtemp(prefix="cleared-", dir=self.scratch))
        for entry in directory.iterdir():
            if entry.name not in kept:
                entry.rename(grave / entry.name)
        shutil.rmtree(grave, ignore_errors=True)


def is_application(directory: Path) -> bool:
    """Return whether a directory has the state of an application.

    It has the lock, which a run creates before anything else, or, in a partial copy, a topic or a checkpoint.
    """
    return (directory / LOCK).is_file() or any(
        True for pattern in ("topics/*/*/_delta_log", "checkpoints/*/*/offsets") for _ in directory.glob(pattern)
    )


def applications_in(root: Path) -> tuple[str, ...]:
    """Return the names of the applications with their state in a directory, sorted; others in it are ignored."""
    try:
        return tuple(sorted(directory.name for directory in root.iterdir() if is_application(directory)))
    except OSError:
        return ()


def _restrict(directory: Path, mode: int) -> None:
    """Set the mode of a directory but keep its setgid bit.

    A directory of another user is left as it is, since only its owner may change the mode.
    """
    current = stat.S_IMODE(directory.stat().st_mode)
    wanted = mode | (current & stat.S_ISGID)
    if current != wanted:
        with suppress(PermissionError):
            directory.chmod(wanted)


def _take(lock: int) -> bool:
    """Take the lock; return False when another process keeps it."""
    for _ in range(round(_LOCK_PATIENCE / _LOCK_PAUSE)):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_LOCK_PAUSE)
        else:
            return True
    return False


@contextmanager
def _writing(directory: Path) -> Iterator[None]:
    """Raise a `StateError` for an `OSError` in the context."""
    try:
        yield
    except OSError as error:
        raise StateError(
            f"cannot write to the state directory {directory}: {error.strerror or error}",
            "free disk space, correct the permissions, or choose another state directory with `--state-dir`",
        ) from error
