"""The example of five ways to bring files in: all have the same records, also when a file arrives later."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest

from tests.examples.test_orders import flow

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "ingress"
WAYS = {"settings", "pieces", "program", "generator", "spark"}
PAGE = EXAMPLE.parents[1] / "docs" / "ingress.md"


def arrived(example: Path) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Process all available data, and return what arrived by the way that it took, sorted."""
    flow("run", "--available-now", str(example))
    found: dict[str, list[tuple[str, ...]]] = {}
    for file in (example / "out").glob("way=*/*.csv"):
        _, *rows = csv.reader(file.read_text(encoding="utf-8").splitlines())
        found.setdefault(file.parent.name.removeprefix("way="), []).extend(map(tuple, rows))
    return {way: tuple(sorted(rows)) for way, rows in found.items()}


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.spark
def test_each_way_has_the_same_records(tmp_path: Path) -> None:
    """Each file is read once by each way, in the first run and in the one after a new file."""
    example = shutil.copytree(EXAMPLE, tmp_path / "example", ignore=shutil.ignore_patterns(".flow", "out"))
    first = (("1", "fig", "2.5"), ("2", "tea", "4.0"), ("3", "rice", "1.25"))
    assert arrived(example) == dict.fromkeys(WAYS, first)
    (example / "data" / "wednesday.csv").write_text("id,product,price\n4,tea,4.5\n", encoding="utf-8")
    assert arrived(example) == dict.fromkeys(WAYS, (*first, ("4", "tea", "4.5")))


def test_the_page_shows_the_code_of_the_example() -> None:
    """Each piece of code in the page is in the example."""
    blocks = PAGE.read_text(encoding="utf-8").split("```")[1::2]
    sources = [(EXAMPLE / name).read_text(encoding="utf-8") for name in ("blueprint.conf", "ways.py", "put.sh")]
    shown = [block.partition("\n")[2] for block in blocks]
    assert len(shown) >= len(WAYS)
    for code in shown:
        lines = [line.strip() for line in code.splitlines() if line.strip()]
        assert any(
            "\n".join(lines) in "\n".join(line.strip() for line in source.splitlines() if line.strip())
            for source in sources
        ), code
