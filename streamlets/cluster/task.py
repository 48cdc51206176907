"""What a task reports about its executor. It is sent there by value, so it uses only the standard library.

An executor may have another Python environment than the runner: without Streamlets, or without a package.
"""

from __future__ import annotations

import hashlib
import importlib.machinery
import importlib.util
import os
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGES = ("pyspark", "pyarrow", "pandas", "py4j")


@dataclass(frozen=True, slots=True)
class Question:
    """What tasks are asked.

    Arguments:
        modules: the names of modules that tasks import.
        paths: the directories that executors read and write.
        token: the name and content of a file that the runner has put into each directory.
        files: the files that are expected on the machine of each executor.
    """

    modules: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    token: str = ""
    files: tuple[str, ...] = ()

    def plain(self) -> dict[str, Any]:
        """Return it as plain data, as executors may not have this class."""
        return {"modules": self.modules, "paths": self.paths, "token": self.token, "files": self.files}


def examine(question: dict[str, Any], number: int) -> dict[str, Any]:
    """Return the facts about an executor, as plain data.

    Arguments:
        question: a `Question` as plain data.
        number: the number of the task, for the names of its files.
    """
    return {
        **identity(),
        "python": ".".join(map(str, sys.version_info[:3])),
        "executable": sys.executable,
        "packages": {name: version_of(name) for name in PACKAGES},
        "modules": {name: digest_of(name, sys.path) for name in question["modules"]},
        "paths": {path: visit(path, question["token"], number) for path in question["paths"]},
        "missing": [file for file in question["files"] if not Path(file).exists()],
    }


def identity() -> dict[str, Any]:
    """Return the identity of an executor: its machine, the parent of its Python processes, and its id if known."""
    directory = Path.cwd().name
    id = os.environ.get("SPARK_EXECUTOR_ID") or (directory if directory.isdigit() else "")
    return {"host": socket.gethostname(), "process": os.getppid(), "id": id, "time": time.time()}


def version_of(name: str) -> str | None:
    """Return the version of a package; None if it cannot be imported."""
    if importlib.util.find_spec(name) is None:
        return None
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:  # it is in a zip, such as PySpark's own
        return str(getattr(__import__(name), "__version__", "")) or None


def digest_of(name: str, path: Sequence[str]) -> str | None:
    """Return a digest of the source of a module, which is not imported; None if there is no such module.

    Arguments:
        name: the name of the module.
        path: where modules are looked for, as `sys.path`.
    """
    top, *inner = name.split(".")
    # Packages in development are found by finders of their own.
    spec = importlib.machinery.PathFinder.find_spec(top, list(path)) or importlib.util.find_spec(top)
    if spec is None or spec.origin is None:
        return None
    loader: Any = spec.loader
    # Executors have files of Spark as `./name.zip`: the loader of a zip expects paths that begin with these characters.
    place = os.path.join(os.path.dirname(spec.origin), *inner)  # noqa: PTH118, PTH120
    for file in (f"{place}.py", os.path.join(place, "__init__.py")) if inner else (spec.origin,):  # noqa: PTH118
        try:
            return hashlib.sha256(loader.get_data(file)).hexdigest()
        except OSError:
            continue
    return None


def visit(path: str, token: str, number: int) -> str:
    """Return whether a directory is the one of the runner, and can be written: "" or the reason.

    A file is written only where the runner finds and deletes it.
    """
    directory = Path(path)
    try:
        if (directory / token).read_text(encoding="utf-8") != token:
            return "it is another directory"
    except FileNotFoundError:
        return "it is another directory" if directory.is_dir() else "it does not exist"
    except OSError as error:
        return f"it cannot be read: {error.strerror}"
    try:
        (directory / f"{token}.{number}").write_text(token, encoding="utf-8")
    except OSError as error:
        return f"it cannot be written: {error.strerror}"
    return ""
