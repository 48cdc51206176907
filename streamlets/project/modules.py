"""A project's modules in this process: imported from its folder, then its `src`, one project at a time."""

from __future__ import annotations

import ast
import importlib
import os
import sys
import threading
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

OURS = ("blueprint", "cli", "streamlets")
_LIVE_IN_WORKERS = ("blueprint", "streamlets")
_HOME = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Shadowed:
    """A file of the project whose name hides, or is hidden by, another module."""

    name: str
    file: Path
    other: str


@dataclass(frozen=True, slots=True)
class Project:
    """A folder with a blueprint and, in it or in its `src`, the modules of its streamlets."""

    folder: Path

    @property
    def roots(self) -> tuple[Path, ...]:
        """Where modules are imported from, first one first."""
        return (self.folder, self.folder / "src")

    def find(self, module: str) -> Path | None:
        """The file of a module, or the folder of a package without one; None when the project has none of the name."""
        steps = module.split(".")
        for root in self.roots:
            place = root.joinpath(*steps)
            for file in (place / "__init__.py", place.with_name(place.name + ".py")):
                if file.is_file():
                    return file
            if place.is_dir():
                return place
        return None

    def owns(self, file: str) -> bool:
        """Whether a file is one of the project's own (what is installed in an environment inside it is not)."""
        path = Path(file)
        return path.is_relative_to(self.folder) and "site-packages" not in path.parts and not _is_ours(path)

    def shadowed(self, module: str) -> Shadowed | None:
        """A file of the project that stands in the way of the framework, or cannot be had under its name.

        Call it after `enter`. Files called like what workers import are always in the way; others only when they are
        asked for.
        """
        top = module.partition(".")[0]
        for name in dict.fromkeys((*_LIVE_IN_WORKERS, top)):
            file = self.find(name)
            if file is None or file.is_dir() or _is_ours(file):
                continue
            if name in OURS:
                return Shadowed(name, file, "a package of the framework")
            loaded = sys.modules.get(name)
            if loaded is not None and not _comes_from(loaded, file):
                origin = getattr(loaded, "__file__", None) or "built in"
                return Shadowed(name, file, f"a module that is loaded already ({origin})")
        return None

    def importer_of(self, name: str, module: str) -> Path | None:
        """The file of the project, `module`'s or one that is loaded, that imports the top-level module `name`."""
        files = [getattr(loaded, "__file__", None) for loaded in list(sys.modules.values())]
        own = [Path(file) for file in files if file and self.owns(file)]
        asked = self.find(module)
        candidates = [*([asked] if asked is not None and asked.is_file() else []), *own]
        return next((file for file in candidates if name in _imported(file)), None)

    def load(self, module: str) -> ModuleType:
        """Import a module; a Spark session that it asks for while it is imported is refused.

        Raises:
            SessionAtImportError: it asked for one.
            BaseException: whatever its code raises.
        """
        with _LOCK:
            self.enter()
            if _has_session():
                return importlib.import_module(module)
            with _no_session():
                return importlib.import_module(module)

    def enter(self) -> None:
        """Make this the project whose modules the process has; those of the one before are forgotten."""
        global _entered  # `sys.path` and `sys.modules` are the process's, and so is this
        with _LOCK:
            if _entered == self:
                return
            if _entered is not None:
                _forget(_entered)
            roots = [str(root) for root in self.roots]
            sys.path[:] = [*roots, *(entry for entry in sys.path if entry not in roots)]
            importlib.invalidate_caches()
            _entered = self

    def forget_modules(self, packages: Iterable[str] = ()) -> None:
        """Have the next import of each of its modules execute it again.

        Arguments:
            packages: top-level packages to which the same applies, though they are installed elsewhere; those of the
                framework stay.
        """
        with _LOCK:
            _forget_modules(self, frozenset(packages) - frozenset(OURS))
            importlib.invalidate_caches()


_entered: Project | None = None
_LOCK = threading.RLock()


class SessionAtImportError(Exception):
    """A module asked for a Spark session while it was imported."""


def project_at(folder: Path | str) -> Project:
    """The project in a folder."""
    return Project(Path(folder).resolve())


def _forget(project: Project) -> None:
    for root in project.roots:
        while str(root) in sys.path:
            sys.path.remove(str(root))
    _forget_modules(project)


def _forget_modules(project: Project, packages: Container[str] = ()) -> None:
    for name, module in list(sys.modules.items()):
        places = [getattr(module, "__file__", None) or "", *_search_path(module)]
        own = name.partition(".")[0] in packages or any(place and project.owns(place) for place in places)
        if own and name not in ("__main__", "conftest"):
            del sys.modules[name]


def _search_path(module: ModuleType) -> list[str]:
    try:
        return [str(place) for place in getattr(module, "__path__", ())]
    except (TypeError, KeyError):
        return []


def _is_ours(file: Path) -> bool:
    return any(file.is_relative_to(_HOME / name) for name in OURS)


def _comes_from(module: ModuleType, file: Path) -> bool:
    loaded = getattr(module, "__file__", None)
    return loaded is not None and Path(loaded).resolve() == file.resolve()


def _imported(file: Path) -> set[str]:
    """The top-level names that a file imports, as far as its text says."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return set()
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names


@contextmanager
def _no_session() -> Iterator[None]:
    """Let pyspark start no JVM: told of a gateway that somebody else has started, it wants a secret it has not."""
    kept = {name: os.environ.pop(name, None) for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET")}
    os.environ["PYSPARK_GATEWAY_PORT"] = "0"
    try:
        yield
    except BaseException as error:
        if _launches(error):
            raise SessionAtImportError("a Spark session is started while the module is imported") from error
        raise
    finally:
        del os.environ["PYSPARK_GATEWAY_PORT"]
        os.environ.update({name: value for name, value in kept.items() if value is not None})


def _has_session() -> bool:
    """Whether Spark runs in this process already: then an import starts none."""
    context = sys.modules.get("pyspark.core.context")
    return getattr(getattr(context, "SparkContext", None), "_active_spark_context", None) is not None


def _launches(error: BaseException) -> bool:
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_name == "launch_gateway":
            return True
        trace = trace.tb_next
    chained = error.__cause__ or error.__context__
    return chained is not None and _launches(chained)
