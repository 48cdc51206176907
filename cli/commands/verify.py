"""`flow verify`: check an application before it runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.application import Application, application, application_arguments, overriding
from cli.groups import imports_modules
from cli.options import master_option
from cli.verification.descriptors import CLASSES, against
from cli.verification.findings import exit_code, report, verify_with_logic

if TYPE_CHECKING:
    from blueprint.logic import SampleCheck


@imports_modules()
@click.command()
@application_arguments
@click.option(
    "--format", "form", type=click.Choice(["full", "concise", "github", "json", "sarif"]), default="full",
    show_default=True, help="The output format: findings with source excerpts, one line per finding, GitHub Actions "
    "annotations, JSON, or SARIF for code scanning.",
)  # fmt: skip
@master_option
@click.option(
    "--sample", "sampled", is_flag=True,
    help="Also compare the schemas of sources with a sample of their data, which is read for it.",
)  # fmt: skip
@click.option("--plans", is_flag=True, help="Also build the streamlets' logic on empty streams; needs Spark.")
@click.option(
    "--against", "older", type=click.Path(path_type=Path), metavar="PATH",
    help="Compare with a descriptor of `flow describe`, or with the version that last ran on a state directory.",
)  # fmt: skip
@click.option(
    "--allow", type=click.Choice(CLASSES), default="safe", show_default=True,
    help="With --against: the worst class of change to allow, in increasing order.",
)  # fmt: skip
@click.option("--fix", is_flag=True, help="Apply the safe fixes of findings to the project's files, then verify.")
@click.option("--unsafe-fixes", is_flag=True, help="With --fix or --diff: include unsafe fixes, which guess names.")
@click.option("--diff", is_flag=True, help="Show the changes of --fix as a diff, and change nothing.")
def verify(
    arguments: Sequence[str], conf: Sequence[str], form: str, master: str | None, sampled: bool, plans: bool,
    older: Path | None, allow: str, fix: bool, unsafe_fixes: bool, diff: bool,
) -> None:  # fmt: skip
    """Check a blueprint, its streamlets, contracts and settings.

    PATH is a blueprint or its directory (default: the working directory). Nothing is started, and only --fix changes
    files. `flow explain CODE` explains a finding.

    The exit code is 0 if the application may run, 1 if there are errors or a change is worse than --allow permits, and
    2 if there is no blueprint, the arguments are wrong, or --plans cannot start Spark.
    """
    if unsafe_fixes and not (fix or diff):
        raise click.UsageError("--unsafe-fixes needs --fix or --diff")
    app = replace(application(arguments, conf), options=overriding(master))
    compared = against(older, allow) if older is not None else None
    if diff:
        raise SystemExit(_show_diff(app, unsafe=unsafe_fixes))
    if fix:
        _fix(app, unsafe=unsafe_fixes, quiet=form in ("json", "github", "sarif"))
    samples = _samples() if sampled else None
    if plans:
        verification, error = verify_with_logic(app, compared, samples=samples)
    else:
        verification, error = app.verify(against=compared, samples=samples), ""
    click.echo(report(verification, form), nl=False)
    if error:
        click.echo(error, err=True)
        raise SystemExit(2)
    raise SystemExit(exit_code(app, verification))


def _samples() -> SampleCheck:
    from streamlets.sampling.fit import check_samples

    return check_samples


def _show_diff(app: Application, *, unsafe: bool) -> int:
    """Show the changes of the fixes as a diff, and return the exit code: 0 if there is nothing to fix or report."""
    from cli.verification.fixes import fixes

    steps = fixes(app.directory, lambda texts: app.verify(texts=texts), unsafe=unsafe)
    for step in steps:
        click.echo(step.diff(), nl=False)
    left, count = steps[-1].left, sum(len(step.findings) for step in steps)
    click.echo(f"{count} fixable, {len(left.diagnostics)} remaining", err=True)
    if not unsafe and (hidden := steps[-1].unsafe(app.directory)):
        click.echo(f"{_unsafe(hidden)} not shown; see `--diff --unsafe-fixes`", err=True)
    return max(exit_code(app, left), int(bool(count)))


def _fix(app: Application, *, unsafe: bool, quiet: bool) -> None:
    """Apply the fixes and print them; on the standard error if `quiet`."""
    from cli.verification.fixes import fixes

    steps = fixes(app.directory, lambda texts: app.verify(texts=texts), unsafe=unsafe)
    for step in steps:
        step.write()
        for line in step.lines():
            click.echo(line, err=quiet)
    if not unsafe and (left := steps[-1].unsafe(app.directory)):
        click.echo(f"{_unsafe(left)} not applied; see `--diff --unsafe-fixes`", err=True)


def _unsafe(count: int) -> str:
    return f"{count} unsafe {'fixes were' if count > 1 else 'fix was'}"
