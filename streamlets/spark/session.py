"""`Spark`: the Spark session of a run, the process behind it, and a child session per streamlet."""

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
    """Spark cannot be started; `help` says what to do about it, `setting` which setting it refuses if it is one."""

    def __init__(self, message: str, help: str, *, setting: str = "") -> None:
        super().__init__(message)
        self.help = help
        self.setting = setting


@dataclass(frozen=True, slots=True)
class Spark:
    """A running Spark: its root session and the process behind it."""

    session: SparkSession
    process: subprocess.Popen[bytes]

    def child(self, settings: Mapping[str, str]) -> SparkSession:
        """A session of a streamlet's own: its settings, views and query names are not seen by others.

        Raises:
            SessionError: a setting belongs to the whole application, or Spark refuses its value.
        """
        return child_session(self.session, settings)

    def stop(self, patience: float = 20.0) -> None:
        """Stop Spark and see to it that its process is gone after `patience` seconds, whatever it is doing."""
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
        """Make room for another Spark in this process after the one behind this has died: pyspark keeps one of each."""
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
        with contextlib.suppress(Exception):  # the process may be gone; what matters is that it is, in the end
            self.session.stop()


def child_session(root: SparkSession, settings: Mapping[str, str]) -> SparkSession:
    """A session of a streamlet's own beside a root session.

    Raises:
        SessionError: a setting belongs to the whole application, or Spark refuses its value; `setting` is its name.
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
                "settings of the whole application stand in `flow.runtimes.spark`",
                setting=key,
            ) from error
    return session


@contextlib.contextmanager
def active(session: SparkSession) -> Iterator[None]:
    """Make the session the thread's active one: where Spark looks for sources, and what the author's code asks for."""
    jvm: Any = session._jvm  # noqa: SLF001 - Spark has no public way
    sessions = jvm.org.apache.spark.sql.classic.SparkSession
    before = sessions.getActiveSession()
    sessions.setActiveSession(session._jsparkSession)  # noqa: SLF001
    try:
        yield
    finally:
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()


def _reason(error: Exception) -> str:
    """What Spark says, without its pointer to a page that explains nothing of it."""
    from py4j.protocol import Py4JJavaError

    from streamlets.spark.failure import failure_of_text

    said = str(error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else error)
    return failure_of_text(said.partition("\nSee also ")[0], building=True).cause
