"""What commands that verify an application have in common: its logic, findings and exit code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

import click

from cli.application import Application

if TYPE_CHECKING:
    from blueprint.comparison.findings import Against, AgainstOf
    from blueprint.verification.verify import Verification


def with_logic(
    app: Application, compared: Against | AgainstOf | None = None, *, state: bool = False
) -> tuple[Verification, str]:
    """Verify with the streamlets' logic, and its state if asked; without it, and with the reason why, when there is no
    Spark to be had."""
    from streamlets.plans import check_logic
    from streamlets.spark.session import SessionError

    try:
        with working("building the streamlets' logic (Spark takes some seconds to start) ..."):
            return app.verify(logic=check_logic, against=compared, state=state), ""
    except SessionError as error:
        unbuilt = f"Error: the streamlets' logic cannot be built: {error}\nhelp: {error.help}"
        return app.verify(against=compared), unbuilt


@contextmanager
def working(what: str) -> Iterator[None]:
    """Say on a terminal, for as long as it takes, what is being waited for."""
    import sys

    if not sys.stderr.isatty():
        yield
        return
    click.echo(what, nl=False, err=True)
    try:
        yield
    finally:
        click.echo("\r\x1b[K", nl=False, err=True)


def report(verification: Verification, form: str = "full", *, err: bool = False) -> str:
    """The verification's findings as text, in colours when the output is a terminal."""
    import shutil
    import sys

    from blueprint.diagnostics.renderers import RENDERERS

    stream = sys.stderr if err else sys.stdout
    text = RENDERERS[form](verification, color=stream.isatty(), width=shutil.get_terminal_size((100, 24)).columns)
    return text + _more(verification) if form == "full" and stream.isatty() else text


def refuse(verification: Verification) -> NoReturn:
    """End a command that needs the application's plan where there is none: the findings on the standard error.

    Raises:
        SystemExit: 2.
    """
    click.echo(report(verification, err=True), nl=False, err=True)
    raise SystemExit(2)


def _more(verification: Verification) -> str:
    """Where somebody at a terminal can read on; said once, however many findings there are."""
    codes = {diagnostic.code for diagnostic in verification.diagnostics}
    if not codes:
        return ""
    return f"`flow explain {min(codes)}` says more\n" if len(codes) == 1 else "`flow explain CODE` says more of each\n"


def exit_code(app: Application, verification: Verification) -> int:
    """The exit code for a verification: 0 the application may run, 1 it may not, 2 a file that was named is missing."""
    if not app.exists:
        return 2
    return 0 if verification.ok else 1
