"""The Java that Spark runs on: where it is, and why it did not start."""

from __future__ import annotations

import re
import signal
import subprocess
from pathlib import Path

from streamlets.artifacts.java import INSTALL_JAVA, OLDEST_JAVA, NoJavaError, java_command, java_version
from streamlets.spark.session import SessionError

_SHELL = 128
_ERROR = re.compile(r"(Exception|Error|Invalid)\b.*:|\b(Error|Invalid|Unrecognized|Caused by)\b")
_NOISE = re.compile(
    r"WARNING|NOTE|Error: (Could not create the Java Virtual Machine|A fatal exception has occurred)|at "
)


def require_java() -> None:
    """Require that Java is installed; its version is checked when it does not start.

    Raises:
        SessionError: there is no Java.
    """
    try:
        java_command()
    except NoJavaError as error:
        raise SessionError(f"Spark needs Java: {error}", INSTALL_JAVA) from None


def launch_failure(code: int, log: Path) -> SessionError:
    """Return why the JVM did not start: it is too old, or else its exit and its last error.

    Arguments:
        code: its exit code, negative for a signal.
        log: the file with its standard error.
    """
    try:
        version = java_version()
    except (NoJavaError, OSError, subprocess.TimeoutExpired) as error:
        return SessionError(f"Spark needs Java, and `java -version` fails: {error}", INSTALL_JAVA)
    if version is not None and version < OLDEST_JAVA:
        return SessionError(f"Spark needs Java {OLDEST_JAVA} or newer, found Java {version}", INSTALL_JAVA)
    return start_failure(code, log)


def start_failure(code: int, log: Path) -> SessionError:
    """Return how a Java process exited while Spark was starting in it, with the last error in its log."""
    number = code - _SHELL if code > _SHELL else -code if code < 0 else 0  # a shell reports 128 + the signal
    how = f"was killed by signal {number} ({_signal_name(number)})" if number else f"exited with code {code}"
    last = _last_error(log)
    help = f"check the settings in `flow.runtimes.spark` and see {log}"
    if number == signal.SIGKILL:
        help = f"the system may be out of memory: lower `spark.driver.memory` in `flow.runtimes.spark`; see {log}"
    return SessionError(f"Spark's Java process {how} while it was starting{f': {last}' if last else ''}", help)


def _last_error(log: Path) -> str:
    """Return the last line with an error, ignoring warnings and the lines that Java adds after each error."""
    try:
        lines = [line.strip() for line in log.read_text(errors="replace").splitlines()]
    except OSError:
        return ""
    errors = [line for line in lines if _ERROR.search(line) and not _NOISE.match(line)]
    return errors[-1].removeprefix('Exception in thread "main" ').removeprefix("Caused by: ") if errors else ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "unknown"
