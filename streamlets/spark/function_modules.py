"""Which modules used by a Python function are the project's, and which belong to libraries or this framework."""

from __future__ import annotations

import importlib.util
import sys
import sysconfig
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from types import MethodType, ModuleType
from typing import Any

_LIBRARIES = tuple(
    str(Path(sysconfig.get_path(name)).resolve()) for name in ("stdlib", "platstdlib", "purelib", "platlib")
)
_OWN = ("streamlets", "blueprint", "pyspark", "cloudpickle", "py4j")


def package_of(function: object) -> str:
    """Return the package of a function or another callable object; `""` for Python and the framework.

    An application may be installed where its libraries are.
    """
    while isinstance(function, partial | MethodType):
        function = function.func if isinstance(function, partial) else function.__self__
    module = getattr(function, "__module__", None) or type(function).__module__
    package = str(module).partition(".")[0]
    return "" if package in _OWN or package in sys.stdlib_module_names else package


def is_library(module: str | None, packages: Collection[str]) -> bool:
    """Return whether a module is of Python, a library or this framework; one without a file is of Python.

    Arguments:
        module: its name.
        packages: packages of the project, wherever they are installed.
    """
    package = (module or "").partition(".")[0]
    if module is None or package in _OWN:
        return True
    if package in packages or module == "__main__":
        return False
    loaded = sys.modules.get(module)
    file = getattr(loaded, "__file__", None)
    if file is None:
        return loaded is not None and not hasattr(loaded, "__path__")
    return _in_libraries(file)


def imported(
    name: str, members: tuple[str, ...] | None, level: int, names: Mapping[str, Any], packages: Collection[str]
) -> ModuleType:
    """Return the module of an `import` inside of a function; one of a library that is not loaded stays so.

    Arguments:
        name: its name, relative to the package of the function if `level` is not 0.
        members: the names after `from ... import`; None for `import ...`.
        level: the number of dots before the name.
        names: the globals of the function.
        packages: packages of the project.

    Raises:
        ImportError: it cannot be imported.
    """
    package = name.partition(".")[0]
    if level == 0 and package not in sys.modules and package not in packages and _is_installed(package):
        return ModuleType(name)
    try:
        return __import__(name, dict(names), None, members or (), level)
    except Exception as error:  # the code of the module is the author's
        raise ImportError(f"cannot import `{'.' * level}{name}`: {error}") from error


def _is_installed(package: str) -> bool:
    spec = importlib.util.find_spec(package)
    file = spec.origin or next(iter(spec.submodule_search_locations or ()), "") if spec is not None else ""
    return spec is not None and (not file or file in ("built-in", "frozen") or _in_libraries(file))


def _in_libraries(file: str) -> bool:
    return str(Path(file).resolve()).startswith(_LIBRARIES)
