"""`SparkHost`: the Spark that all units of a run live on, started again when its Java process is gone."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

from streamlets.spark.failure import Failure
from streamlets.spark.session import SessionError, Spark

# What a dying process says last: so many bytes at the end of its log, which may be long.
_LAST_WORDS = 20_000
# Between the moment its sockets close and the moment the system reports its end.
_PATIENCE = 0.5


class SparkGoneError(Exception):
    """Spark's Java process is gone and could not be started again; the next attempt may succeed."""


class SparkHost:
    """Keeps one Spark running. Who needs it asks for it each time; while it is started again, all who ask wait.

    A unit that is restarted is who asks, so it is the units' back-off that limits how often Spark is started.

    Arguments:
        start: starts Spark; also called in a worker, when there was one before.
        lost: told why, once, from a thread of its own, when a Spark is gone that nobody stopped.
        jvm_log: where its Java process complains.
        renew: called after a Spark is gone, before the next one starts: objects of the old one are to be released.
    """

    def __init__(
        self,
        start: Callable[[], Spark],
        lost: Callable[[Failure], None],
        jvm_log: Path,
        renew: Callable[[], None] = lambda: None,
    ) -> None:
        self._start = start
        self._lost = lost
        self._log = jvm_log
        self._renew = renew
        self._lock = threading.Lock()
        self._stopping = False
        self._spark = self._watched(start())

    def spark(self) -> Spark:
        """The running Spark.

        Raises:
            SparkGoneError: the last one is gone, and another one does not start.
        """
        with self._lock:
            if self._spark.process.poll() is not None and not self._stopping:
                self._spark.forget()
                self._renew()
                try:
                    self._spark = self._watched(self._start())
                except (SessionError, OSError) as error:
                    raise SparkGoneError(f"Spark's Java process is gone and does not start again: {error}") from error
            return self._spark

    @property
    def alive(self) -> bool:
        """Whether its process is there."""
        return self._spark.process.poll() is None

    def failure(self) -> Failure | None:
        """Why nothing works just now: the process is gone. None when it is there.

        To be asked by who met with an error, in a worker: the error itself speaks of sockets.
        """
        process = self._spark.process
        try:
            return _gone(process.wait(_PATIENCE), self._log)
        except subprocess.TimeoutExpired:
            return None

    def stop(self) -> None:
        """Stop it, for good."""
        self._stopping = True
        self._spark.stop()

    def _watched(self, spark: Spark) -> Spark:
        def wait() -> None:
            code = spark.process.wait()
            if not self._stopping:
                self._lost(_gone(code, self._log))

        threading.Thread(target=wait, name="jvm-watch", daemon=True).start()
        return spark


def how_it_ended(code: int) -> str:
    """What a process's return code says, in words."""
    return f"exit code {code}" if code >= 0 else f"killed by signal {-code}"


def _gone(code: int, log: Path) -> Failure:
    why = how_it_ended(code)
    if b"OutOfMemoryError" in _last_words(log) or code == OUT_OF_MEMORY:
        why += ", out of memory; see `spark.driver.memory` in `flow.runtimes.spark`"
    return Failure(f"Spark's Java process is gone ({why})")


def _last_words(log: Path) -> bytes:
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _LAST_WORDS))
            return file.read()
    except OSError:
        return b""


OUT_OF_MEMORY = 3
"""The exit code of a Java process that ends because it is out of memory, as the session tells it to."""
