"""The Java that Spark runs on: where it is, and why one did not come up."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from streamlets.runner.spark.session import SessionError

_OLDEST_JAVA = 17

_INSTALL_JAVA = (
    "install a Java runtime, version 17 or newer: `apt-get install openjdk-17-jre-headless` (Debian, Ubuntu), "
    "`brew install openjdk@17` (macOS), or https://adoptium.net; then set JAVA_HOME or put `java` on PATH"
)


def _java() -> str | None:
    """The Java that Spark's launch script takes."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else shutil.which("java")


def require_java() -> None:
    """Make sure that there is a Java; how old it is shows when it starts.

    Raises:
        SessionError: there is none.
    """
    java = _java()
    if java is None:
        raise SessionError("Spark needs Java, and there is none on PATH and no JAVA_HOME", _INSTALL_JAVA)
    if not Path(java).is_file():
        raise SessionError(f"JAVA_HOME is {os.environ['JAVA_HOME']}, but there is no {java}", _INSTALL_JAVA)


def launch_failure(log: Path) -> SessionError:
    """Why the JVM did not come up: it is too old, or else what it said in its log."""
    try:
        told = subprocess.run([_java() or "java", "-version"], capture_output=True, text=True, timeout=30).stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        return SessionError(f"Spark needs Java, and `java -version` fails: {error}", _INSTALL_JAVA)
    version = re.search(r'version "(?:1\.)?(\d+)', told)
    if version and int(version[1]) < _OLDEST_JAVA:
        return SessionError(f"Spark needs Java {_OLDEST_JAVA} or newer, and this is Java {version[1]}", _INSTALL_JAVA)
    said = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    telling = [line for line in said if re.search(r"(Exception|Error|Invalid)\b.*:|Invalid", line)]
    cause = (telling or said or ["it said nothing"])[0].removeprefix('Exception in thread "main" ')
    return SessionError(
        f"Spark's Java process ended at once: {cause}", f"check the settings in `flow.runtimes.spark` and see {log}"
    )
