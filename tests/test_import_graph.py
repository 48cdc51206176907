"""No import cycles: in each package, the imports between its modules and packages go in one direction.

Imports inside functions and below `TYPE_CHECKING` count, too: a cycle that does not fail at import still ties two parts
together that look separate.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGES = ("blueprint", "streamlets", "cli")


def module_name(root: Path, file: Path) -> str:
    """Return the dotted name of a module; that of a package ends with `__init__`."""
    return ".".join(file.relative_to(root).with_suffix("").parts)


def imported_modules(file: Path, modules: set[str]) -> Iterator[str]:
    """Yield those of `modules` that a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: a relative import"
            names = [name for alias in node.names for name in (f"{node.module}.{alias.name}", str(node.module))]
            for outer, inner in zip(names[1::2], names[::2], strict=True):
                yield from (name for name in (inner, f"{inner}.__init__") if name in modules)
                if inner not in modules and f"{inner}.__init__" not in modules:
                    yield from (name for name in (outer, f"{outer}.__init__") if name in modules)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield from (name for name in (alias.name, f"{alias.name}.__init__") if name in modules)


def import_graphs(root: Path, packages: tuple[str, ...]) -> dict[str, nx.DiGraph[str]]:
    """Return, for each package, the graph of its children; an edge has the imports that cause it as `imports`."""
    files = {module_name(root, file): file for package in packages for file in sorted((root / package).rglob("*.py"))}
    graphs: dict[str, nx.DiGraph[str]] = defaultdict(nx.DiGraph)
    for source, file in files.items():
        for target in imported_modules(file, set(files)):
            parts, others = source.split("."), target.split(".")
            common = next((i for i, pair in enumerate(zip(parts, others, strict=False)) if pair[0] != pair[1]), None)
            if common is not None:
                graph = graphs[".".join(parts[:common])]
                graph.add_edge(parts[common], others[common])
                graph.edges[parts[common], others[common]].setdefault("imports", []).append(f"{source} > {target}")
    return graphs


def cycles(graph: nx.DiGraph[str]) -> list[str]:
    """Return a line for each import between the members of a cycle."""
    return [
        ", ".join(graph.edges[edge]["imports"])
        for members in nx.strongly_connected_components(graph)
        for edge in graph.subgraph(members).edges
    ]


GRAPHS = import_graphs(REPOSITORY, PACKAGES)


@pytest.mark.parametrize("package", sorted(GRAPHS), ids=lambda package: package or "top")
def test_a_package_has_no_import_cycle(package: str) -> None:
    """Its modules and packages import each other in one direction."""
    imports = cycles(GRAPHS[package])
    assert not imports, "\n".join(imports)


def test_cycles_are_found(tmp_path: Path) -> None:
    """Cycles between modules and packages are found, also by imports inside functions and of types only."""
    for name, text in {
        "app/__init__.py": "",
        "app/a.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from app.b import B\n",
        "app/b.py": "def f():\n    from app import a\n",
        "app/x/__init__.py": "",
        "app/x/one.py": "import app.y.two\n",
        "app/x/three.py": "",
        "app/y/__init__.py": "",
        "app/y/two.py": "from app.x.three import three\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    graphs = import_graphs(tmp_path, ("app",))
    assert sorted(cycles(graphs["app"])) == [
        "app.a > app.b",
        "app.b > app.a",
        "app.x.one > app.y.two",
        "app.y.two > app.x.three",
    ]
