"""The renderers by their names in `--format`. Each is imported when it is first used."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Protocol

from blueprint.diagnostics.report import Report


class Renderer(Protocol):
    """Renders a report as text. `color` allows ANSI colours, `width` is the number of columns of the terminal."""

    def __call__(self, report: Report, *, color: bool = False, width: int = 80) -> str: ...


def _renderer(name: str) -> Renderer:
    """Return the function `render_<name>` of the module of that name."""

    def render(report: Report, *, color: bool = False, width: int = 80) -> str:
        renderer: Renderer = getattr(import_module(f"blueprint.diagnostics.{name}"), f"render_{name}")
        return renderer(report, color=color, width=width)

    return render


RENDERERS: Mapping[str, Renderer] = {name: _renderer(name) for name in ("full", "concise", "github", "json", "sarif")}
