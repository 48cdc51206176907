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
    """Headings have no signs, names have back-quotes, and code blocks have the name of their file."""
    monkeypatch.setenv("COLUMNS", "80")
    result = flow("explain", "unknown-port")
    lines = result.out.splitlines()
    assert result.code == 0
    assert lines[:3] == ["unknown-port", "", "  Error: a port path names a port that does not exist."]
    assert [line for line in lines if line and not line.startswith(" ")] == [
        "unknown-port", "Why it matters", "Example", "Fix",
    ]  # fmt: skip
    assert "  blueprint.conf:" in lines
    assert "    error[unknown-port]: `sensors` has no outlet `reading`" in lines
    assert "```" not in result.out and "\x1b" not in result.out


def test_every_page_fits_the_terminal(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sentences are wrapped; only code, and links at the end, may be wider."""
    monkeypatch.setenv("COLUMNS", "60")
    for code in CODES:
        for line in flow("explain", code).out.splitlines():
            assert cells(line) <= 60 or line.startswith(("    ", "  [")), (code, line)


def test_links_out_of_the_manual_are_numbered(flow: Flow) -> None:
    """A link is on a line of its own, so that a terminal makes it clickable; links to other pages are plain text."""
    page = flow("explain", "contract-risk").out
    assert "ignore logical types [1]:" in " ".join(page.split())
    assert page.endswith(
        "\n\n  [1] https://avro.apache.org/docs/1.12.0/specification/#logical-types\n"
        "  [2] https://avro.apache.org/docs/1.12.0/specification/#schema-resolution\n"
    )
    assert "avro-types.md" in flow("explain", "schema-no-schema").out and "](" not in page


def test_a_code_may_be_copied_from_a_report(flow: Flow) -> None:
    """The severity and the brackets around it are accepted."""
    assert flow("explain", "error[unknown-port]:").out == flow("explain", "unknown-port").out


def test_a_misspelt_code_gets_a_suggestion(flow: Flow) -> None:
    """If none is near, the help names the command that lists all codes."""
    result = flow("explain", "unknwon-port")
    assert result.code == 2
    assert "did you mean `unknown-port`" in result.err
    assert "run `flow explain` to list all codes" in flow("explain", "xyz").err


def test_without_a_code_all_are_listed(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    """The list is grouped by family, with severity and meaning, and fits the terminal."""
    monkeypatch.setenv("COLUMNS", "80")
    lines = flow("explain").out.splitlines()
    assert [line for line in lines if line and not line.startswith(" ")] == list(FAMILIES)
    listed = [line.split()[:2] for line in lines if line.startswith("  ") and not line.startswith("   ")]
    assert listed == [[name, code.severity.value] for name, code in CODES.items()]
    assert max(map(cells, lines)) <= 80


def test_codes_as_data(flow: Flow) -> None:
    """A single code has its page in Markdown; the list of all codes has no pages."""
    one = json.loads(flow("explain", "cycle", "--format", "json").out)
    assert one["page"].startswith("# cycle\n")
    facts = {
        "code": "cycle", "severity": "error", "family": "Topics", "meaning": "streamlets form a cycle",
    }  # fmt: skip
    assert {key: value for key, value in one.items() if key != "page"} == {"version": 1, **facts}
    every = json.loads(flow("explain", "--format", "json").out)
    assert facts in every["codes"]
    assert [entry["code"] for entry in every["codes"]] == list(CODES)


def test_a_terminal_gets_one_hint_at_explain(flow: Flow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hint after the findings names the code if there is only one; programs get none."""
    blueprint = tmp_path / "blueprint.conf"
    blueprint.write_text("blueprint { streamlets { a = x.A, b = y.B } }")
    assert "flow explain" not in flow("verify", str(blueprint)).out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert flow("verify", str(blueprint)).out.splitlines()[-1] == "for details, run `flow explain module-not-found`"
    blueprint.write_text("blueprint { streamlets { a = x.A, b = B } }")
    assert flow("verify", str(blueprint)).out.splitlines()[-1] == "for details, run `flow explain CODE`"
    assert "flow explain" not in flow("verify", str(blueprint), "--format", "github").out
