"""The files that pass settings to Spark's launcher: a command line is public, but settings may be secret.

Both are private to the user, and are deleted as soon as the Java process has read them.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\f": r"\f", " ": r"\ ", "=": r"\=",
                          ":": r"\:", "#": r"\#", "!": r"\!"})  # fmt: skip


@contextmanager
def launch_files(directory: Path, settings: Mapping[str, str], java_options: Iterable[str]) -> Iterator[None]:
    """Have PySpark's launcher read settings from files until the context is left.

    Arguments:
        directory: an existing directory for the files.
        settings: the settings of Spark.
        java_options: the options of the driver's Java process.
    """
    properties, options = directory / "spark.properties", directory / "java.options"
    before = os.environ.get(_ARGUMENTS)
    try:
        _write(options, "".join(f"{_quoted(option)}\n" for option in java_options))
        entries = dict(settings) | {_JAVA_OPTIONS: f"@{quoted_path(options)}"}
        lines = (f"{key.translate(_ESCAPES)}={value.translate(_ESCAPES)}\n" for key, value in entries.items())
        _write(properties, "".join(lines))
        # Settings that are not in the file are still read from spark-defaults.conf.
        ours = shlex.join(("--properties-file", str(properties), "--load-spark-defaults"))
        os.environ[_ARGUMENTS] = f"{ours} {before or 'pyspark-shell'}"
        yield
    finally:
        if before is None:
            os.environ.pop(_ARGUMENTS, None)
        else:
            os.environ[_ARGUMENTS] = before
        for file in (properties, options):
            file.unlink(missing_ok=True)


def _write(file: Path, text: str) -> None:
    file.unlink(missing_ok=True)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
        out.write(text)


def _quoted(option: str) -> str:
    """Return an option in the syntax of Java's argument files."""
    return '"' + option.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def quoted_path(file: Path | str) -> str:
    """Return a path, or an option with one, as a single word in `spark.driver.extraJavaOptions`."""
    return f'"{file}"' if any(character.isspace() for character in str(file)) else str(file)
