"""The drawings, code and outputs in the README are correct.

After a deliberate change: `UPDATE_EXPECTED=1 pytest tests/test_readme.py`, then read the difference.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from streamlets.testkit import Testkit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REPOSITORY = Path(__file__).resolve().parent.parent
README = REPOSITORY / "README.md"
PAGES = {
    "README.md": "flights",
    "examples/flights/README.md": "flights",
    "examples/resilience/README.md": "resilience",
    "examples/sensors/README.md": "sensors",
}
BLOCK = re.compile(r"^```(\w+)(?: ([\w./-]+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def flow(*arguments: str, cwd: Path) -> str:
    """Return the standard output of the command."""
    environment = {**os.environ, "COLUMNS": "100"}
    return subprocess.run(
        [sys.executable, "-m", "cli.main", *arguments],
        cwd=cwd, env=environment, capture_output=True, text=True, check=False,
    ).stdout  # fmt: skip


def project(directory: Path) -> Path:
    """Write the files of the README's tour, and return their directory."""
    for _, name, text in BLOCK.findall(README.read_text(encoding="utf-8")):
        if "." in name:
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            (directory / name).write_text(text, encoding="utf-8")
    (directory / "incoming").mkdir()
    return directory


def check_block(name: str, expected: str, page: Path = README) -> None:
    """Check that the block of a page with this name (empty: the first without a name) has the expected text."""
    text = page.read_text(encoding="utf-8")
    block = next(match for match in BLOCK.finditer(text) if match[1] == "text" and (match[2] or "") == name)
    if os.environ.get("UPDATE_EXPECTED"):
        page.write_text(text[: block.start(3)] + expected + text[block.end(3) :], encoding="utf-8")
        return
    assert block.group(3) == expected


@pytest.mark.parametrize("page", PAGES)
def test_drawings_are_the_output_of_flow_graph(page: str) -> None:
    """The drawings of the README and the examples are up to date."""
    check_block("", flow("graph", f"examples/{PAGES[page]}", cwd=REPOSITORY), REPOSITORY / page)


@pytest.mark.parametrize("picture", sorted(REPOSITORY.glob("examples/*/graph.svg")), ids=lambda path: path.parent.name)
def test_pictures_are_the_output_of_flow_graph(picture: Path) -> None:
    """The pictures of the examples are up to date, and their pages show them."""
    drawn = flow("graph", str(picture.parent.relative_to(REPOSITORY)), "--format", "svg", cwd=REPOSITORY)
    if os.environ.get("UPDATE_EXPECTED"):
        picture.write_text(drawn, encoding="utf-8")
    assert picture.read_text(encoding="utf-8") == drawn
    assert "](graph.svg)" in (picture.parent / "README.md").read_text(encoding="utf-8")


def test_the_tour_verifies_as_shown(tmp_path: Path) -> None:
    """The files of the tour have no findings, and the output is the one shown."""
    check_block("verify", flow("verify", ".", cwd=project(tmp_path)))


def test_the_mistake_is_reported_as_shown() -> None:
    """The shown mistake is one of the examples."""
    check_block("incompatible", flow("verify", "incompatible", cwd=REPOSITORY / "examples" / "errors"))


@pytest.mark.spark
def test_the_tour_runs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Readings arrive as JSON, hot ones reach the sink, and the invalid one is a dead letter."""
    directory = project(tmp_path)
    monkeypatch.chdir(directory)
    readings = [("a", 80.0), ("b", 20.0), ("c", 75.5), ("d", None)]
    rows = [json.dumps({"gauge": g, "at": "2024-05-01T12:00:00Z", "celsius": c}) for g, c in readings]
    (directory / "incoming" / "1.json").write_text("\n".join(rows))
    with Testkit(spark) as kit:
        app = kit.application(directory / "blueprint.conf")
        app.step()
        (letter,) = app.streamlet("gauges").dead_letters.all()
        assert sorted(row["gauge"] for row in app.sink("archive").take()) == ["a", "c"]
    assert json.loads(letter["record"])["gauge"] == "d"
    assert not (directory / "out").exists()


def test_links_of_the_readme_exist() -> None:
    """Each link to a file has a target."""
    for target in re.findall(r"\]\(([^)#]+)\)", README.read_text(encoding="utf-8")):
        assert target.startswith("http") or (REPOSITORY / target).exists(), target


def test_the_code_of_the_page_on_graphs_runs(tmp_path: Path) -> None:
    """The graph is read from the file that `flow graph` wrote, and built from a verification."""
    (tmp_path / "examples").symlink_to(REPOSITORY / "examples")
    (tmp_path / "flights.graphml").write_text(
        flow("graph", "examples/flights", "--format", "graphml", cwd=tmp_path), encoding="utf-8"
    )
    page = (REPOSITORY / "docs" / "graph.md").read_text(encoding="utf-8")
    code = "".join(text for language, _, text in BLOCK.findall(page) if language == "python")
    result = subprocess.run(
        [sys.executable, "-c", f"{code}\nprint(sorted(streamlets))"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(REPOSITORY)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.stderr == ""
    assert "Node(kind='streamlet', name='splitter')" in result.stdout
    assert "'streamlet splitter'" in result.stdout
