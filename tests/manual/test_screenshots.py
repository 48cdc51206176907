"""The screenshots of the documentation: each is made by the script, and each that a page shows exists."""

from __future__ import annotations

import re
from pathlib import Path

from manual.screenshots import IMAGES, ROOT, SCREENSHOTS


def test_pages_show_what_the_script_makes() -> None:
    """No image is missing, and none is left over."""
    shown = {
        Path(image).name
        for page in (ROOT / "docs").rglob("*.md")
        for image in re.findall(r"!\[[^\]]*\]\((images/[^)]+)\)", page.read_text(encoding="utf-8"))
    }
    assert shown == {f"{name}.png" for name in SCREENSHOTS} == {file.name for file in IMAGES.glob("*.png")}
