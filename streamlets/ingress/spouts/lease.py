"""`Lease`: which instance of a spout may deliver, and its epoch, also with several runners on shared storage.

The lock of the state directory already keeps a second runner away wherever file locks work. The lease is for storage
where they do not reach the other machine. Each instance creates a file for the next epoch, which only one can create,
and changes its own file regularly. If the newest file does not change for a while, its owner is taken to be dead. That
may be wrong: then the higher epoch fences the writer of the old owner, so that it cannot publish.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Self

from streamlets.storage import objects
from streamlets.storage.files import write_atomically

RENEW_EVERY = 5.0
"""Seconds between two renewals."""

EXPIRES_AFTER = 30.0
"""Seconds without a renewal after which another instance takes over, by its own monotonic clock."""

_LOOK_EVERY = 1.0


class Lease:
    """The lease of one spout; as a context manager, it is held until the end of the context.

    Arguments:
        directory: the directory of its files, on the shared storage.
        wait: waits for so many seconds and returns whether to give up.
        waiting: called once with the owner's name if another instance holds the lease.
        clock: seconds of a monotonic clock.
        wall_clock: seconds since the epoch; it only makes epochs grow if the directory was deleted.
    """

    def __init__(
        self,
        directory: Path,
        wait: Callable[[float], bool],
        waiting: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self._directory, self._wait, self._waiting = directory, wait, waiting
        self._clock, self._wall_clock = clock, wall_clock
        self._stop = threading.Event()
        self.epoch = 0

    def acquire(self) -> bool:
        """Wait until the lease is free, and take it; return False if `wait` gave up.

        Raises:
            OSError: the directory cannot be written.
        """
        self._directory.mkdir(parents=True, exist_ok=True)
        seen: tuple[int, str] | None = None
        since = self._clock()
        reported = False
        while True:
            newest = self._newest()
            content = _read(self._file(newest)) if newest else ""
            if (newest, content) != seen:
                seen, since = (newest, content), self._clock()
            free = not newest or _is_over(content) or self._clock() - since >= EXPIRES_AFTER
            if free and self._create(max(newest + 1, int(self._wall_clock()))):
                return True
            if not free and not reported:
                reported = True
                self._waiting(_owner(content))
            if not free and self._wait(_LOOK_EVERY):
                return False

    def release(self) -> None:
        """Let the next instance take the lease at once."""
        self._stop.set()
        if self.epoch:
            with suppress(OSError):
                self._write("released")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _create(self, epoch: int) -> bool:
        self._number = 0
        if not objects.put_if_absent(self._file(epoch), self._content("held").encode()):
            return False
        self.epoch = epoch
        for file in self._directory.glob("*.json"):
            if file.stem.isdigit() and int(file.stem) < epoch:
                file.unlink(missing_ok=True)
        threading.Thread(target=self._renew, name="spout-lease", daemon=True).start()
        return True

    def _renew(self) -> None:
        while not self._stop.wait(RENEW_EVERY):
            with suppress(OSError):
                if self._newest() > self.epoch:  # another instance has taken over
                    return
                self._number += 1
                self._write("held")

    def _write(self, state: str) -> None:
        if self._newest() <= self.epoch:
            write_atomically(self._file(self.epoch), self._content(state))

    def _content(self, state: str) -> str:
        owner = {"process": os.getpid(), "started": _start_time(os.getpid()), "host": socket.gethostname()}
        return json.dumps({"state": state, **owner, "renewals": self._number})

    def _file(self, epoch: int) -> Path:
        return self._directory / f"{epoch}.json"

    def _newest(self) -> int:
        return max((int(file.stem) for file in self._directory.glob("*.json") if file.stem.isdigit()), default=0)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError:
        return ""


def _is_over(content: str) -> bool:
    """Return whether a lease was released, or its owner is a process of this machine that has exited, or this one."""
    lease = _parsed(content)
    if lease.get("state") == "released":
        return True
    process = lease.get("process")
    if lease.get("host") != socket.gethostname() or not isinstance(process, int):
        return False
    return process == os.getpid() or _start_time(process) != lease.get("started")


def _owner(content: str) -> str:
    lease = _parsed(content)
    return f"process {lease.get('process', 'unknown')} on {lease.get('host', 'another machine')}"


def _parsed(content: str) -> dict[str, object]:
    try:
        lease = json.loads(content)
    except ValueError:
        return {}
    return lease if isinstance(lease, dict) else {}


def _start_time(process: int) -> str:
    """Return when a process started, in the ticks of the system; "" if it does not exist or that is unknown."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
