"""The formats that tools read: JSON and one line a finding."""

from __future__ import annotations

import json
from dataclasses import dataclass

from blueprint.diagnostics import Checked, Diagnostic, Edit, Fix, Frame, Label, Sources, Span, finding
from blueprint.diagnostics.renderers import RENDERERS

HERE = Span("a.conf", 2, 3, 2, 8)
FINDINGS = (
    finding("cycle", "`a` reads what it writes"),
    finding(
        "unknown-key", "no key `naem`", HERE, label="here", also=(Label(HERE, "there"),), causes=("why",), help=("do",),
        frames=(Frame(HERE, "f"),), fix=Fix("write `name`", (Edit(HERE, "name"),)),
    ),
    finding("topic-unused", "unused", HERE),
)  # fmt: skip
CHECKED = Checked(4, 3, 2, 5, 1)
PLACE = {"file": "a.conf", "line": 2, "column": 3, "end_line": 2, "end_column": 8}


@dataclass(frozen=True)
class Made:
    """A report."""

    diagnostics: tuple[Diagnostic, ...] = FINDINGS
    blueprint: str = "a.conf"
    checked: Checked = CHECKED

    @property
    def sources(self) -> Sources:
        """No texts."""
        return Sources()


def test_json_holds_everything() -> None:
    """The document is the one that `docs/diagnostics-json.md` describes."""
    document = json.loads(RENDERERS["json"](Made()))
    assert document["version"] == 1
    assert document["blueprint"] == "a.conf"
    assert document["counts"] == {"error": 2, "warning": 1, "note": 0}
    assert document["checked"] == {"streamlets": 4, "topics": 3, "contracts": 2, "pairs": 5, "settings": 1}
    assert document["diagnostics"][0]["primary"] is None
    assert document["diagnostics"][1] == {
        "code": "unknown-key",
        "severity": "error",
        "headline": "no key `naem`",
        "primary": {**PLACE, "message": "here"},
        "secondary": [{**PLACE, "message": "there"}],
        "causes": ["why"],
        "help": ["do"],
        "frames": [{**PLACE, "function": "f"}],
        "fix": {"title": "write `name`", "edits": [{**PLACE, "replacement": "name"}]},
    }


def test_json_is_the_same_in_any_terminal() -> None:
    """Neither colour nor width changes it."""
    assert RENDERERS["json"](Made(), color=True, width=20) == RENDERERS["json"](Made())


def test_concise_is_one_line_a_finding_and_a_summary() -> None:
    """As compilers print them; findings without a place name the blueprint."""
    assert RENDERERS["concise"](Made(), width=20).splitlines()[:3] == [
        "a.conf: error[cycle]: `a` reads what it writes",
        "a.conf:2:3: error[unknown-key]: no key `naem`",
        "a.conf:2:3: warning[topic-unused]: unused",
    ]
