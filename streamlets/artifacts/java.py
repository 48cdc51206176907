"""Where Java is."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

INSTALL_JAVA = (
    "install a Java runtime, version 17 or newer: `apt-get install openjdk-17-jre-headless` (Debian, Ubuntu), "
    "`brew install openjdk@17` (macOS), or https://adoptium.net; then set JAVA_HOME or put `java` on PATH"
)
"""What to do without Java, or with one that is too old."""


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
