"""`flow graph`: draw the graph of an application."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence

import click

from cli.application import application, application_arguments
from cli.groups import imports_modules


@imports_modules()
@click.command()
@application_arguments
@click.option(
    "--format", "form", type=click.Choice(["terminal", "svg", "mermaid", "dot", "graphml", "json"]), default="terminal",
    show_default=True, help="The output format: a drawing for the terminal, or a description for other tools.",
)  # fmt: skip
@click.option("--ascii", "ascii_only", is_flag=True, help="Draw with the characters -, | and + only.")
def graph(arguments: Sequence[str], conf: Sequence[str], form: str, ascii_only: bool) -> None:
    """Draw the graph of an application: boxes are streamlets, names on lines are topics.

    PATH is a blueprint or its directory (default: the working directory). If a blueprint has errors, its readable parts
    are drawn, with marks at streamlets with errors, and the findings are printed on the standard error. The exit code
    is the same as for `flow verify`.
    """
    from blueprint.drawing.dot import dot
    from blueprint.drawing.graphml import graphml
    from blueprint.drawing.json import json
    from blueprint.drawing.mermaid import mermaid
    from blueprint.drawing.svg import svg
    from blueprint.drawing.terminal import terminal
    from cli.verification.findings import exit_code, report

    app = application(arguments, conf)
    verification = app.verify()
    if verification.diagnostics:
        detail = "concise" if verification.graph.streamlets else "full"  # Without a drawing, the findings are all.
        click.echo(report(verification, detail, err=True), err=True, nl=False)
    picture = verification.picture
    if picture.nodes:
        click.echo(
            terminal(picture, width=_columns(), ascii_only=ascii_only or not _draws_boxes())
            if form == "terminal"
            else {"svg": svg, "mermaid": mermaid, "dot": dot, "graphml": graphml, "json": json}[form](picture)
        )
    raise SystemExit(exit_code(app, verification))


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
