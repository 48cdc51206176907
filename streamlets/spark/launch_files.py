"""The files that tell Spark's launcher its settings: a command line is public, and settings may be secret.

Both are readable by their owner only, and are deleted as soon as the Java process has read them.
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
def launch_files(folder: Path, settings: Mapping[str, str], java_options: Iterable[str]) -> Iterator[None]:
    """Have PySpark's launcher read settings from files while this lasts.

    Arguments:
        folder: takes the files; it exists.
        settings: of Spark.
        java_options: of its driver's Java process.
    """
    properties, options = folder / "spark.properties", folder / "java.options"
    before = os.environ.get(_ARGUMENTS)
    try:
        _write(options, "".join(f"{_quoted(option)}\n" for option in java_options))
        told = dict(settings) | {_JAVA_OPTIONS: f"@{_unspaced(options)}"}
        lines = (f"{key.translate(_ESCAPES)}={value.translate(_ESCAPES)}\n" for key, value in told.items())
        _write(properties, "".join(lines))
        # What spark-defaults.conf says holds, too, where the file says nothing.
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
    """An option as an argument file of Java has it."""
    return '"' + option.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _unspaced(file: Path) -> str:
    """A path as a word of `spark.driver.extraJavaOptions`."""
    return f'"{file}"' if any(character.isspace() for character in str(file)) else str(file)
