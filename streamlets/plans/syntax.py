"""Locations of parts of a call in the author's source: an argument, the name of a column, a word in SQL text."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from streamlets.api.source_location import SourceLocation

Node = TypeVar("Node", bound=ast.expr | ast.stmt)


def argument(place: SourceLocation, index: int, keyword: str) -> SourceLocation | None:
    """Return the location of an argument of a call; None if the call does not have it.

    Arguments:
        place: the location of the call.
        index: the position of the argument without `self`.
        keyword: its name.
    """
    node = _argument(place, index, keyword)
    return _place(place.file, node) if node is not None else None


def entry(place: SourceLocation, index: int, keyword: str, attribute: str) -> SourceLocation | None:
    """Return the location of the value with the key `*.attribute` in an argument of a call that is a dict.

    Arguments:
        place: the location of the call.
        index: the position of the argument without `self`.
        keyword: its name.
        attribute: the last part of the key.
    """
    node = _argument(place, index, keyword)
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Attribute) and key.attr == attribute:
                return _place(place.file, value)
    return None


def mention(name: str, place: SourceLocation) -> SourceLocation | None:
    """Return the location of a name in a call, or else its only location in the function that contains the call.

    A name is a string (`"name"`, also after a dot), an attribute (`df.name`) or a word of a longer string, such as SQL.
    """
    in_call = _mentions(name, place, place)
    if in_call:
        return in_call[0]
    function = _function(place)
    in_function = _mentions(name, place, _place(place.file, function)) if function is not None else ()
    return in_function[0] if len(in_function) == 1 else None


def on_line(name: str, file: str, line: int) -> SourceLocation | None:
    """Return the location of a name in a line; the location of the line's code if the name is not in it."""
    text = _text(file).split("\n")[line - 1 : line]
    if not text:
        return None
    indent = len(text[0]) - len(text[0].lstrip())
    whole = SourceLocation(file, line, len(text[0][:indent].encode()), line, len(text[0].rstrip().encode()))
    return next(iter(_mentions(name, whole, whole)), whole) if name else whole


def statement(place: SourceLocation) -> SourceLocation:
    """Return the location of the statement that contains a location; for compound statements, the location itself."""
    simple = [
        node for node in _nodes(place.file)
        if isinstance(node, ast.stmt) and not hasattr(node, "body") and node.lineno <= place.line <= _end(node)[0]
    ]  # fmt: skip
    return _place(place.file, max(simple, key=lambda node: node.lineno)) if simple else place


def definition(file: str, line: int, name: str) -> SourceLocation | None:
    """Return the location of a function's name in the `def` statement that starts at a line or after its decorators."""
    lines = _text(file).split("\n")
    for number in range(line, min(line + 20, len(lines) + 1)):
        match = re.match(rf"\s*(?:async\s+)?def\s+({re.escape(name)})\b", lines[number - 1])
        if match:
            start = len(lines[number - 1][: match.start(1)].encode())
            return SourceLocation(file, number, start, number, start + len(name.encode()))
    return None


def _mentions(name: str, place: SourceLocation, within: SourceLocation) -> tuple[SourceLocation, ...]:
    exact: list[SourceLocation] = []
    words: list[SourceLocation] = []
    for node in _nodes(place.file):
        if not isinstance(node, ast.expr) or not _inside(node, within):
            continue
        if isinstance(node, ast.Attribute) and node.attr == name:
            end = (node.end_lineno or 0, node.end_col_offset or 0)
            exact.append(SourceLocation(place.file, end[0], end[1] - len(name.encode()), *end))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node.value == name or node.value.endswith(f".{name}"):
                exact.append(_place(place.file, node))
            elif " " in node.value or "(" in node.value:
                words += _words(name, place.file, node)
    return tuple(sorted(exact, key=_order)) or tuple(sorted(words, key=_order))


def _words(name: str, file: str, node: ast.Constant) -> Iterator[SourceLocation]:
    """Yield the locations of a name as a word of a longer string."""
    segment = ast.get_source_segment(_text(file), node) or ""
    for match in re.finditer(rf"(?<![\w.]){re.escape(name)}(?!\w)", segment):
        before = segment[: match.start()]
        line = node.lineno + before.count("\n")
        column = len(before.rpartition("\n")[2].encode()) + (node.col_offset if "\n" not in before else 0)
        yield SourceLocation(file, line, column, line, column + len(name.encode()))


def _argument(place: SourceLocation, index: int, keyword: str) -> ast.expr | None:
    call = _call(place)
    if call is None or any(isinstance(arg, ast.Starred) for arg in call.args[: index + 1]):
        return None
    if index < len(call.args):
        return call.args[index]
    return next((item.value for item in call.keywords if item.arg == keyword), None)


def _call(place: SourceLocation) -> ast.Call | None:
    """Return the call at the location of an instruction, which starts at the method's name in a multi-line chain."""
    end, start = (place.end_line, place.end_column), (place.line, place.column)
    calls = [
        node for node in _nodes(place.file)
        if isinstance(node, ast.Call) and _end(node) == end and (node.lineno, node.col_offset) <= start
    ]  # fmt: skip
    return max(calls, key=lambda node: (node.lineno, node.col_offset), default=None)


def _function(place: SourceLocation) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    functions = [
        node for node in _nodes(place.file)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.lineno <= place.line <= _end(node)[0]
    ]  # fmt: skip
    return max(functions, key=lambda node: node.lineno, default=None)


def _inside(node: ast.expr, within: SourceLocation) -> bool:
    start, end = (within.line, within.column), (within.end_line, within.end_column)
    return start <= (node.lineno, node.col_offset) and _end(node) <= end


def _end(node: ast.expr | ast.stmt) -> tuple[int, int]:
    return (node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)


def _place(file: str, node: ast.expr | ast.stmt) -> SourceLocation:
    return SourceLocation(file, node.lineno, node.col_offset, *_end(node))


def _order(place: SourceLocation) -> tuple[int, int]:
    return (place.line, place.column)


def _text(file: str) -> str:
    return _parsed(file)[0]


def _nodes(file: str) -> tuple[ast.AST, ...]:
    return _parsed(file)[1]


@lru_cache(maxsize=16)
def _read(file: str, changed: int) -> tuple[str, tuple[ast.AST, ...]]:
    text = Path(file).read_text(encoding="utf-8", errors="replace")
    try:
        return text, tuple(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError):  # the file was changed since it was imported
        return text, ()


def _parsed(file: str) -> tuple[str, tuple[ast.AST, ...]]:
    try:
        return _read(file, Path(file).stat().st_mtime_ns)
    except OSError:
        return "", ()
