"""From the place of a call to the part of it that is meant: an argument, a column's name, a word in a text of SQL."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from streamlets.api.declared import Declared

Node = TypeVar("Node", bound=ast.expr | ast.stmt)


def argument(place: Declared, index: int, keyword: str) -> Declared | None:
    """An argument of the call at a place; None when the call does not give it.

    Arguments:
        index: its position without `self`; keyword: its name.
    """
    node = _argument(place, index, keyword)
    return _place(place.file, node) if node is not None else None


def entry(place: Declared, index: int, keyword: str, attribute: str) -> Declared | None:
    """The value under the key `....attribute` of the dict that is an argument of the call at a place."""
    node = _argument(place, index, keyword)
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Attribute) and key.attr == attribute:
                return _place(place.file, value)
    return None


def mention(name: str, place: Declared) -> Declared | None:
    """Where a name is written: in the call at a place, else, when only one place can be meant, in its function.

    A name is a text (`"name"`, also after a dot), an attribute (`df.name`) or a word of a longer text, such as SQL.
    """
    inside = _mentions(name, place, place)
    if inside:
        return inside[0]
    function = _function(place)
    around = _mentions(name, place, _place(place.file, function)) if function is not None else ()
    return around[0] if len(around) == 1 else None


def on_line(name: str, file: str, line: int) -> Declared | None:
    """Where a name is written on a line; the whole line's code when it is not."""
    text = _text(file).split("\n")[line - 1 : line]
    if not text:
        return None
    indent = len(text[0]) - len(text[0].lstrip())
    whole = Declared(file, line, len(text[0][:indent].encode()), line, len(text[0].rstrip().encode()))
    return next(iter(_mentions(name, whole, whole)), whole) if name else whole


def statement(place: Declared) -> Declared:
    """The statement that a place is in; for one with a body, the place itself."""
    simple = [
        node for node in _nodes(place.file)
        if isinstance(node, ast.stmt) and not hasattr(node, "body") and node.lineno <= place.line <= _end(node)[0]
    ]  # fmt: skip
    return _place(place.file, max(simple, key=lambda node: node.lineno)) if simple else place


def definition(file: str, line: int, name: str) -> Declared | None:
    """The name in the `def` statement that begins at a line or, with decorators, after it."""
    lines = _text(file).split("\n")
    for number in range(line, min(line + 20, len(lines) + 1)):
        found = re.match(rf"\s*(?:async\s+)?def\s+({re.escape(name)})\b", lines[number - 1])
        if found:
            start = len(lines[number - 1][: found.start(1)].encode())
            return Declared(file, number, start, number, start + len(name.encode()))
    return None


def _mentions(name: str, place: Declared, within: Declared) -> tuple[Declared, ...]:
    exact: list[Declared] = []
    words: list[Declared] = []
    for node in _nodes(place.file):
        if not isinstance(node, ast.expr) or not _inside(node, within):
            continue
        if isinstance(node, ast.Attribute) and node.attr == name:
            end = (node.end_lineno or 0, node.end_col_offset or 0)
            exact.append(Declared(place.file, end[0], end[1] - len(name.encode()), *end))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node.value == name or node.value.endswith(f".{name}"):
                exact.append(_place(place.file, node))
            elif " " in node.value or "(" in node.value:
                words += _words(name, place.file, node)
    return tuple(sorted(exact, key=_order)) or tuple(sorted(words, key=_order))


def _words(name: str, file: str, node: ast.Constant) -> Iterator[Declared]:
    """The name as a word of a longer text."""
    segment = ast.get_source_segment(_text(file), node) or ""
    for found in re.finditer(rf"(?<![\w.]){re.escape(name)}(?!\w)", segment):
        before = segment[: found.start()]
        line = node.lineno + before.count("\n")
        column = len(before.rpartition("\n")[2].encode()) + (node.col_offset if "\n" not in before else 0)
        yield Declared(file, line, column, line, column + len(name.encode()))


def _argument(place: Declared, index: int, keyword: str) -> ast.expr | None:
    call = _call(place)
    if call is None or any(isinstance(each, ast.Starred) for each in call.args[: index + 1]):
        return None
    if index < len(call.args):
        return call.args[index]
    return next((each.value for each in call.keywords if each.arg == keyword), None)


def _call(place: Declared) -> ast.Call | None:
    """The call that an instruction's place is of; in a chain over several lines a place begins at the method's name."""
    end, start = (place.end_line, place.end_column), (place.line, place.column)
    calls = [
        node for node in _nodes(place.file)
        if isinstance(node, ast.Call) and _end(node) == end and (node.lineno, node.col_offset) <= start
    ]  # fmt: skip
    return max(calls, key=lambda node: (node.lineno, node.col_offset), default=None)


def _function(place: Declared) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    functions = [
        node for node in _nodes(place.file)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.lineno <= place.line <= _end(node)[0]
    ]  # fmt: skip
    return max(functions, key=lambda node: node.lineno, default=None)


def _inside(node: ast.expr, within: Declared) -> bool:
    start, end = (within.line, within.column), (within.end_line, within.end_column)
    return start <= (node.lineno, node.col_offset) and _end(node) <= end


def _end(node: ast.expr | ast.stmt) -> tuple[int, int]:
    return (node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)


def _place(file: str, node: ast.expr | ast.stmt) -> Declared:
    return Declared(file, node.lineno, node.col_offset, *_end(node))


def _order(place: Declared) -> tuple[int, int]:
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
    except (SyntaxError, ValueError):  # changed since it was imported
        return text, ()


def _parsed(file: str) -> tuple[str, tuple[ast.AST, ...]]:
    try:
        return _read(file, Path(file).stat().st_mtime_ns)
    except OSError:
        return "", ()
