"""The modules of an application and of Streamlets as a file of Spark, for executors that have neither."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from blueprint.masters import default_of
from streamlets.spark.session import SessionError
from streamlets.spark.settings import SessionPlan

ARCHIVE = "flow-modules.zip"
_FILES = "spark.submit.pyFiles"
_FRAMEWORK = ("streamlets", "blueprint")
_NOT_MODULES = ("__pycache__", "node_modules", "venv", "site-packages")
# More is a mistake: every executor fetches the file, and compiles what it imports from it.
_MOST_FILES = 20_000


def with_modules(plan: SessionPlan) -> SessionPlan:
    """Return the settings of a Spark, with the file of modules if executors get them so; the file is written.

    Raises:
        SessionError: there are too many modules, or one cannot be read.
    """
    master = plan.spark_master
    if master is None or (plan.cluster.modules or default_of("modules", master.kind)) != "files":
        return plan
    archive = plan.scratch / ARCHIVE
    plan.scratch.mkdir(parents=True, exist_ok=True)
    write_modules(archive, [Path(entry) for entry in plan.python_path])
    files = [name for name in (plan.settings.get(_FILES, ""), str(archive)) if name]
    return replace(plan, settings={**plan.settings, _FILES: ",".join(files)})


def write_modules(archive: Path, path: list[Path]) -> None:
    """Write the modules of directories and of Streamlets into a zip. Of equal names, the first one counts.

    Raises:
        SessionError: there are too many, or one cannot be read.
    """
    names: dict[str, Path] = {}
    for directory in path:
        for file in _modules_in(directory):
            names.setdefault(file.relative_to(directory).as_posix(), file)
            if len(names) > _MOST_FILES:
                raise SessionError(
                    f"there are more than {_MOST_FILES:,} modules in {directory}",
                    "set `flow.cluster.modules = shared`, or move the application into a directory of its own",
                )
    for package in _FRAMEWORK:
        spec = find_spec(package)
        assert spec is not None and spec.origin is not None
        root = Path(spec.origin).parent
        names |= {f"{package}/{file.relative_to(root).as_posix()}": file for file in _modules_in(root)}
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as out:
        for name, file in names.items():
            try:
                out.write(file, name)
            except FileNotFoundError:  # it was deleted since it was found
                continue
            except OSError as error:
                raise SessionError(
                    f"the module {file} cannot be read: {error.strerror}",
                    "let the user of the run read it, or set `flow.cluster.modules = shared`",
                ) from None


def _modules_in(directory: Path) -> Iterator[Path]:
    """Yield the files with Python code below a directory, without hidden directories and environments."""
    if not directory.is_dir():
        return
    for entry in sorted(directory.iterdir()):
        if entry.name.startswith(".") or entry.name in _NOT_MODULES:
            continue
        if entry.is_dir() and not entry.is_symlink() and not (entry / "pyvenv.cfg").exists():
            yield from _modules_in(entry)
        elif entry.suffix == ".py" and entry.is_file():
            yield entry


def forget_archive() -> None:
    """Remove the file of modules from the path of this process, which has the modules themselves.

    PySpark puts it there. A module that has changed would be imported as it was when the file was written.
    """
    sys.path[:] = [entry for entry in sys.path if not entry.endswith(ARCHIVE)]
