"""Where Java is, and its version."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

INSTALL_JAVA = (
    "install a Java runtime, version 17 or newer: `apt-get install openjdk-17-jre-headless` (Debian, Ubuntu), "
    "`brew install openjdk@17` (macOS), or https://adoptium.net; then set JAVA_HOME or put `java` on PATH"
)
"""The remedy for a Java that is missing or too old."""


OLDEST_JAVA = 17
"""The oldest version of Java that Spark runs on."""

_PATIENCE = 30.0


class NoJavaError(Exception):
    """There is no Java."""


def java_command() -> str:
    """Return the `java` that Spark's launch script uses; its version is not checked.

    Raises:
        NoJavaError: it does not exist.
    """
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None:
        raise NoJavaError("there is no `java` on PATH, and JAVA_HOME is not set")
    if not Path(java).is_file():
        raise NoJavaError(f"JAVA_HOME is {home}, but {java} does not exist")
    return java


def java_version() -> int | None:
    """Return the major version of Java; None if it shows none.

    Raises:
        NoJavaError: there is no Java.
        OSError: it cannot be executed.
        subprocess.TimeoutExpired: it does not end.
    """
    output = subprocess.run([java_command(), "-version"], capture_output=True, text=True, timeout=_PATIENCE).stderr
    version = re.search(r'version "(?:1\.)?(\d+)', output)
    return int(version[1]) if version else None
