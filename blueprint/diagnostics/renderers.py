"""The renderers by their names in `--format`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from blueprint.diagnostics.concise import render_concise
from blueprint.diagnostics.full import render_full
from blueprint.diagnostics.github import render_github
from blueprint.diagnostics.json import render_json
from blueprint.diagnostics.report import Report
from blueprint.diagnostics.sarif import render_sarif


class Renderer(Protocol):
    """Renders a report as text. `color` allows ANSI colours, `width` is the number of columns of the terminal."""

    def __call__(self, report: Report, *, color: bool = False, width: int = 80) -> str: ...


RENDERERS: Mapping[str, Renderer] = {
    "full": render_full,
    "concise": render_concise,
    "github": render_github,
    "json": render_json,
    "sarif": render_sarif,
}
