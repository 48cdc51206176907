"""The formats for tools: JSON, GitHub annotations and one line per finding."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from blueprint.diagnostics import (
    Checked,
    Diagnostic,
    Edit,
    Fix,
    FixKind,
    Frame,
    Label,
    Severity,
    Sources,
    Span,
    finding,
)
from blueprint.diagnostics.github import render_github
from blueprint.diagnostics.renderers import RENDERERS

HERE = Span("a.conf", 2, 3, 2, 8)
FINDINGS = (
    finding("cycle", "`a` reads what it writes"),
    finding(
        "unknown-key", "no key `naem`", HERE, label="here", also=(Label(HERE, "there"),), causes=("why",), help=("do",),
        frames=(Frame(HERE, "f"),), fix=Fix(FixKind.RENAME_KEY, "write `name`", (Edit(HERE, "name"),)),
    ),
    finding("topic-unused", "unused", HERE),
)  # fmt: skip
CHECKED = Checked(streamlets=4, topics=3, contracts=2, pairs=5, settings=1)
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


def test_json_is_complete() -> None:
    """The document is as `docs/diagnostics-json.md` describes it."""
    document = json.loads(RENDERERS["json"](Made()))
    assert document["version"] == 1
    assert document["blueprint"] == "a.conf"
    assert document["counts"] == {"error": 2, "warning": 1, "note": 0}
    assert document["checked"] == {
        "streamlets": 4, "topics": 3, "fused": 0,
        "contracts": 2, "pairs": 5, "settings": 1, "logic": None, "no_logic": 0, "samples": 0,
        "against": "", "changes": None, "silenced": 0,
    }  # fmt: skip
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
        "fix": {"title": "write `name`", "applicability": "safe", "edits": [{**PLACE, "replacement": "name"}]},
        "class": None,
        "streamlets": [],
        "topics": [],
    }


def test_json_is_the_same_in_any_terminal() -> None:
    """Neither colour nor width changes it."""
    assert RENDERERS["json"](Made(), color=True, width=20) == RENDERERS["json"](Made())


def test_concise_is_one_line_per_finding_and_a_summary() -> None:
    """The form of compilers; findings without a place name the blueprint."""
    assert RENDERERS["concise"](Made(), width=20).splitlines()[:3] == [
        "a.conf: error[cycle]: `a` reads what it writes",
        "a.conf:2:3: error[unknown-key]: no key `naem`",
        "a.conf:2:3: warning[topic-unused]: unused",
    ]


def test_concise_lines_cannot_be_broken_by_messages() -> None:
    """A line end or an escape sequence in a name stays inside the line, and has no effect."""
    report = Made((finding("cycle", "no `a\nb\x1b[2J`", HERE),))
    assert RENDERERS["concise"](report).splitlines()[0] == "a.conf:2:3: error[cycle]: no `a\ufffdb\ufffd[2J`"


def annotated(*findings: Diagnostic, directory: str = "/repository/app") -> list[str]:
    """Return the lines of the format `github`."""
    return render_github(_Placed(findings, sources=Sources(directory))).splitlines()


@dataclass(frozen=True)
class _Placed:
    """A report of files below a folder."""

    diagnostics: tuple[Diagnostic, ...]
    blueprint: str = "a.conf"
    checked: Checked = CHECKED
    sources: Sources = field(default_factory=Sources)


def test_github_gets_one_command_per_finding_and_a_summary() -> None:
    """Paths are absolute, and GitHub makes them relative; parts without a property are in the message."""
    cycle, unknown, unused, counted = annotated(*FINDINGS)
    assert cycle == "::error title=cycle::`a` reads what it writes"
    assert unknown == (
        "::error file=/repository/app/a.conf,line=2,endLine=2,col=3,endColumn=8,title=unknown-key::no key `naem`%0A"
        "here: here%0Aa.conf:2:3: there%0Araised in f, a.conf:2:3%0Abecause: why%0Ahelp: do"
    )
    assert unused == (
        "::warning file=/repository/app/a.conf,line=2,endLine=2,col=3,endColumn=8,title=topic-unused::unused"
    )
    assert counted.startswith("a.conf: 2 errors, 1 warning; checked 4 streamlets")


def test_github_calls_notes_notices() -> None:
    """GitHub has no command `note`."""
    assert annotated(finding("cycle", "said", severity=Severity.NOTE))[0] == "::notice title=cycle::said"


def test_github_commands_cannot_be_injected() -> None:
    """The characters that end a message, a property or a list are escaped, the percent sign first."""
    odd = Span("50%,a:b\r\n.conf", 1, 1, 1, 2)
    assert annotated(finding("cycle", "100%\r\n::error::x, y: %0A", odd))[0] == (
        "::error file=/repository/app/50%25%2Ca%3Ab%0D%0A.conf,line=1,endLine=1,col=1,endColumn=2,title=cycle::"
        "100%25%0D%0A::error::x, y: %250A"
    )


def test_github_gets_columns_of_a_single_line_only() -> None:
    """GitHub accepts no others."""
    assert annotated(finding("cycle", "said", Span("a.conf", 2, 3, 4, 1)))[0] == (
        "::error file=/repository/app/a.conf,line=2,endLine=4,title=cycle::said"
    )


def test_github_gets_no_file_for_arguments() -> None:
    """The place of an argument is only in the message."""
    assert annotated(finding("cycle", "said", Span("<arguments>", 1, 7, 1, 9)))[0] == (
        "::error title=cycle::said%0Aat <arguments>:1:7"
    )
