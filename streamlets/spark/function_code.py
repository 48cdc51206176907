"""Digests of what Python functions do.

They cover instructions, constants, defaults, closures, and the functions and values of the project that are used.

A digest is the same in another process. It does not have names of files, functions, modules, global and local
variables, numbers of lines, comments or docstrings: a function or a constant that is only renamed or moved is the same.
Libraries are known by their names. Python changes its instructions from one minor version to the next, which the digest
names.
"""

from __future__ import annotations

import dis
import enum
import hashlib
import inspect
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any

from streamlets.spark.function_modules import imported, is_library, package_of

_VALUES = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis))
_IMMUTABLE = (tuple, frozenset, CodeType)
_NOT_OF_A_CLASS = ("__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__firstlineno__",
                   "__static_attributes__", "__annotations__", "__abstractmethods__", "_abc_impl")  # fmt: skip
_DESCRIPTORS = ("member_descriptor", "getset_descriptor")
_PICKLED_BY = ("__reduce__", "__reduce_ex__", "__getstate__")
_GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME")
_BY_NAME = {"globals", "eval", "exec", "__import__", "import_module"}
"""Functions that read what their arguments name, which is not in the code."""
_MEMBERS_BY_NAME = {"getattr", "vars", "attrgetter", "methodcaller", "__dict__"}
"""The same for the members of a module."""


class UnreadableCodeError(ValueError):
    """The code of a function, or a value that it uses, cannot be read."""


def code_digest(function: object, packages: Collection[str] = (), *, named: bool = False) -> str:
    """Return the digest of a function: `<Python version>:<twelve digits>`.

    Arguments:
        function: a function, or another callable object.
        packages: packages of the project, which are read wherever they are installed; the function's package is one.
        named: whether it is called with the names of its arguments, which are then a part of it.

    Raises:
        UnreadableCodeError: it cannot be determined, for example because the function has an open file.
    """
    try:
        text = repr(_Reader({*packages, package_of(function)}).entry(function, named=named))
    except (RecursionError, TypeError, AttributeError, NotImplementedError, ImportError) as error:
        raise UnreadableCodeError(str(error)) from error
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return f"{version}:{hashlib.sha256(text.encode()).hexdigest()[:12]}"


class _Reader:
    """Turns functions and values into nested tuples; a value that is met again is its number."""

    def __init__(self, packages: Collection[str]) -> None:
        self._packages = packages
        self._met: dict[int, int] = {}
        self._kept: list[object] = []  # or their ids would be given again

    def entry(self, function: object, *, named: bool) -> object:
        """Return the function that Spark calls, without the names of its arguments unless it is called with them."""
        if isinstance(function, FunctionType) and not named and not self._of_library(function.__module__):
            self._meet(function)
            return self._function(function, named=False)
        return self.value(function)

    def value(self, value: Any) -> object:
        if type(value) in _VALUES:
            return type(value).__name__, repr(value)
        if id(value) in self._met:
            return "met", self._met[id(value)]
        if type(value) not in _IMMUTABLE:  # whether equal ones are one object depends on the compiler
            self._meet(value)
        match value:
            case enum.Enum():
                return "enum", self.value(type(value)), self.value(value._value_)
            case CodeType():
                return self._code(value, {})
            case FunctionType():
                return self._function(value)
            case MethodType():
                return "method", self.value(value.__func__), self.value(value.__self__)
            case BuiltinFunctionType():
                owner = None if isinstance(value.__self__, ModuleType) else self.value(value.__self__)
                return "builtin", value.__module__, value.__qualname__, owner
            case partial():
                return "partial", self.value(value.func), self.value(value.args), self.value(value.keywords)
            case ModuleType():
                return "module", value.__name__
            case type():
                return self._class(value)
            case tuple() | list() if type(value) in (tuple, list):
                return type(value).__name__, tuple(self.value(item) for item in value)
            case set() | frozenset() if type(value) in (set, frozenset):
                items = sorted(repr(_Reader(self._packages).value(item)) for item in value)
                return type(value).__name__, tuple(items)
            case dict() | MappingProxyType() if type(value) in (dict, MappingProxyType):
                return "dict", tuple((self.value(key), self.value(item)) for key, item in value.items())
            case staticmethod() | classmethod():
                return type(value).__name__, self.value(value.__func__)
            case property():
                return "property", self.value(value.fget), self.value(value.fset)
            case re.Pattern():
                return "pattern", self.value(value.pattern), value.flags
        return self._object(value)

    def _meet(self, value: object) -> None:
        self._met[id(value)] = len(self._met)
        self._kept.append(value)

    def _function(self, function: FunctionType, *, named: bool = True) -> object:
        cells = tuple(self._cell(cell) for cell in function.__closure__ or ())
        if self._of_library(function.__module__):  # it may be one that the library has made of functions of the project
            made = "<locals>" in function.__qualname__
            return "function", function.__module__, function.__qualname__, cells if made else ()
        defaults = self.value(function.__defaults__), self.value(function.__kwdefaults__)
        code = self._code(function.__code__, function.__globals__, named=named)
        return "function", code, defaults, cells, self.value(dict(sorted(vars(function).items())))

    def _cell(self, cell: Any) -> object:
        try:
            contents = cell.cell_contents
        except ValueError:
            return "empty"
        return self.value(contents)

    def _code(self, code: CodeType, names: Mapping[str, Any], *, named: bool = True) -> object:
        if used := _BY_NAME & _names(code):
            raise UnreadableCodeError(f"`{used.pop()}` reads what the code does not have")
        arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount
        flags = code.co_flags & ~inspect.CO_NESTED
        return (
            "code", counts, flags, arguments if named else (), len(code.co_freevars),
            getattr(code, "co_exceptiontable", b"").hex(), tuple(self._instructions(code, names)),
        )  # fmt: skip

    def _instructions(self, code: CodeType, names: Mapping[str, Any]) -> Iterator[object]:
        """Yield the instructions of a function, with values for the names of globals."""
        before: list[Any] = [None, None]
        for instruction in dis.get_instructions(code):
            name, value, opcode = instruction.opname, instruction.argval, instruction.opcode
            if name == "EXTENDED_ARG":
                continue
            if name == "KW_NAMES":  # Python 3.11 does not look it up
                value = code.co_consts[instruction.arg or 0]
            match name:
                case "IMPORT_NAME":
                    yield name, self._imported(value, before, names, _names(code))
                case _ if name in _GLOBALS and value in names:
                    calls = instruction.argrepr.startswith("NULL")
                    yield name, calls, self._global(names[value], _names(code))
                case _ if opcode in dis.hasconst and isinstance(value, CodeType):
                    yield name, self._code(value, names)
                case _ if opcode in dis.hasconst:
                    yield name, self.value(value)
                case _ if opcode in dis.hasname:
                    yield name, instruction.argrepr
                case _:
                    yield name, instruction.arg
            before = [before[1], value]

    def _imported(self, name: str, before: list[Any], names: Mapping[str, Any], used: set[str]) -> object:
        """Return the entry of a module that a function imports itself and uses."""
        level, members = before
        return self._global(imported(name, members, level, names, self._packages), used)

    def _global(self, value: Any, used: set[str]) -> object:
        if not isinstance(value, ModuleType) or self._of_library(value.__name__) or id(value) in self._met:
            return self.value(value)
        if by_name := _MEMBERS_BY_NAME & used:
            raise UnreadableCodeError(f"`{by_name.pop()}` may read any member of `{value.__name__}`")
        self._meet(value)
        members = sorted(name for name in {*used, "__getattr__"} if name in vars(value))
        return "module", tuple((name, self._global(vars(value)[name], used)) for name in members)

    def _class(self, class_: type) -> object:
        if self._of_library(class_.__module__):
            return "class", class_.__module__, class_.__qualname__
        members = sorted(name for name in vars(class_) if name not in _NOT_OF_A_CLASS)
        return (
            "class", class_.__qualname__, self.value(type(class_)),
            tuple(self.value(base) for base in class_.__bases__),
            tuple((name, self.value(vars(class_)[name])) for name in members
                  if type(vars(class_)[name]).__name__ not in _DESCRIPTORS),
        )  # fmt: skip

    def _object(self, value: Any) -> object:
        if type(value).__name__ == "Broadcast" and type(value).__module__.startswith("pyspark."):
            return "broadcast", self.value(value.value)
        if type(value).__name__ == "_lru_cache_wrapper":
            return "cached", self.value(value.__wrapped__), self.value(value.cache_parameters())
        reduced = value.__reduce_ex__(4)
        if isinstance(reduced, str):
            module = getattr(value, "__module__", None) or type(value).__module__
            if not self._of_library(module):
                raise UnreadableCodeError(f"`{reduced}` is pickled as a name")
            return "global", module, reduced
        items = [list(part) if hasattr(part, "__next__") else part for part in reduced]
        own = vars(value) if self._pickles_itself(type(value)) and hasattr(value, "__dict__") else None
        return "object", self.value(type(value)), tuple(self.value(item) for item in items), self.value(own)

    def _pickles_itself(self, class_: type) -> bool:
        """Return whether a class of the project determines what is pickled of its instances, which may not be all."""
        own = (base for base in class_.__mro__ if not self._of_library(base.__module__))
        return any(name in vars(base) for base in own for name in _PICKLED_BY)

    def _of_library(self, module: str | None) -> bool:
        return is_library(module, self._packages)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _names(code: CodeType) -> set[str]:
    return {name for inner in _codes(code) for name in inner.co_names}
