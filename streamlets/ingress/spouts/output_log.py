"""`OutputLog`: what the program of a spout prints, in a log file of its own, of limited rate and size."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path

from blueprint.wording import counted

LINES_PER_SECOND = 1000
"""The number of lines that are logged in a second; further ones are only counted."""

_SIZE = 20 * 1024 * 1024
_KEPT = 3
_LAST = 100
_TRACEBACK = "Traceback (most recent call last):"


class OutputLog:
    """The log file of a streamlet. Its methods may be called from any thread. A full disk loses lines, not the run.

    Arguments:
        file: the path of the file.
        mask: replaces secrets in a line.
        clock: returns seconds of a monotonic clock.
    """

    def __init__(
        self, file: Path, mask: Callable[[str], str] = str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._handler = RotatingFileHandler(file, maxBytes=_SIZE, backupCount=_KEPT, encoding="utf-8", delay=True)
        self._handler.handleError = lambda record: None  # type: ignore[method-assign]
        self._mask = mask
        self._clock = clock
        self._lock = threading.Lock()
        self._second, self._lines, self._dropped = 0, 0, 0
        self._errors: deque[str] = deque(maxlen=_LAST)

    def line(self, stream: str, text: str) -> None:
        """Log a line.

        Arguments:
            stream: `stdout`, `stderr`, or `spout` for what the runner reports about it.
            text: the line.
        """
        with self._lock:
            if stream == "stderr":
                self._errors.append(text)
            second = int(self._clock())
            if second != self._second:
                self._report_dropped()
                self._second, self._lines = second, 0
            if stream != "spout":
                self._lines += 1
                if self._lines > LINES_PER_SECOND:
                    self._dropped += 1
                    return
            self._write(stream, self._mask(text))

    @property
    def last_error(self) -> str:
        """The last line of its standard error that is not empty."""
        with self._lock:
            return self._mask(next((line.strip() for line in reversed(self._errors) if line.strip()), ""))

    @property
    def last_traceback(self) -> str:
        """The traceback of Python with which its standard error ends; "" if it ends with something else."""
        with self._lock:
            _, found, trace = self._mask("\n".join(self._errors)).rpartition(_TRACEBACK)
        error = [line for line in trace.splitlines() if line.strip() and not line.startswith(" ")]
        return trace if found and len(error) == 1 else ""

    def close(self) -> None:
        """Close the file; a later line opens it again."""
        with self._lock:
            self._report_dropped()
            self._errors.clear()
            with suppress(OSError):
                self._handler.close()

    def _report_dropped(self) -> None:
        if self._dropped:
            dropped = counted(self._dropped, "line was", "lines were")
            self._write("spout", f"{dropped} not logged: more than {LINES_PER_SECOND:,} in a second")
            self._dropped = 0

    def _write(self, stream: str, text: str) -> None:
        stamp = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._handler.handle(logging.LogRecord("spout", logging.INFO, "", 0, f"{stamp} {stream}: {text}", (), None))
