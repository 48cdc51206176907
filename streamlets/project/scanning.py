"""The streamlet classes of a project, found in its text: nothing is imported."""

from __future__ import annotations

import ast
import contextlib
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from blueprint.diagnostics import Span
from blueprint.hocon import shown_name
from streamlets.project.modules import Project

_BASES = frozenset({"streamlets.SparkStreamlet", "streamlets.api.streamlet.SparkStreamlet"})
_SKIPPED = frozenset({"site-packages", "node_modules", "__pycache__", "build", "dist"})
_MOST_BYTES = 2_000_000
"""Larger files are generated data, and parsing them takes seconds."""

_MOST_FILES = 5_000
"""A blueprint that lies in a home folder must not make a suggestion read all of it."""


_MOST_QUICK_FILES = 60
"""As many modules can be read while nobody notices."""


@dataclass(frozen=True, slots=True)
class _Class:
    path: str
    bases: tuple[str, ...]
    has_logic: bool
    declared: Span


def streamlet_classes(project: Project) -> tuple[str, ...]:
    """The class paths of all streamlets that can be run: classes with a `Logic` (or `create_logic`), sorted."""
    modules = islice(_modules(project), _MOST_FILES)
    return _runnable({found.path: found for module, file in modules for found in _classes(module, file)})


def streamlet_classes_of(project: Project, modules: Collection[str]) -> tuple[str, ...]:
    """The same for the modules named: no other files are read, but those of the classes that theirs extend."""
    classes: dict[str, _Class] = {}
    unread, read = list(modules), set[str]()
    while unread:
        module = unread.pop()
        file = project.find(module)
        if module in read or file is None or not file.is_file():
            continue
        read.add(module)
        found = list(_classes(module, file))
        classes |= {one.path: one for one in found}
        unread += [base.rpartition(".")[0] for one in found for base in one.bases]
    return tuple(path for path in _runnable(classes) if path.rpartition(".")[0] in modules)


def _runnable(classes: dict[str, _Class]) -> tuple[str, ...]:
    return tuple(sorted(path for path in classes if _is_streamlet(path, classes) and _has_logic(path, classes)))


def unused_classes(project: Project, used: Collection[str]) -> tuple[tuple[str, Span], ...]:
    """The class paths of streamlets that can be run and are not among `used`, each with the place of its name.

    Left out are classes that others extend, those in tests, and those that another blueprint in the project's folder
    names. A project with many modules is not searched: that would take longer than all else.
    """
    modules = list(islice(_modules(project), _MOST_QUICK_FILES + 1))
    if len(modules) > _MOST_QUICK_FILES:
        return ()
    classes = {found.path: found for module, file in modules for found in _classes(module, file)}
    extended = {base for found in classes.values() for base in found.bases}
    left = [
        path
        for path in sorted(classes)
        if path not in used and path not in extended and not _is_test(path)
        if _is_streamlet(path, classes) and _has_logic(path, classes)
    ]
    texts = _blueprints(project) if left else ""
    return tuple((path, classes[path].declared) for path in left if path not in texts)


def _is_test(path: str) -> bool:
    return any(part in ("tests", "conftest") or part.startswith("test_") for part in path.split("."))


def _blueprints(project: Project) -> str:
    """The texts of all configuration in the project's folder; large files there are data."""
    texts = []
    for file in _files(project.folder):
        with contextlib.suppress(OSError):
            if file.stat().st_size <= _MOST_BYTES:
                texts.append(file.read_text(encoding="utf-8", errors="replace"))
    return "\n".join(texts)


def _files(folder: Path) -> list[Path]:
    """The configuration files of a folder; none where it cannot be listed."""
    with contextlib.suppress(OSError):
        return sorted(file for file in folder.iterdir() if file.suffix in (".conf", ".yaml", ".yml", ".json"))
    return []


def _is_streamlet(path: str, classes: dict[str, _Class], seen: frozenset[str] = frozenset()) -> bool:
    if path in _BASES:
        return True
    if path in seen or path not in classes:
        return False
    return any(_is_streamlet(base, classes, seen | {path}) for base in classes[path].bases)


def _has_logic(path: str, classes: dict[str, _Class], seen: frozenset[str] = frozenset()) -> bool:
    if path in seen or path not in classes:
        return False
    found = classes[path]
    return found.has_logic or any(_has_logic(base, classes, seen | {path}) for base in found.bases)


def _modules(project: Project) -> Iterator[tuple[str, Path]]:
    seen: set[Path] = set()
    for root in reversed(project.roots):  # `src` first: its modules are not `src.x`
        for folder, folders, files in os.walk(root):
            folders[:] = sorted(name for name in folders if name.isidentifier() and name not in _SKIPPED)
            for name in sorted(files):
                file = Path(folder, name)
                stem, suffix = os.path.splitext(name)  # noqa: PTH122 - `with_suffix` would be as long
                if suffix != ".py" or not stem.isidentifier() or file in seen or not project.owns(str(file)):
                    continue
                seen.add(file)
                steps = (*Path(folder).relative_to(root).parts, *([] if stem == "__init__" else [stem]))
                if steps:
                    yield ".".join(steps), file


def _classes(module: str, file: Path) -> Iterator[_Class]:
    try:
        if file.stat().st_size > _MOST_BYTES:
            return
        text = file.read_bytes()
        tree = ast.parse(text) if b"class " in text else ast.Module([], [])
    except (OSError, SyntaxError, ValueError, RecursionError):
        return
    names = dict(_imports(tree, module, file.name == "__init__.py"))
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            path = f"{module}.{node.name}"
            bases = tuple(_dotted(base, names) for base in node.bases)
            yield _Class(path, bases, any(_is_logic(item) for item in node.body), _place(file, node))
            names[node.name] = path


def _place(file: Path, node: ast.ClassDef) -> Span:
    """Where the name of a class stands."""
    column = node.col_offset + len("class ") + 1
    return Span(shown_name(file), node.lineno, column, node.lineno, column + len(node.name))


def _imports(tree: ast.Module, module: str, is_package: bool) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield (alias.asname, alias.name) if alias.asname else (alias.name.split(".")[0],) * 2
        elif isinstance(node, ast.ImportFrom):
            package = module.split(".") if is_package else module.split(".")[:-1]
            above = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join((*above, *([node.module] if node.module else [])))
            for alias in node.names:
                yield alias.asname or alias.name, origin if alias.name == "*" else f"{origin}.{alias.name}"


def _dotted(node: ast.expr, names: dict[str, str]) -> str:
    match node:
        case ast.Name(id=name):
            return names.get(name, f"{names['*']}.{name}" if "*" in names else name)
        case ast.Attribute(value=value, attr=name):
            return f"{_dotted(value, names)}.{name}"
        case ast.Subscript(value=value):
            return _dotted(value, names)
        case _:
            return ""


def _is_logic(node: ast.stmt) -> bool:
    match node:
        case ast.ClassDef(name="Logic") | ast.FunctionDef(name="create_logic"):
            return True
        case ast.Assign(targets=[ast.Name(id="Logic")]) | ast.AnnAssign(target=ast.Name(id="Logic")):
            return True
        case _:
            return False
