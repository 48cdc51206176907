"""Digests of Python functions by what they do: bytecode, constants, defaults, closures, and the functions and values
of the project that they use.

A digest is the same in another process and does not contain names of files, numbers of lines, comments or docstrings.
Libraries are known by their names. Python changes its bytecode from one minor version to the next, which the digest
names.
"""

from __future__ import annotations

import dis
import enum
import hashlib
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

_LIBRARIES = tuple(
    str(Path(sysconfig.get_path(name)).resolve()) for name in ("stdlib", "platstdlib", "purelib", "platlib")
)
_OWN = ("streamlets", "blueprint", "pyspark", "cloudpickle", "py4j")
_VALUES = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis))
_NOT_OF_A_CLASS = ("__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__firstlineno__",
                   "__static_attributes__", "__annotations__", "__abstractmethods__", "_abc_impl")  # fmt: skip


class UnreadableCodeError(ValueError):
    """The code of a function, or a value that it uses, cannot be read."""


def code_digest(function: object) -> str:
    """Return the digest of a function: `<Python version>:<twelve digits>`.

    Raises:
        UnreadableCodeError: it cannot be determined, for example because the function has an open file.
    """
    try:
        text = repr(_Reader().value(function))
    except (RecursionError, TypeError, AttributeError, NotImplementedError) as error:
        raise UnreadableCodeError(str(error)) from error
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return f"{version}:{hashlib.sha256(text.encode()).hexdigest()[:12]}"


class _Reader:
    """Turns functions and values into nested tuples; a value that is met again is its number."""

    def __init__(self) -> None:
        self._met: dict[int, int] = {}
        self._kept: list[object] = []  # or their ids would be given again

    def value(self, value: Any) -> object:
        if isinstance(value, enum.Enum):
            return "enum", type(value).__qualname__, value.name
        if type(value) in _VALUES:
            return type(value).__name__, repr(value)
        if id(value) in self._met:
            return "met", self._met[id(value)]
        self._met[id(value)] = len(self._met)
        self._kept.append(value)
        match value:
            case CodeType():
                return self._code(value)
            case FunctionType():
                return self._function(value)
            case MethodType():
                return "method", self.value(value.__func__), self.value(value.__self__)
            case BuiltinFunctionType():
                return "builtin", value.__module__, value.__qualname__
            case partial():
                return "partial", self.value(value.func), self.value(value.args), self.value(value.keywords)
            case ModuleType():
                return "module", value.__name__
            case type():
                return self._class(value)
            case tuple() | list() if type(value) in (tuple, list):
                return type(value).__name__, tuple(self.value(item) for item in value)
            case set() | frozenset() if type(value) in (set, frozenset):
                return type(value).__name__, tuple(sorted(repr(_Reader().value(item)) for item in value))
            case dict() if type(value) is dict:
                return "dict", tuple((self.value(key), self.value(item)) for key, item in value.items())
            case staticmethod() | classmethod():
                return type(value).__name__, self.value(value.__func__)
            case property():
                return "property", self.value(value.fget), self.value(value.fset)
        return self._object(value)

    def _function(self, function: FunctionType) -> object:
        if _of_library(function.__module__):
            return "function", function.__module__, function.__qualname__
        cells = tuple(self._cell(cell) for cell in function.__closure__ or ())
        defaults = self.value(function.__defaults__), self.value(function.__kwdefaults__)
        used = tuple(self._globals(function.__code__, function.__globals__))
        return "function", self._code(function.__code__, function.__doc__), defaults, cells, used

    def _cell(self, cell: Any) -> object:
        try:
            contents = cell.cell_contents
        except ValueError:
            return "empty"
        return self.value(contents)

    def _code(self, code: CodeType, doc: str | None = None) -> object:
        constants = [None if index == 0 and doc is not None and constant == doc else constant
                     for index, constant in enumerate(code.co_consts)]  # fmt: skip
        arguments = code.co_argcount + code.co_kwonlyargcount
        return (
            "code", code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags,
            code.co_varnames[:arguments], code.co_code.hex(), code.co_names, len(code.co_freevars),
            getattr(code, "co_exceptiontable", b"").hex(), tuple(self.value(constant) for constant in constants),
        )  # fmt: skip

    def _globals(self, code: CodeType, names: Mapping[str, Any]) -> Iterator[object]:
        """Yield what code uses of its module and of other modules of the project."""
        used = _names(code)
        for name in sorted(used & set(names)):
            yield name, self._global(names[name], used)
        for module in sorted(_imported(code)):
            if module in sys.modules:
                yield module, self._global(sys.modules[module], used)

    def _global(self, value: Any, used: set[str]) -> object:
        if not isinstance(value, ModuleType) or _of_library(value.__name__) or id(value) in self._met:
            return self.value(value)
        self._met[id(value)] = len(self._met)
        members = sorted(name for name in used if name in vars(value))
        return "module", tuple((name, self._global(vars(value)[name], used)) for name in members)

    def _class(self, class_: type) -> object:
        if _of_library(class_.__module__):
            return "class", class_.__module__, class_.__qualname__
        members = sorted(name for name in vars(class_) if name not in _NOT_OF_A_CLASS)
        slots = ("member_descriptor", "getset_descriptor")
        return (
            "class", class_.__qualname__, tuple(self.value(base) for base in class_.__bases__),
            tuple((name, self.value(vars(class_)[name])) for name in members
                  if type(vars(class_)[name]).__name__ not in slots),
        )  # fmt: skip

    def _object(self, value: Any) -> object:
        reduced = value.__reduce_ex__(4)
        if isinstance(reduced, str):
            return "global", type(value).__module__, reduced
        items = [list(part) if hasattr(part, "__next__") else part for part in reduced]
        return "object", self.value(type(value)), tuple(self.value(item) for item in items)


def _of_library(module: str | None) -> bool:
    """Return whether a module is of Python, a library or this framework; one without a file is of Python."""
    if module is None or module.partition(".")[0] in _OWN:
        return True
    if module == "__main__":
        return False
    loaded = sys.modules.get(module)
    file = getattr(loaded, "__file__", None)
    if file is None:
        return loaded is not None and not hasattr(loaded, "__path__")
    return str(Path(file).resolve()).startswith(_LIBRARIES)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _names(code: CodeType) -> set[str]:
    return {name for inner in _codes(code) for name in inner.co_names}


def _imported(code: CodeType) -> set[str]:
    instructions = (instruction for inner in _codes(code) for instruction in dis.get_instructions(inner))
    return {str(instruction.argval) for instruction in instructions if instruction.opname == "IMPORT_NAME"}
