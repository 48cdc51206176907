"""The README tells the truth: its drawing, its code and its outputs are what the commands give.

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
PAGES = {"README.md": "flights", "examples/flights/README.md": "flights", "examples/sensors/README.md": "sensors"}
BLOCK = re.compile(r"^```(\w+)(?: ([\w./-]+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def flow(*arguments: str, cwd: Path) -> str:
    """What the command prints."""
    environment = {**os.environ, "COLUMNS": "100"}
    return subprocess.run(
        [sys.executable, "-m", "cli.main", *arguments],
        cwd=cwd, env=environment, capture_output=True, text=True, check=False,
    ).stdout  # fmt: skip


def project(folder: Path) -> Path:
    """The tour's files, as the README has them."""
    for _, name, text in BLOCK.findall(README.read_text(encoding="utf-8")):
        if "." in name:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
    (folder / "incoming").mkdir()
    return folder


def agrees(name: str, truth: str, page: Path = README) -> None:
    """The page's block of this name holds the truth (the first one without a name when it is empty)."""
    text = page.read_text(encoding="utf-8")
    block = next(each for each in BLOCK.finditer(text) if each.group(1) == "text" and (each.group(2) or "") == name)
    if os.environ.get("UPDATE_EXPECTED"):
        page.write_text(text[: block.start(3)] + truth + text[block.end(3) :], encoding="utf-8")
        return
    assert block.group(3) == truth


@pytest.mark.parametrize("page", PAGES)
def test_pictures_are_what_flow_graph_draws(page: str) -> None:
    """The drawings of README and examples are today's."""
    agrees("", flow("graph", f"examples/{PAGES[page]}", cwd=REPOSITORY), REPOSITORY / page)


def test_the_tour_verifies_as_shown(tmp_path: Path) -> None:
    """The tour's files are without a finding, in the words shown."""
    agrees("verify", flow("verify", ".", cwd=project(tmp_path)))


def test_the_mistake_is_told_as_shown() -> None:
    """The shown mistake is the one kept among the examples."""
    agrees("incompatible", flow("verify", "incompatible", cwd=REPOSITORY / "examples" / "errors"))


@pytest.mark.spark
def test_the_tour_runs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Readings come in as JSON, the hot ones come out at the sink, the broken one lies among the dead letters."""
    folder = project(tmp_path)
    monkeypatch.chdir(folder)
    readings = [("a", 80.0), ("b", 20.0), ("c", 75.5), ("d", None)]
    rows = [json.dumps({"gauge": g, "at": "2024-05-01T12:00:00Z", "celsius": c}) for g, c in readings]
    (folder / "incoming" / "1.json").write_text("\n".join(rows))
    with Testkit(spark) as kit:
        app = kit.application(folder / "blueprint.conf")
        app.step()
        (letter,) = app.streamlet("gauges").dead_letters.all()
        assert sorted(row["gauge"] for row in app.sink("archive").take()) == ["a", "c"]
    assert json.loads(letter["record"])["gauge"] == "d"
    assert not (folder / "out").exists()


def test_every_file_the_readme_points_to_is_there() -> None:
    """No link leads nowhere."""
    for target in re.findall(r"\]\(([^)#]+)\)", README.read_text(encoding="utf-8")):
        assert target.startswith("http") or (REPOSITORY / target).exists(), target
