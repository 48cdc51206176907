"""The specification of jobs (`statements.md`), and the providers that it assumes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from blueprint.catalog import OutputMode, SinkTraits
from blueprint.diagnostics import Diagnostic
from blueprint.hocon.source import Source
from blueprint.settings.job_options import option_findings
from blueprint.sql.checking import check_job
from blueprint.sql.parser import parse
from blueprint.sql.registry import Providers, StreamSource
from blueprint.sql.rendering import render
from blueprint.sql.statements import SaveStream, Statement
from blueprint.sql.tokens import Variables
from streamlets.egress.registry import SINKS

DOCUMENT = Path(__file__).parent / "statements.md"
VARIABLES: Variables = {("dir",): "/data", ("n",): "5", ("mode",): "update", ("quote",): "it's"}
INLETS = ("foo", "bar")
OUTLETS = ("alerts", "late-letters")
_BLOCK = re.compile(r"^```sql\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)


def _sink(name: str, mode: OutputMode) -> SinkTraits:
    return SinkTraits(name=name, description="", guarantee="at-least-once", output_modes=(mode,))


PROVIDERS = Providers(
    sinks={
        "json": SINKS["json"].traits,
        "console": SINKS["terminal"].traits,
        "audit": _sink("audit", "append"),
        "snapshots": _sink("snapshots", "complete"),
    },
    sources={
        "rate": StreamSource("fixed", options=("rowsPerSecond", "rampUpTime")),
        "json": StreamSource("required", (("path",),)),
        "kafka": StreamSource(
            "fixed", (("kafka.bootstrap.servers",), ("subscribe", "assign")), ("startingOffsets",), ("kafka.",)
        ),
    },
)


@dataclass(frozen=True)
class Case:
    """A job of the specification.

    Arguments:
        section: the title of its section.
        text: the job.
        expected: the lines about it.
    """

    section: str
    text: str
    expected: str

    def __str__(self) -> str:
        return f"{self.section}: {' '.join(self.text.split())[:60]}"


def cases(document: str) -> Iterator[Case]:
    """Yield the jobs of a document."""
    heads = list(_HEADING.finditer(document))
    for head, following in zip(heads, [*heads[1:], None], strict=True):
        block = _BLOCK.search(document, head.end(), following.start() if following else len(document))
        assert block is not None, f"`{head[1]}` has no statements"
        for part in re.split(r"\n\n(?!-->)", block[1].strip("\n")):
            text, arrow, expected = part.partition("\n-->")
            assert arrow, f"`{head[1]}`: no result after {text!r}"
            yield Case(head[1], text, f"-->{expected}")


def findings_of(text: str, section: str = "Jobs") -> tuple[tuple[Statement, ...], tuple[Diagnostic, ...]]:
    """Return the statements of a job, and the findings about it.

    Arguments:
        text: the job.
        section: outside of the section `Jobs`, a job need not save anything.
    """
    source = Source("job.sql", text)
    script = parse(source, VARIABLES)
    if script.findings:
        return script.statements, script.findings
    statements = script.statements
    saves = any(isinstance(statement, SaveStream) for statement in statements)
    extra = () if saves or section == "Jobs" else parse(Source("job.sql", "SAVE STREAM foo TO console")).statements
    job, findings = check_job((*statements, *extra), PROVIDERS, source.span(0, len(text)), INLETS, OUTLETS)
    return statements, (*findings, *option_findings(job, PROVIDERS.sinks))


def result(case: Case) -> str:
    """Return the lines about a job."""
    statements, findings = findings_of(case.text, case.section)
    if not findings:
        texts = [" ".join(text.split()) for text in render(statements).split("\n;\n")]
        return "\n".join(f"--> {text}".rstrip() for text in texts[:-1] or [""])
    return "\n".join(map(_line, findings))


def _line(found: Diagnostic) -> str:
    assert found.primary is not None
    span = found.primary.span
    also = "".join(f" ({label.message}: {label.span.line}:{label.span.column})" for label in found.secondary)
    helps = "".join(f" - {help}" for help in found.help)
    return f"--> {span.line}:{span.column} {found.code}: {found.headline}{also}{helps}"
