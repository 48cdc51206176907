"""`flow verify`: all that can be known before a record flows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from cli.application import application, application_arguments

if TYPE_CHECKING:
    from blueprint.verify import Verification


@click.command()
@application_arguments
@click.option(
    "--format", "form", type=click.Choice(["full", "concise", "json"]), default="full", show_default=True,
    help="Source excerpts, a line per finding, or data.",
)  # fmt: skip
def verify(given: Sequence[str], conf: Sequence[str], form: str) -> None:
    """Check a blueprint, its streamlets, contracts and settings; nothing is started and nothing written.

    PATH is a blueprint or its folder (left out: this folder). Findings go to the standard output. The exit code is 0
    when nothing refuses a run, 1 when something does, 2 when there is no blueprint to check.
    """
    app = application(given, conf)
    verification = app.verify()
    click.echo(report(verification, form), nl=False)
    raise SystemExit(exit_code(app.blueprint.exists(), verification))


def report(verification: Verification, form: str = "full", *, err: bool = False) -> str:
    """The verification's findings as text, in colours when the output is a terminal."""
    import shutil
    import sys

    from blueprint.diagnostics.renderers import RENDERERS

    stream = sys.stderr if err else sys.stdout
    text = RENDERERS[form](verification, color=stream.isatty(), width=shutil.get_terminal_size((100, 24)).columns)
    return text if text.endswith("\n") else text + "\n"


def exit_code(found: bool, verification: Verification) -> int:
    """What a verification means to whoever called: 0 may run, 1 may not, 2 there was nothing to check."""
    if not found:
        return 2
    return 0 if verification.ok else 1
