"""The screenshots in the documentation: `python -m manual.screenshots` runs the example and takes them from its page.

It needs Chromium and playwright, and takes about five minutes.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"

SCREENSHOTS = {
    "page-application": ("/flights", "text.bottleneck:has-text('bottleneck')"),
    "page-streamlet": ("/flights/streamlets/delays", "svg.bars g:nth-child(3)"),
}
"""The address of each, and what must be on the page before it is taken."""

_PATIENCE = 600_000.0


def main() -> None:
    """Take all screenshots."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("error: there is no Chromium; `.ci/browser` installs it")
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        project = Path(directory) / "flights"
        shutil.copytree(ROOT / "examples" / "flights", project, ignore=shutil.ignore_patterns(".flow", "out"))
        with _flow("run", str(project), output=subprocess.DEVNULL), _flow("ui", str(project), "--port", "0") as page:
            assert page.stdout is not None
            address = re.search(r"(http://\S+)/(\?token=\S+)", page.stdout.readline())
            assert address is not None
            with sync_playwright() as kit:
                browser = kit.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
                tab = browser.new_page(
                    viewport={"width": 1280, "height": 800}, color_scheme="light", device_scale_factor=1
                )
                tab.set_default_timeout(_PATIENCE)
                tab.goto(address[0])
                for name, (path, shown) in SCREENSHOTS.items():
                    tab.goto(address[1] + path)
                    tab.wait_for_selector(shown, state="attached")
                    tab.screenshot(path=IMAGES / f"{name}.png")
                    print(f"{name}.png")
                browser.close()


@contextmanager
def _flow(*arguments: str, output: int = subprocess.PIPE) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "streamlets", *arguments]
    process = subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=120)


if __name__ == "__main__":
    main()
