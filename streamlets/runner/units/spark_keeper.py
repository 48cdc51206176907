"""`SparkKeeper`: the Spark of all units of a driver, started again when its Java process has exited, or cannot work."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

from streamlets.spark.failure import Failure
from streamlets.spark.session import SessionError, Spark

# Bytes at the end of the log of an exited process, in which its last error is looked for.
_LOG_END = 20_000
# Seconds between the end of a process's sockets and the report of its exit by the system.
_PATIENCE = 0.5


class SparkGoneError(Exception):
    """Spark's Java process has exited and could not be started again; the next attempt may succeed."""


class SparkKeeper:
    """Keeps a Spark running. Users call `spark()` each time; while Spark is started again, all of them wait.

    Restarted units call it, so the units' back-off limits how often Spark is started.

    Arguments:
        start: starts Spark; later starts are called in a worker.
        lost: takes the reason, once and in a thread of its own, when a Spark exits that was not stopped.
        jvm_log: the file with the standard error of its Java process.
        renew: called after a Spark has exited and before the next one starts, to release objects of the old one.
        observe: called with each Spark that was started, and with a function that ends it for a reason, such as that
            its cluster has no executors; the reason becomes its failure.
    """

    def __init__(
        self,
        start: Callable[[], Spark],
        lost: Callable[[Failure], None],
        jvm_log: Path,
        renew: Callable[[], None] = lambda: None,
        observe: Callable[[Spark, Callable[[str], None]], None] = lambda spark, end: None,
    ) -> None:
        self._start = start
        self._lost = lost
        self._log = jvm_log
        self._renew = renew
        self._observe = observe
        self._lock = threading.Lock()
        self._stopping = False
        self._reason = ""  # why the running Spark was ended
        self._spark = self._watched(start())

    def spark(self) -> Spark:
        """Return the running Spark; start it again if it has exited.

        Raises:
            SparkGoneError: Spark has exited and cannot be started again.
        """
        with self._lock:
            if self._spark.process.poll() is not None and not self._stopping:
                self._spark.forget()
                self._renew()
                try:
                    self._spark = self._watched(self._start())
                except (SessionError, OSError) as error:
                    message = f"Spark's Java process exited and cannot be started again: {error}"
                    raise SparkGoneError(message) from error
            return self._spark

    @property
    def alive(self) -> bool:
        """Whether Spark's Java process is running."""
        return self._spark.process.poll() is None

    def failure(self) -> Failure | None:
        """Return the exit of Spark's Java process as a failure; None if it is running.

        To be called in a worker after an error, as the error itself is only about a socket.
        """
        process = self._spark.process
        try:
            return self._failure_of(process.wait(_PATIENCE))
        except subprocess.TimeoutExpired:
            return None

    def stop(self) -> None:
        """Stop Spark, for good. Another run can begin in this process."""
        self._stopping = True
        self._spark.stop()
        self._spark.forget()

    def _watched(self, spark: Spark) -> Spark:
        self._reason = ""

        def wait() -> None:
            code = spark.process.wait()
            if not self._stopping:
                self._lost(self._failure_of(code))

        def end(reason: str) -> None:
            if not self._stopping:
                self._reason = reason
                spark.process.kill()  # its cluster then ends the application, and with it tasks that still run

        threading.Thread(target=wait, name="jvm-watch", daemon=True).start()
        self._observe(spark, end)
        return spark

    def _failure_of(self, code: int) -> Failure:
        if self._reason:  # the cluster, and neither the code nor the data of a streamlet
            return Failure(self._reason, disturbance=True, lost=True)
        return _exit_failure(code, self._log)


def how_it_ended(code: int) -> str:
    """Return a process's return code in words."""
    return f"exit code {code}" if code >= 0 else f"killed by signal {-code}"


def _exit_failure(code: int, log: Path) -> Failure:
    reason = how_it_ended(code)
    if b"OutOfMemoryError" in _end_of(log) or code == OUT_OF_MEMORY:
        reason += ", out of memory; increase `spark.driver.memory` in `flow.runtimes.spark`"
    return Failure(f"Spark's Java process exited ({reason})", lost=True)


def _end_of(log: Path) -> bytes:
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _LOG_END))
            return file.read()
    except OSError:
        return b""


OUT_OF_MEMORY = 3
"""The exit code of a Java process that is out of memory, by the option `-XX:+ExitOnOutOfMemoryError`."""
