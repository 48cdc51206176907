"""`flow explain`: the page of a code on a terminal, as data, and the list of all codes."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from blueprint.diagnostics.codes import CODES, FAMILIES
from blueprint.diagnostics.text import cells

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Flow


def test_a_page_is_readable_text(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    """Headings without signs, names in back-quotes, files by their names, blocks of code with their lines."""
    monkeypatch.setenv("COLUMNS", "80")
    said = flow("explain", "unknown-port")
    lines = said.out.splitlines()
    assert said.code == 0
    assert lines[:3] == ["unknown-port", "", "  Error: a port path names a port that does not exist."]
    assert [line for line in lines if line and not line.startswith(" ")] == [
        "unknown-port", "Why it matters", "Example", "Fix",
    ]  # fmt: skip
    assert "  blueprint.conf:" in lines
    assert "    error[unknown-port]: `sensors` has no outlet `reading`" in lines
    assert "```" not in said.out and "\x1b" not in said.out


def test_every_page_fits_the_terminal(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sentences are wrapped; only code, and links at the end, may be wider."""
    monkeypatch.setenv("COLUMNS", "60")
    for code in CODES:
        for line in flow("explain", code).out.splitlines():
            assert cells(line) <= 60 or line.startswith(("    ", "  [")), (code, line)


def test_links_out_of_the_manual_are_numbered(flow: Flow) -> None:
    """A terminal makes them clickable when they stand whole on their line; links to other pages are their words."""
    said = flow("explain", "contract-risk").out
    assert "ignore logical types [1]:" in " ".join(said.split())
    assert said.endswith(
        "\n\n  [1] https://avro.apache.org/docs/1.12.0/specification/#logical-types\n"
        "  [2] https://avro.apache.org/docs/1.12.0/specification/#schema-resolution\n"
    )
    assert "avro-types.md" in flow("explain", "schema-no-schema").out and "](" not in said


def test_a_code_may_be_copied_from_a_report(flow: Flow) -> None:
    """With its severity and brackets around it."""
    assert flow("explain", "error[unknown-port]:").out == flow("explain", "unknown-port").out


def test_a_misspelt_code_gets_a_suggestion(flow: Flow) -> None:
    """And one that is like none, the way to the list."""
    said = flow("explain", "unknwon-port")
    assert said.code == 2
    assert "did you mean `unknown-port`" in said.err
    assert "`flow explain` lists all" in flow("explain", "xyz").err


def test_without_a_code_all_are_listed(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    """By family, each with severity and meaning, within the terminal."""
    monkeypatch.setenv("COLUMNS", "80")
    lines = flow("explain").out.splitlines()
    assert [line for line in lines if line and not line.startswith(" ")] == list(FAMILIES)
    listed = [line.split()[:2] for line in lines if line.startswith("  ") and not line.startswith("   ")]
    assert listed == [[name, code.severity.value] for name, code in CODES.items()]
    assert max(map(cells, lines)) <= 80


def test_codes_as_data(flow: Flow) -> None:
    """One with its page in Markdown, or all without."""
    one = json.loads(flow("explain", "cycle", "--format", "json").out)
    assert one["page"].startswith("# cycle\n")
    facts = {
        "code": "cycle", "severity": "error", "family": "Topics", "meaning": "streamlets form a cycle",
    }  # fmt: skip
    assert {key: value for key, value in one.items() if key != "page"} == {"version": 1, **facts}
    every = json.loads(flow("explain", "--format", "json").out)
    assert facts in every["codes"]
    assert [each["code"] for each in every["codes"]] == list(CODES)


def test_a_terminal_is_told_once_where_to_read_more(
    flow: Flow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Below the findings, by name when they are of one code; never where a program reads."""
    blueprint = tmp_path / "blueprint.conf"
    blueprint.write_text("blueprint { streamlets { a = x.A, b = y.B } }")
    assert "flow explain" not in flow("verify", str(blueprint)).out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert flow("verify", str(blueprint)).out.splitlines()[-1] == "`flow explain module-not-found` says more"
    blueprint.write_text("blueprint { streamlets { a = x.A, b = B } }")
    assert flow("verify", str(blueprint)).out.splitlines()[-1] == "`flow explain CODE` says more of each"
    assert "flow explain" not in flow("verify", str(blueprint), "--format", "github").out
