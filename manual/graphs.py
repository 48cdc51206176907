"""Graphs of applications on the site: SVG, where the pages of the repository have a drawing of characters.

A page marks its drawing with a comment before the block, which names the application:

    <!-- graph: examples/flights -->
"""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache

from manual.repository import REPOSITORY

_DRAWING = re.compile(r"^<!-- graph: (\S+) -->\n+```text\n.*?^```$", re.MULTILINE | re.DOTALL)


def with_graphs(text: str) -> str:
    """Return a page with the marked drawings replaced by SVG.

    Raises:
        subprocess.CalledProcessError: an application cannot be drawn.
    """
    return _DRAWING.sub(lambda drawing: f'<div class="graph">\n{_svg(drawing[1])}\n</div>', text)


@cache
def _svg(application: str) -> str:
    command = [sys.executable, "-m", "cli.main", "graph", application, "--format", "svg"]
    drawn = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return drawn.stdout.strip()
