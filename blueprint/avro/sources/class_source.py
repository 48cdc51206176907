"""Source locations of classes and their fields."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

from blueprint.avro.sources.places import shown_path
from blueprint.diagnostics import Span


class ClassPlaces:
    """Source locations of classes and their annotated fields; each file is read once.

    Arguments:
        fallback: the location returned when the source text is not available.
    """

    def __init__(self, fallback: Span) -> None:
        self._fallback = fallback
        self._trees: dict[str, ast.Module | None] = {}
        self._lines: dict[str, list[bytes]] = {}

    def file_of(self, source: type) -> str | None:
        """Return the file of a class, as a path to show; None if it has none."""
        path = self._path(source)
        return None if path is None else shown_path(Path(path))

    def of_class(self, source: type) -> Span:
        """Return the location of the class name in the `class` statement."""
        path, node = self._node(source)
        if path is None or node is None:
            return self._fallback
        column = node.col_offset + len("class ") + 1
        return Span(shown_path(Path(path)), node.lineno, column, node.lineno, column + len(node.name))

    def of_field(self, source: type, field: str) -> Span:
        """Return the location of a field's name and annotation, in the class or one of its bases."""
        for base in source.__mro__:
            path, node = self._node(base)
            for statement in node.body if node else ():
                is_field = isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
                if path and is_field and statement.target.id == field:  # type: ignore[attr-defined]
                    target, hint = statement.target, statement.annotation  # type: ignore[attr-defined]
                    before = self._lines[path][hint.end_lineno - 1][: hint.end_col_offset]  # in bytes, as `ast` counts
                    end = (hint.end_lineno, len(before.decode(errors="replace")) + 1)
                    return Span(shown_path(Path(path)), target.lineno, target.col_offset + 1, *end)
        return self._fallback

    def _path(self, source: type) -> str | None:
        module = sys.modules.get(source.__module__)
        return getattr(module, "__file__", None)

    def _node(self, source: type) -> tuple[str | None, ast.ClassDef | None]:
        path = self._path(source)
        if path is None:
            return None, None
        if path not in self._trees:
            try:
                text = Path(path).read_bytes()
                self._trees[path], self._lines[path] = ast.parse(text), text.splitlines()
            except (OSError, ValueError, SyntaxError):
                self._trees[path] = None
        tree: ast.AST | None = self._trees[path]
        for name in source.__qualname__.split("."):
            if name == "<locals>" or tree is None:
                continue
            kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
            tree = next((node for node in ast.walk(tree) if isinstance(node, kinds) and node.name == name), None)
        return path, tree if isinstance(tree, ast.ClassDef) else None
