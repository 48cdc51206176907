"""A home directory for Spark's launch scripts, with which Java and Python workers start in half the time.

Spark puts `$SPARK_HOME/python/lib/pyspark.zip` first in the path of every worker. Modules in a zip are not compiled,
so each worker compiles all that it needs of PySpark, which takes 0.75 s of processor time instead of 0.25 s. With pip,
the same PySpark is also installed as a package. So Spark gets a home directory with everything except the zip. In the
zip's place is `early_connection.py`, by which the processes of many sources can start together.

The directory is in the user's cache, one for each installed PySpark: Java's class path is then the same in all runs, so
that an archive of its classes fits (`class_archive.py`).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from streamlets.artifacts.maven import cache_directory
from streamlets.ownership import NotTrustedError, require_trusted
from streamlets.spark import early_connection

_VARIABLE = "SPARK_HOME"
# Spark puts `python/lib/pyspark.zip` of its home at the start of the path of each Python process.
_START = Path("python", "lib", "pyspark.zip", "pyspark", "__init__.py")


@contextmanager
def without_zip(directory: Path) -> Iterator[Path | None]:
    """Have Spark start from a home without the zip until the context is left, unless SPARK_HOME is set.

    Only for a driver whose Python processes use this Python. Executors have homes of their own.

    Arguments:
        directory: where the home is created if the user's cache cannot be written, or another user can change it. It
            must exist as long as Spark runs.

    Yields:
        The home; None if SPARK_HOME is set.
    """
    if _VARIABLE in os.environ:
        yield None
        return
    try:
        require_trusted(cache_directory())
        home = _create(installed_home())
        require_trusted(home)
    except (OSError, NotTrustedError):
        home = _create(directory / "spark-home")
    os.environ[_VARIABLE] = str(home)
    try:
        yield home
    finally:
        os.environ.pop(_VARIABLE, None)


def installed_home() -> Path:
    """Return the path of the home of the installed PySpark, which may not exist yet."""
    import pyspark

    installed = f"{_pyspark()} {pyspark.__version__}"
    return _homes() / hashlib.sha256(installed.encode()).hexdigest()[:16]


def installed_zips() -> tuple[Path, ...]:
    """Return the zips of the installed PySpark, which Spark sends to the machines of YARN."""
    return tuple(sorted((_pyspark() / "python" / "lib").glob("*.zip")))


def delete_stale_homes() -> None:
    """Delete the homes whose PySpark was removed, and their archives."""
    for home in _homes().glob("*"):
        if not (home / "jars").exists():
            shutil.rmtree(home, ignore_errors=True)


def _homes() -> Path:
    return cache_directory() / "spark"


def _pyspark() -> Path:
    import pyspark

    return Path(pyspark.__file__).resolve().parent


def _create(home: Path) -> Path:
    home.mkdir(parents=True, exist_ok=True)
    for entry in _pyspark().iterdir():
        if entry.is_dir() and entry.name != "python":
            with suppress(FileExistsError):  # of an earlier run, or of one that starts at the same time
                (home / entry.name).symlink_to(entry, target_is_directory=True)
    start = home / _START
    content = Path(early_connection.__file__).read_bytes()
    if not start.is_file() or start.read_bytes() != content:
        start.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=start.parent, delete=False) as part:
            part.write(content)
        Path(part.name).replace(start)  # processes of other runs may be reading it
    return home
