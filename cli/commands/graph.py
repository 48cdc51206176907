"""`flow graph`: draw the graph of an application."""

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
    "--format", "form", type=click.Choice(["terminal", "mermaid", "dot", "graphml", "json"]), default="terminal",
    show_default=True, help="The output format: a drawing for the terminal, or a description for other tools.",
)  # fmt: skip
@click.option("--ascii", "ascii_only", is_flag=True, help="Draw with the characters -, | and + only.")
def graph(arguments: Sequence[str], conf: Sequence[str], form: str, ascii_only: bool) -> None:
    """Draw the graph of an application: boxes are streamlets, names on lines are topics.

    PATH is a blueprint or its directory (default: the working directory). A blueprint with errors is drawn as far as
    possible: the findings are printed on the standard error, and streamlets with errors are marked. The exit code is
    that of `flow verify`.
    """
    from blueprint import drawing as render
    from cli.verification.findings import exit_code, report

    app = application(arguments, conf)
    verification = app.verify()
    if verification.diagnostics:
        detail = "concise" if verification.graph.streamlets else "full"  # Without a drawing, the findings are all.
        click.echo(report(verification, detail, err=True), err=True, nl=False)
    picture = picture_of(verification)
    if picture.nodes:
        click.echo(
            render.terminal(picture, width=_columns(), ascii_only=ascii_only or not _draws_boxes())
            if form == "terminal"
            else {"mermaid": render.mermaid, "dot": render.dot, "graphml": render.graphml, "json": render.json}[form](
                picture
            )
        )
    raise SystemExit(exit_code(app, verification))


def picture_of(verification: Verification) -> Picture:
    """Return the drawing of an application as far as it could be read; streamlets with errors are marked."""
    from blueprint.drawing import Edge, Node, Picture

    graph = verification.graph
    faulty = _streamlets_with_errors(verification)
    plan = verification.plan
    classes = {streamlet.ref: streamlet.class_name for streamlet in plan.streamlets} if plan else {}
    nodes = [
        Node(f"streamlet {ref}", "streamlet", ref, classes.get(ref, ""), ref in faulty) for ref in graph.streamlets
    ]
    nodes += [Node(f"topic {topic}", "topic", topic) for topic in graph.topics]
    edges = [
        Edge(f"{edge.source.kind} {edge.source.name}", f"{edge.target.kind} {edge.target.name}", edge.port)
        for edge in graph.edges
    ]
    name = plan.name if plan else verification.blueprint
    return Picture(name, tuple(nodes), tuple(edges))


def _streamlets_with_errors(verification: Verification) -> set[str]:
    """Return the streamlets that an error names in back-quotes, alone or followed by a port."""
    from blueprint.diagnostics import Severity

    errors = [finding.headline for finding in verification.diagnostics if finding.severity is Severity.ERROR]
    return {
        ref
        for ref in verification.graph.streamlets
        if any(f"`{ref}`" in headline or f"`{ref}." in headline for headline in errors)
    }


def _columns() -> int | None:
    """Return the width of the terminal; None, for no limit, when the output is not a terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _draws_boxes() -> bool:
    """Return whether the output's encoding has characters for boxes."""
    try:
        "┌".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True
