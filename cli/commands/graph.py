"""`flow graph`: the application as a drawing."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from cli.application import application, application_arguments

if TYPE_CHECKING:
    from blueprint.drawing import Picture
    from blueprint.verification.verify import Verification


@click.command()
@application_arguments
@click.option(
    "--format", "form", type=click.Choice(["terminal", "mermaid", "dot", "json"]), default="terminal",
    show_default=True, help="A drawing for the eye, or text for other tools.",
)  # fmt: skip
@click.option("--ascii", "ascii_only", is_flag=True, help="Draw with -, | and + only.")
def graph(given: Sequence[str], conf: Sequence[str], form: str, ascii_only: bool) -> None:
    """Draw the application: boxes are streamlets, names on lines are topics.

    What verification finds is told on the standard error and marked in the drawing, which is made all the same; the
    exit code is then that of `flow verify`.
    """
    from blueprint import drawing as render
    from cli.verifying import exit_code, report

    app = application(given, conf)
    verification = app.verify()
    if verification.diagnostics:
        form_of_findings = "concise" if verification.graph.streamlets else "full"  # nothing is drawn: say all of it
        click.echo(report(verification, form_of_findings, err=True), err=True, nl=False)
    picture = picture_of(verification)
    if picture.nodes:
        click.echo(
            {"mermaid": render.mermaid, "dot": render.dot, "json": render.json}[form](picture)
            if form != "terminal"
            else render.terminal(picture, width=_columns(), ascii_only=ascii_only or not _draws_boxes())
        )
    raise SystemExit(exit_code(app, verification))


def picture_of(verification: Verification) -> Picture:
    """The drawing of a verified application, as far as it could be read; what has an error is marked."""
    from blueprint.drawing import Edge, Node, Picture

    found = verification.graph
    faulty = _at_fault(verification)
    classes = {each.ref: each.class_name for each in verification.plan.streamlets} if verification.plan else {}
    nodes = [
        Node(f"streamlet {ref}", "streamlet", ref, classes.get(ref, ""), ref in faulty) for ref in found.streamlets
    ]
    nodes += [Node(f"topic {topic}", "topic", topic) for topic in found.topics]
    edges = [
        Edge(f"{edge.source.kind} {edge.source.name}", f"{edge.target.kind} {edge.target.name}", edge.port)
        for edge in found.edges
    ]
    name = verification.plan.name if verification.plan else verification.blueprint
    return Picture(name, tuple(nodes), tuple(edges))


def _at_fault(verification: Verification) -> set[str]:
    """Streamlets that an error names in back-quotes, alone or in front of a port."""
    from blueprint.diagnostics import Severity

    errors = [each.headline for each in verification.diagnostics if each.severity is Severity.ERROR]
    return {
        ref
        for ref in verification.graph.streamlets
        if any(f"`{ref}`" in headline or f"`{ref}." in headline for headline in errors)
    }


def _columns() -> int | None:
    """The terminal's width; no limit when the output is no terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _draws_boxes() -> bool:
    try:
        "┌".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True
