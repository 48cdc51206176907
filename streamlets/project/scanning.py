"""Finds the streamlet classes of a project in its source files, without importing them."""

from __future__ import annotations

import ast
import contextlib
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from blueprint.diagnostics import Span
from blueprint.hocon import shown_name
from streamlets.project.modules import Project

_LOGIC = frozenset({"Logic", "create_logic"})
_BASES: Mapping[str, frozenset[str]] = {
    "streamlets.SparkStreamlet": _LOGIC,
    "streamlets.api.streamlet.SparkStreamlet": _LOGIC,
    "streamlets.BatchPushSource": frozenset({"discover"}),
    "streamlets.BatchSource": frozenset({"discover"}),
    "streamlets.GeneratorSpout": frozenset({"run"}),
    "streamlets.Sink": frozenset(),
    "streamlets.Source": frozenset(),
    "streamlets.Spout": frozenset(),
    "streamlets.Sql": frozenset(),
    "streamlets.Streamlet": frozenset({"kind"}),
    "streamlets.api.streamlet.Streamlet": frozenset({"kind"}),
}
"""The base classes of streamlets by path, and the attributes of which a class needs one to run; any class below a base
without such attributes can run."""

_SKIPPED = frozenset({"site-packages", "node_modules", "__pycache__", "build", "dist"})
_MAX_BYTES = 2_000_000
"""The maximum size of a file. Larger files are generated data, and parsing them takes seconds."""

_MAX_FILES = 5_000
"""The maximum number of files, so that a suggestion for a blueprint in a home directory does not read all of it."""

_MAX_QUICK_FILES = 60
"""The maximum number of modules that can be read without a noticeable delay."""


@dataclass(frozen=True, slots=True)
class _Class:
    path: str
    bases: tuple[str, ...]
    attributes: frozenset[str]
    declared: Span


def streamlet_classes(project: Project) -> tuple[str, ...]:
    """Return the sorted class paths of all streamlets that can run, such as those on Spark with a `Logic`."""
    modules = islice(_modules(project), _MAX_FILES)
    return _runnable({cls.path: cls for module, file in modules for cls in _classes(module, file)})


def streamlet_classes_of(project: Project, modules: Collection[str]) -> tuple[str, ...]:
    """Return the sorted class paths of the streamlets in some modules that can run.

    Only the files of these modules and of the base classes of their classes are read.
    """
    classes: dict[str, _Class] = {}
    unread, read = list(modules), set[str]()
    while unread:
        module = unread.pop()
        file = project.find(module)
        if module in read or file is None or not file.is_file():
            continue
        read.add(module)
        own = {cls.path: cls for cls in _classes(module, file)}
        classes |= own
        unread += [base.rpartition(".")[0] for cls in own.values() for base in cls.bases]
    return tuple(path for path in _runnable(classes) if path.rpartition(".")[0] in modules)


def _runnable(classes: dict[str, _Class]) -> tuple[str, ...]:
    return tuple(sorted(path for path in classes if _can_run(path, classes)))


def unused_classes(project: Project, used: Collection[str]) -> tuple[tuple[str, Span], ...]:
    """Return the class paths of streamlets that can run and are not in `used`, with the spans of their names.

    Base classes of other classes, classes in tests and classes in other blueprints of the project's directory are
    omitted. A project with many modules is not searched, because that would take longer than the rest of the command.
    """
    modules = list(islice(_modules(project), _MAX_QUICK_FILES + 1))
    if len(modules) > _MAX_QUICK_FILES:
        return ()
    classes = {cls.path: cls for module, file in modules for cls in _classes(module, file)}
    bases = {base for cls in classes.values() for base in cls.bases}
    unused = [
        path
        for path in sorted(classes)
        if path not in used and path not in bases and not _is_test(path) and _can_run(path, classes)
    ]
    configuration = _configuration(project) if unused else ""
    return tuple((path, classes[path].declared) for path in unused if path not in configuration)


def _is_test(path: str) -> bool:
    return any(part in ("tests", "conftest") or part.startswith("test_") for part in path.split("."))


def _configuration(project: Project) -> str:
    """Return the text of all configuration files in the project's directory; large files are data, and are skipped."""
    texts = []
    for file in _configuration_files(project.directory):
        with contextlib.suppress(OSError):
            if file.stat().st_size <= _MAX_BYTES:
                texts.append(file.read_text(encoding="utf-8", errors="replace"))
    return "\n".join(texts)


def _configuration_files(directory: Path) -> list[Path]:
    """Return the configuration files of a directory; [] if it cannot be listed."""
    with contextlib.suppress(OSError):
        return sorted(file for file in directory.iterdir() if file.suffix in (".conf", ".yaml", ".yml", ".json"))
    return []


def _can_run(path: str, classes: Mapping[str, _Class]) -> bool:
    """Return whether a class has a base of streamlets, and what that needs to run, in its own body or inherited."""
    lineage = _lineage(path, classes)
    attributes = frozenset[str]().union(*(classes[name].attributes for name in lineage if name in classes))
    bases = (_BASES[name] for name in lineage if name in _BASES)
    return any(not required or required & attributes for required in bases)


def _lineage(path: str, classes: Mapping[str, _Class]) -> set[str]:
    """Return the paths of a class and of all its known base classes."""
    lineage, unread = set[str](), [path]
    while unread:
        path = unread.pop()
        if path not in lineage:
            lineage.add(path)
            unread += classes[path].bases if path in classes else ()
    return lineage


def _modules(project: Project) -> Iterator[tuple[str, Path]]:
    seen: set[Path] = set()
    for root in reversed(project.roots):  # `src` first: its modules are not `src.x`
        for directory, directories, files in os.walk(root):
            directories[:] = sorted(name for name in directories if name.isidentifier() and name not in _SKIPPED)
            for name in sorted(files):
                file = Path(directory, name)
                stem, suffix = os.path.splitext(name)  # noqa: PTH122 - `with_suffix` would be as long
                if suffix != ".py" or not stem.isidentifier() or file in seen or not project.owns(str(file)):
                    continue
                seen.add(file)
                steps = (*Path(directory).relative_to(root).parts, *([] if stem == "__init__" else [stem]))
                if steps:
                    yield ".".join(steps), file


def _classes(module: str, file: Path) -> Iterator[_Class]:
    try:
        if file.stat().st_size > _MAX_BYTES:
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
            yield _Class(path, bases, frozenset(_attributes(node)), _name_span(file, node))
            names[node.name] = path


def _name_span(file: Path, node: ast.ClassDef) -> Span:
    """Return the span of the name of a class."""
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


def _attributes(node: ast.ClassDef) -> Iterator[str]:
    """Yield the names that the body of a class defines."""
    for item in node.body:
        match item:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.Assign(targets=targets):
                yield from (target.id for target in targets if isinstance(target, ast.Name))
