"""`python -m manual.screenshots [DIRECTORY]`: make the pictures of the page (default: `docs/images`).

They show the example `bottleneck`, which Spark runs for some minutes. Chromium must be installed (`.ci/browser`).
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from manual.repository import REPOSITORY

EXAMPLE = REPOSITORY / "examples" / "bottleneck"
IMAGES = REPOSITORY / "docs" / "images"

_FLOW = (sys.executable, "-m", "streamlets")
_HISTORY = 120_000
"""The milliseconds of the run before the first picture, so that curves have a form."""

_PATIENCE = 600_000
"""The milliseconds that a page may need, also on a busy machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shot:
    """A picture of a page.

    Arguments:
        path: the address below the server's.
        theme: `light` or `dark`.
        ready: a selector of what must be on the page.
        height: the height of the picture in pixels.
    """

    path: str
    theme: Literal["light", "dark"] = "light"
    ready: str
    height: int = 800


_GRAPH = ".graph text.bottleneck:not(:empty) >> nth=0"
_STREAMLET = "svg.chart"
SHOTS = {
    "page-application-light.png": Shot(path="/bottleneck", ready=_GRAPH),
    "page-application-dark.png": Shot(path="/bottleneck", theme="dark", ready=_GRAPH),
    "page-streamlet-dark.png": Shot(
        path="/bottleneck/streamlets/payments", theme="dark", ready=_STREAMLET, height=1000
    ),
}
"""The pictures by the names of their files."""


@contextmanager
def _process(*arguments: str, output: int = subprocess.DEVNULL) -> Iterator[subprocess.Popen[str]]:
    """Run `flow` with arguments until the block ends; its output is discarded unless it is to be piped."""
    process = subprocess.Popen([*_FLOW, *arguments], stdout=output, text=True, cwd=REPOSITORY)
    try:
        yield process
    finally:
        process.terminate()
        process.communicate()


def main(images: Path) -> int:
    """Make all pictures, and return 0.

    Arguments:
        images: the directory of their files.
    """
    from playwright.sync_api import sync_playwright

    images.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "bottleneck"
        shutil.copytree(EXAMPLE, copy, ignore=shutil.ignore_patterns(".flow", "out", "__pycache__"))
        page_server = _process("ui", str(copy), "--port", "0", output=subprocess.PIPE)
        with _process("run", str(copy)), page_server as server, sync_playwright() as kit:
            assert server.stdout is not None
            line = server.stdout.readline()
            entrance = re.search(r"(http://[\d.]+:\d+)/\?token=\S+", line)
            if entrance is None:
                raise RuntimeError(f"the page cannot be served: {line}")
            browser = kit.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            for number, (name, shot) in enumerate(SHOTS.items()):
                page = browser.new_page(
                    viewport={"width": 1280, "height": shot.height}, color_scheme=shot.theme, reduced_motion="reduce"
                )
                page.set_default_timeout(_PATIENCE)
                page.goto(entrance[0])
                page.goto(entrance[1] + shot.path)
                page.wait_for_selector(shot.ready)
                page.wait_for_timeout(_HISTORY if number == 0 else 5_000)
                page.wait_for_selector(shot.ready)
                page.screenshot(path=images / name)
                page.close()
                print(images / name)
            browser.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES))
