"""How large modules, functions and lists of parameters may be, so that each fits in a reader's head."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MODULES = sorted(file for package in ("blueprint", "streamlets", "cli") for file in (ROOT / package).rglob("*.py"))
MAX_MODULE_LINES = 400
MAX_FUNCTION_LINES = 60
MAX_PARAMETERS = 8

LARGER_MODULES = {"streamlets/spark/plan_reader.py"}
"""The modules that are still larger."""

LARGER = {
    "blueprint/diagnostics/codes.py: finding: parameters",  # the fields of a diagnostic, by keyword
    "blueprint/verification/verify.py: verify: parameters",
    "blueprint/verification/verify.py: verify: lines",
    "streamlets/channels/kafka/appender.py: __init__: parameters",
    "streamlets/runner/run.py: run: lines",
    "streamlets/runner/units/progress.py: progressed: parameters",
    "streamlets/testkit/kit.py: streamlet: parameters",  # the API of tests, by keyword
}
"""The functions that are still larger. The set must not grow."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(tree: ast.AST) -> Iterator[Function]:
    """Yield all functions and methods of a module."""
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def lines_of(function: Function) -> int:
    """Return the number of lines of a function without its decorators and its docstring."""
    first, *rest = function.body
    is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    docstring = (first.end_lineno or 0) - first.lineno + 1 if is_docstring and rest else 0
    return (function.end_lineno or 0) - function.lineno + 1 - docstring


def parameters_of(function: Function) -> int:
    """Return the number of parameters besides `self` and `cls`."""
    arguments = function.args
    named = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return len([name for name in named if name not in ("self", "cls")])


def is_of_click(function: Function) -> bool:
    """Return whether a function is a command, whose parameters are the options of the command line."""
    return any(".command(" in ast.unparse(decorator) for decorator in function.decorator_list)


def test_modules_fit_in_a_reader_s_head() -> None:
    """A module that grows beyond the limit is split along what it does."""
    sizes = {file.relative_to(ROOT).as_posix(): len(file.read_text(encoding="utf-8").splitlines()) for file in MODULES}
    assert {name for name, size in sizes.items() if size > MAX_MODULE_LINES} <= LARGER_MODULES


def test_functions_fit_on_a_screen() -> None:
    """A longer function has phases, each of which is a function; many parameters are an object."""
    found = set()
    for file in MODULES:
        name = file.relative_to(ROOT).as_posix()
        for function in functions(ast.parse(file.read_text(encoding="utf-8"))):
            if lines_of(function) > MAX_FUNCTION_LINES:
                found.add(f"{name}: {function.name}: lines")
            if parameters_of(function) > MAX_PARAMETERS and not is_of_click(function):
                found.add(f"{name}: {function.name}: parameters")
    assert found == LARGER
