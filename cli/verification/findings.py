"""The findings of a verification as commands report them, and the exit code that follows from them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

import click

from cli.application import Application

if TYPE_CHECKING:
    from blueprint.comparison.findings import Against, AgainstOf
    from blueprint.logic import SampleCheck
    from blueprint.verification.verify import Verification


def verify_with_logic(
    app: Application,
    against: Against | AgainstOf | None = None,
    *,
    state: bool = False,
    samples: SampleCheck | None = None,
) -> tuple[Verification, str]:
    """Verify an application including the streamlets' logic; without the logic when Spark cannot be started.

    Arguments:
        app: the application.
        against: the older descriptor to compare with; None not to compare.
        state: whether to determine the queries' state, too.
        samples: compares schemas with samples; None not to read any data.

    Returns:
        The verification, and an error message when the logic could not be built, else an empty string.
    """
    from streamlets.plans import check_logic
    from streamlets.spark.session import SessionError

    try:
        with progress("building the streamlets' logic (Spark takes some seconds to start) ..."):
            return app.verify(logic=check_logic, against=against, state=state, samples=samples), ""
    except SessionError as error:
        message = f"error: the streamlets' logic cannot be built: {error}\n  help: {error.help}"
        return app.verify(against=against, samples=samples), message


@contextmanager
def progress(message: str) -> Iterator[None]:
    """Show on a terminal what is being waited for, as long as it takes."""
    import sys

    if not sys.stderr.isatty():
        yield
        return
    click.echo(message, nl=False, err=True)
    try:
        yield
    finally:
        click.echo("\r\x1b[K", nl=False, err=True)


def report(verification: Verification, form: str = "full", *, err: bool = False) -> str:
    """Return the verification's findings as text.

    Arguments:
        verification: what to report.
        form: one of the renderers.
        err: whether it will be printed on the standard error, which decides on colours and width.
    """
    import shutil
    import sys

    from blueprint.diagnostics.renderers import RENDERERS

    stream = sys.stderr if err else sys.stdout
    text = RENDERERS[form](verification, color=stream.isatty(), width=shutil.get_terminal_size((100, 24)).columns)
    return text + _explain_hint(verification) if form == "full" and stream.isatty() else text


def refuse(verification: Verification) -> NoReturn:
    """End a command that needs a valid application: print the findings on the standard error.

    Raises:
        SystemExit: 2.
    """
    click.echo(report(verification, err=True), nl=False, err=True)
    raise SystemExit(2)


def _explain_hint(verification: Verification) -> str:
    """Return one line about `flow explain`, however many findings there are; empty without findings."""
    codes = {diagnostic.code for diagnostic in verification.diagnostics}
    if not codes:
        return ""
    return f"for details, run `flow explain {min(codes) if len(codes) == 1 else 'CODE'}`\n"


def exit_code(app: Application, verification: Verification) -> int:
    """Return the exit code: 0 if the application may run, 1 if it may not, 2 if a named file does not exist."""
    if not app.exists:
        return 2
    return 0 if verification.ok else 1
