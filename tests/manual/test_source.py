"""The source of the documentation site: its pages, links and navigation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from manual.repository import REPOSITORY
from manual.source import BrokenLinkError, write_source


def test_links_lead_to_pages_and_files(tmp_path: Path) -> None:
    """A link to a directory leads to its page, a link to code to a copy of it, and a link in code stays as it is."""
    text = (
        "# A page\n\n[example](../examples/flights), [code](../streamlets/batches.py) and [all](diagnostics)\n"
        "[part](running.md#continuing) [web](https://spark.apache.org)\n\n```text\n[no](link.md)\n```\n"
    )
    write_source(tmp_path, {"docs/page.md": text})
    written = (tmp_path / "docs" / "page.md").read_text(encoding="utf-8")
    assert "[example](../examples/flights/README.md), [code](../streamlets/batches.py), and [all]" not in written
    assert (
        "[example](../examples/flights/README.md), [code](../streamlets/batches.py) and [all](diagnostics.md)"
        in written
    )
    assert "[part](running.md#continuing) [web](https://spark.apache.org)" in written
    assert "[no](link.md)" in written
    assert (tmp_path / "streamlets" / "batches.py").is_file()


def test_a_broken_link_is_an_error(tmp_path: Path) -> None:
    """The message names the page and the link; nothing is written."""
    with pytest.raises(BrokenLinkError, match=r"docs/page\.md: the link `missing\.md` leads to `docs/missing\.md`"):
        write_source(tmp_path, {"docs/page.md": "[text](missing.md)"})
    assert list(tmp_path.iterdir()) == []


def test_pages_that_were_removed_are_deleted(tmp_path: Path) -> None:
    """Unchanged pages keep their time, so that Sphinx does not read them again."""
    write_source(tmp_path, {"reference/old.md": "# Old\n"})
    time = (tmp_path / "docs" / "running.md").stat().st_mtime_ns
    write_source(tmp_path, {})
    assert not (tmp_path / "reference" / "old.md").exists()
    assert (tmp_path / "docs" / "running.md").stat().st_mtime_ns == time


def test_findings_and_decisions_are_apart(tmp_path: Path) -> None:
    """Their pages are neither in the navigation nor in the search; the pages that list them are in both."""
    write_source(tmp_path, {})
    navigation = (tmp_path / "index.md").read_text(encoding="utf-8")
    for index, apart in ("docs/diagnostics", "diagnostics/abstract-streamlet"), (
        "docs/decisions/README", "decisions/0001-own-commits-to-delta-logs",
    ):  # fmt: skip
        assert f"\n{index}\n" in navigation and apart not in navigation
        assert "nosearch" not in (tmp_path / f"{index}.md").read_text(encoding="utf-8")
        page = (tmp_path / "docs" / f"{apart}.md").read_text(encoding="utf-8")
        assert page.startswith("---\norphan: true\nnosearch: true\n---\n\n# ")


def test_drawings_become_pictures(tmp_path: Path) -> None:
    """A marked drawing of characters is SVG on the site; the page in the repository keeps its drawing."""
    write_source(tmp_path, {})
    for page in "index.md", "examples/sensors/README.md":
        text = (tmp_path / page).read_text(encoding="utf-8")
        assert '<div class="graph">\n<svg ' in text and "┌" not in text
    assert "┌" in (REPOSITORY / "README.md").read_text(encoding="utf-8")


def test_the_index_of_decisions_is_complete() -> None:
    """It has a row for each decision, with its title and status, and names no file that does not exist."""
    directory = REPOSITORY / "docs" / "decisions"
    index = (directory / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| \[(.+)\]\((.+\.md)\) \| (.+) \|$", index, re.MULTILINE)
    decisions = {}
    for path in directory.glob("[0-9]*.md"):
        text = path.read_text(encoding="utf-8")
        later = re.search(r"^\*Superseded by (\[.+\]\(.+\))\.\*$", text, re.MULTILINE)
        number, title = re.findall(r"\A# (\d+)\. (.+)$", text, re.MULTILINE)[0]
        decisions[path.name] = (number, title, f"superseded by {later[1]}" if later else "accepted")
    assert {name: (number, title, status) for number, title, name, status in rows} == decisions
