"""`Spark`: a running Spark with its root session, its process, and a child session for each streamlet."""

from __future__ import annotations

import contextlib
import subprocess
import threading
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SessionError(Exception):
    """Spark cannot be started; `help` is what to do about it, `setting` the setting that Spark refuses, if any."""

    def __init__(self, message: str, help: str, *, setting: str = "") -> None:
        super().__init__(message)
        self.help = help
        self.setting = setting


@dataclass(frozen=True, slots=True)
class Spark:
    """A running Spark: its root session and its Java process."""

    session: SparkSession
    process: subprocess.Popen[bytes]

    def child(self, settings: Mapping[str, str]) -> SparkSession:
        """Return a session for a streamlet; see `child_session`."""
        return child_session(self.session, settings)

    def stop(self, patience: float = 20.0) -> None:
        """Stop Spark, and kill its process if it has not exited after `patience` seconds."""
        stopping = threading.Thread(target=self._stop_session, name="spark-stop", daemon=True)
        stopping.start()
        stopping.join(patience)
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(1.0 if stopping.is_alive() else patience)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def forget(self) -> None:
        """Release this Spark, whose process has exited: PySpark keeps a single one, and another can then be started."""
        from pyspark import SparkContext
        from pyspark.sql import SparkSession

        context: Any = SparkContext
        gateway = context._gateway  # noqa: SLF001 - there is no public way
        for step in (self.session.sparkContext.stop, gateway.shutdown_callback_server, gateway.close):
            with contextlib.suppress(Exception), warnings.catch_warnings(action="ignore"):
                step()
        context._gateway = context._jvm = context._active_spark_context = None  # noqa: SLF001
        SparkSession._instantiatedSession = None  # noqa: SLF001

    def _stop_session(self) -> None:
        with contextlib.suppress(Exception):  # the process may have exited already
            self.session.stop()


def child_session(root: SparkSession, settings: Mapping[str, str]) -> SparkSession:
    """Return a new session with its own settings, views and query names.

    Raises:
        SessionError: a setting can only be set for the whole application, or Spark refuses its value.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    session = root.newSession()
    for key, value in settings.items():
        try:
            session.conf.set(key, value)
        except (PySparkException, Py4JError) as error:
            raise SessionError(
                f"Spark refuses the setting `{key} = {value}` for a single streamlet: {_reason(error)}",
                "correct the value, or move a setting of the whole application to `flow.runtimes.spark`",
                setting=key,
            ) from error
    return session


@contextlib.contextmanager
def active(session: SparkSession) -> Iterator[None]:
    """Make a session the thread's active one, in which Spark looks for sources and which the author's code gets."""
    from py4j.protocol import Py4JError

    jvm: Any = session._jvm  # noqa: SLF001 - Spark has no public way
    sessions = jvm.org.apache.spark.sql.classic.SparkSession
    before = sessions.getActiveSession()
    sessions.setActiveSession(session._jsparkSession)  # noqa: SLF001
    try:
        yield
    finally:
        with contextlib.suppress(Py4JError, OSError):  # the process may have exited meanwhile
            if before.isDefined():
                sessions.setActiveSession(before.get())
            else:
                sessions.clearActiveSession()


def answers(session: SparkSession) -> bool:
    """Return whether a session's Spark works: its process may have exited, or its context may have been stopped."""
    context: Any = session.sparkContext
    try:
        return not context._jsc.sc().isStopped()  # noqa: SLF001 - Spark has no public way
    except Exception:  # noqa: BLE001 - there are several errors for a process that does not answer
        return False


def abandon_call(session: SparkSession) -> None:
    """Close this thread's connection to Spark's process; the next call opens another.

    An exception that ends a call before its answer was read, such as a `RecursionError` or one of a signal, would have
    the next call read that answer.
    """
    gateway: Any = session.sparkContext._gateway  # noqa: SLF001 - Spark has no public way
    connection = gateway._gateway_client.get_thread_connection() if gateway is not None else None  # noqa: SLF001
    if connection is not None:
        connection.close(reset=True)


def _reason(error: Exception) -> str:
    """Return Spark's message without its link to a general page."""
    from py4j.protocol import Py4JJavaError

    from streamlets.spark.failure import failure_of_text

    message = str(error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else error)
    return failure_of_text(message.partition("\nSee also ")[0], building=True).cause
