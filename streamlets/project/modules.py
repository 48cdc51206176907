"""The modules of a project in this process: imported from its directory, then its `src`, one project at a time."""

from __future__ import annotations

import ast
import importlib
import os
import sys
import threading
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

FRAMEWORK_PACKAGES = ("blueprint", "cli", "streamlets")
_WORKER_PACKAGES = ("blueprint", "streamlets")
_HOME = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Shadowed:
    """A file of the project whose name hides another module or is hidden by one."""

    name: str
    file: Path
    other: str


@dataclass(frozen=True, slots=True)
class Project:
    """A directory with a blueprint and, in it or in its `src`, the modules of the streamlets."""

    directory: Path

    @property
    def roots(self) -> tuple[Path, ...]:
        """The directories from which modules are imported, in order of precedence."""
        return (self.directory, self.directory / "src")

    def find(self, module: str) -> Path | None:
        """Return the file of a module, or the directory of a namespace package; None if it is not in the project."""
        steps = module.split(".")
        for root in self.roots:
            path = root.joinpath(*steps)
            for file in (path / "__init__.py", path.with_name(path.name + ".py")):
                if file.is_file():
                    return file
            if path.is_dir():
                return path
        return None

    def owns(self, file: str) -> bool:
        """Return whether a file is the project's own, and not installed in a virtual environment inside of it."""
        path = Path(file)
        return path.is_relative_to(self.directory) and "site-packages" not in path.parts and not _is_framework(path)

    def shadowed(self, module: str) -> Shadowed | None:
        """Return a file of the project that hides a package of the framework, or that a loaded module hides.

        Call it after `enter`. Files with the names of packages that Spark's Python workers import always cause
        problems, others only if they are imported.

        Arguments:
            module: the module that is imported next.
        """
        top = module.partition(".")[0]
        for name in dict.fromkeys((*_WORKER_PACKAGES, top)):
            file = self.find(name)
            if file is None or file.is_dir() or _is_framework(file):
                continue
            if name in FRAMEWORK_PACKAGES:
                return Shadowed(name, file, "a package of the framework")
            loaded = sys.modules.get(name)
            if loaded is not None and not _comes_from(loaded, file):
                origin = getattr(loaded, "__file__", None) or "built in"
                return Shadowed(name, file, f"a module that is already loaded ({origin})")
        return None

    def importer_of(self, name: str, module: str) -> Path | None:
        """Return the file of the project that imports the top-level module `name`: `module` or a loaded module."""
        files = [getattr(loaded, "__file__", None) for loaded in list(sys.modules.values())]
        own = [Path(file) for file in files if file and self.owns(file)]
        file = self.find(module)
        candidates = [*([file] if file is not None and file.is_file() else []), *own]
        return next((path for path in candidates if name in _imported_names(path)), None)

    def load(self, module: str) -> ModuleType:
        """Import a module, and prevent it from starting a Spark session during the import.

        Raises:
            SessionAtImportError: it tried to start one.
            BaseException: any error that its code raises.
        """
        with _LOCK:
            self.enter()
            if _has_session():
                return importlib.import_module(module)
            with _no_session():
                return importlib.import_module(module)

    def enter(self) -> None:
        """Make this the project whose modules the process imports.

        The modules of the previous project are unloaded, except those that were loaded before it was entered: other
        code holds them.
        """
        global _entered, _added, _earlier  # like `sys.path` and `sys.modules`, they belong to the process
        with _LOCK:
            roots = [str(root) for root in self.roots]
            again = _entered == self
            if again and frozenset(roots) <= frozenset(sys.path):
                return
            if _entered is not None and not again:
                _leave(_entered, _added, _earlier)
            added = frozenset(roots) - frozenset(sys.path)
            sys.path[:] = [*roots, *(entry for entry in sys.path if entry not in roots)]
            _list_again(roots)
            if again:  # only `sys.path` was restored, as by a fixture of pytest
                _added |= added
            else:
                _entered, _added, _earlier = self, added, frozenset(sys.modules)

    def forget_modules(self, packages: Iterable[str] = ()) -> None:
        """Unload the modules, so that their next import executes them again.

        Arguments:
            packages: further top-level packages to unload, which may be installed elsewhere; packages of the framework
                stay loaded.
        """
        global _earlier
        with _LOCK:
            _forget_modules(self, frozenset(packages) - frozenset(FRAMEWORK_PACKAGES))
            _earlier &= frozenset(sys.modules)
            importlib.invalidate_caches()


_entered: Project | None = None
_added: frozenset[str] = frozenset()
"""The roots of the entered project that were not in `sys.path` before; others, as of pytest's `pythonpath`, stay."""
_earlier: frozenset[str] = frozenset()
"""The modules that were loaded before the project was entered, and that have not been unloaded since."""
_LOCK = threading.RLock()


def _list_again(roots: Sequence[str]) -> None:
    """Let the next imports see files that were added to these directories.

    `importlib.invalidate_caches` would do so for all directories, but imports `importlib.metadata` since Python 3.12,
    which takes longer than many a verification.
    """
    for path, finder in list(sys.path_importer_cache.items()):
        forget = getattr(finder, "invalidate_caches", None)  # finders of other kinds may have nothing to forget
        if forget is not None and any(path == root or path.startswith(f"{root}{os.sep}") for root in roots):
            forget()


class SessionAtImportError(Exception):
    """A module tried to start a Spark session during its import."""


def project_at(directory: Path | str) -> Project:
    """Return the project in a directory."""
    return Project(Path(directory).resolve())


def _leave(project: Project, added: Container[str], earlier: Container[str]) -> None:
    sys.path[:] = [entry for entry in sys.path if entry not in added]
    _forget_modules(project, kept=earlier)


def _forget_modules(project: Project, packages: Container[str] = (), kept: Container[str] = ()) -> None:
    own = [
        name
        for name, module in sys.modules.copy().items()
        if name not in ("__main__", "conftest")
        and name not in kept
        and (name.partition(".")[0] in packages or _is_own(project, module))
    ]
    for name in own:  # afterwards, as a namespace package has the search path of the package above it
        del sys.modules[name]


def _is_own(project: Project, module: ModuleType) -> bool:
    """Return whether a module is one of a project alone; a namespace package may have directories of others, too."""
    file = getattr(module, "__file__", None)
    paths = [file] if file else _search_path(module)
    return bool(paths) and all(map(project.owns, paths))


def _search_path(module: ModuleType) -> list[str]:
    try:
        return [str(path) for path in getattr(module, "__path__", ())]
    except (TypeError, KeyError):
        return []


def _is_framework(file: Path) -> bool:
    return any(file.is_relative_to(_HOME / name) for name in FRAMEWORK_PACKAGES)


def _comes_from(module: ModuleType, file: Path) -> bool:
    loaded = getattr(module, "__file__", None)
    return loaded is not None and Path(loaded).resolve() == file.resolve()


def _imported_names(file: Path) -> set[str]:
    """Return the top-level names that the `import` statements of a file import."""
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
    """Keep pyspark from starting a JVM: with a gateway port in the environment, it fails for lack of the secret."""
    previous = {name: os.environ.pop(name, None) for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET")}
    os.environ["PYSPARK_GATEWAY_PORT"] = "0"
    try:
        yield
    except BaseException as error:
        if _launched_gateway(error):
            raise SessionAtImportError("the module starts a Spark session during its import") from error
        raise
    finally:
        del os.environ["PYSPARK_GATEWAY_PORT"]
        os.environ.update({name: value for name, value in previous.items() if value is not None})


def _has_session() -> bool:
    """Return whether this process has a Spark session; then an import does not start another one."""
    context = sys.modules.get("pyspark.core.context")
    return getattr(getattr(context, "SparkContext", None), "_active_spark_context", None) is not None


def _launched_gateway(error: BaseException) -> bool:
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_name == "launch_gateway":
            return True
        trace = trace.tb_next
    chained = error.__cause__ or error.__context__
    return chained is not None and _launched_gateway(chained)
