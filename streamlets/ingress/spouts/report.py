"""`SpoutReport`: what a spout has done, in a file of the state directory, for `flow spouts`."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from streamlets.runner.state_directory.directory import StateDirectory
from streamlets.storage.files import write_atomically

_WRITE_EVERY = 1.0


@dataclass(frozen=True, slots=True)
class SpoutReport:
    """Facts about a spout besides its status.

    Arguments:
        transactions: the number of committed transactions of this and earlier runs.
        records: the number of their records.
        dead_letters: the number of their dead letters.
        last_commit: when the last one was committed, in seconds since the epoch; None before the first.
        epoch: the epoch of its lease; 0 before the first start.
        port: the port of its service; None without one.
    """

    transactions: int = 0
    records: int = 0
    dead_letters: int = 0
    last_commit: float | None = None
    epoch: int = 0
    port: int | None = None


class ReportFile:
    """Keeps the report of a spout. It is written at most once a second, so a kill may lose the last counts.

    Arguments:
        file: its path.
        every: the seconds between two writes.
        clock: returns the seconds since the epoch.
    """

    def __init__(self, file: Path, every: float = _WRITE_EVERY, clock: Callable[[], float] = time.time) -> None:
        self._file, self._every, self._clock = file, every, clock
        self._report = SpoutReport()
        self._written = 0.0
        self._unwritten = False
        self._later: threading.Timer | None = None
        self._lock = threading.Lock()

    def started(self, epoch: int, port: int | None) -> None:
        """Record a start."""
        with self._lock:
            self._report = replace(read_report(self._file), epoch=epoch, port=port)  # another runner may have written
            self._write()

    def committed(self, records: int, dead_letters: int) -> None:
        """Record a committed transaction."""
        with self._lock:
            now = self._clock()
            self._report = replace(
                self._report,
                transactions=self._report.transactions + 1,
                records=self._report.records + records,
                dead_letters=self._report.dead_letters + dead_letters,
                last_commit=now,
            )
            self._unwritten = True
            if now - self._written >= self._every or now < self._written:
                self._write()
            elif self._later is None:  # the next transaction may come in a second, or in a day
                self._later = threading.Timer(self._every, self.write)
                self._later.daemon = True
                self._later.start()

    def write(self) -> None:
        """Write what was not written yet; on a full disk the file stays as it is."""
        with self._lock:
            if self._unwritten:
                self._write()

    def _write(self) -> None:
        if self._later is not None:
            self._later.cancel()
            self._later = None
        self._written = self._clock()
        with suppress(OSError):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self._file, json.dumps(asdict(self._report)) + "\n")
            self._unwritten = False


def report_file(state: StateDirectory, ref: str) -> Path:
    """Return the path of the report of a spout."""
    return state.spouts / ref / "report"


def read_report(file: Path) -> SpoutReport:
    """Return the stored report; an empty one if there is none."""
    try:
        return SpoutReport(**json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return SpoutReport()


def staged(state: StateDirectory, ref: str) -> tuple[int, int]:
    """Return the number and the size in bytes of the transactions of a spout that are staged, also dead ones."""
    directory = state.staging / ref
    transactions = size = 0
    with suppress(OSError):
        for transaction in directory.iterdir():
            transactions += 1
            with suppress(OSError):  # it was committed in the meantime
                size += sum(file.stat().st_size for file in transaction.iterdir())
    return transactions, size
