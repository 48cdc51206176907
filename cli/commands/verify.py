"""`flow verify`: all that can be known before a record flows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from cli.against import CLASSES, against
from cli.application import Application, application, application_arguments
from cli.verifying import exit_code, report, with_logic


@click.command()
@application_arguments
@click.option(
    "--format", "form", type=click.Choice(["full", "concise", "github", "json"]), default="full",
    show_default=True, help="Source excerpts, a line per finding, annotations of GitHub Actions, or data.",
)  # fmt: skip
@click.option("--plans", is_flag=True, help="Build the streamlets' logic on empty streams, too; takes a Spark session.")
@click.option(
    "--against", "older", type=click.Path(path_type=Path), metavar="FILE",
    help="Tell what changes against a descriptor of `flow describe`, or against what last ran in a state folder.",
)  # fmt: skip
@click.option(
    "--allow", type=click.Choice(CLASSES), default="safe", show_default=True,
    help="With --against: what a change may take at most, the mildest first.",
)  # fmt: skip
@click.option("--fix", is_flag=True, help="Make the safe fixes that findings offer in the project's files, then check.")
@click.option("--unsafe-fixes", is_flag=True, help="With --fix or --diff: the unsafe fixes, too (they guess names).")
@click.option("--diff", is_flag=True, help="Show what --fix would change, and change nothing.")
def verify(
    given: Sequence[str], conf: Sequence[str], form: str, plans: bool, older: Path | None, allow: str, fix: bool,
    unsafe_fixes: bool, diff: bool,
) -> None:  # fmt: skip
    """Check a blueprint, its streamlets, contracts and settings; nothing is started, and only --fix writes anything.

    PATH is a blueprint or its folder (left out: this folder). Findings go to the standard output. The exit code is 0
    when nothing refuses a run, 1 when something does or a change takes more than is allowed, 2 when there is no
    blueprint to check, the arguments are wrong, or there is no Spark for `--plans`.
    """
    if unsafe_fixes and not (fix or diff):
        raise click.UsageError("--unsafe-fixes needs --fix or --diff")
    app = application(given, conf)
    compared = against(older, allow) if older is not None else None
    if diff:
        raise SystemExit(_show_diff(app, unsafe=unsafe_fixes))
    if fix:
        _fix(app, unsafe=unsafe_fixes, quiet=form in ("json", "github"))
    verification, without_logic = with_logic(app, compared) if plans else (app.verify(against=compared), "")
    click.echo(report(verification, form), nl=False)
    if without_logic:
        click.echo(without_logic, err=True)
        raise SystemExit(2)
    raise SystemExit(exit_code(app, verification))


def _show_diff(app: Application, *, unsafe: bool) -> int:
    """Show what would be changed; the exit code says whether nothing is left to find."""
    from cli.fixing import fixes

    steps = fixes(app.folder, lambda texts: app.verify(texts=texts), unsafe=unsafe)
    for step in steps:
        click.echo(step.diff(), nl=False)
    left, count = steps[-1].left, sum(len(step.findings) for step in steps)
    click.echo(f"{count} to fix, {len(left.diagnostics)} to look at", err=True)
    if not unsafe and (hidden := steps[-1].unsafe(app.folder)):
        click.echo(f"{_unsafe(hidden)} not shown: see `--diff --unsafe-fixes`", err=True)
    return max(exit_code(app, left), int(bool(count)))


def _fix(app: Application, *, unsafe: bool, quiet: bool) -> None:
    """Fix what can be fixed and report it; on the standard error when the standard output is data."""
    from cli.fixing import fixes

    steps = fixes(app.folder, lambda texts: app.verify(texts=texts), unsafe=unsafe)
    for step in steps:
        step.write()
        for line in step.lines():
            click.echo(line, err=quiet)
    if not unsafe and (left := steps[-1].unsafe(app.folder)):
        click.echo(f"{_unsafe(left)} not made: see `--diff --unsafe-fixes`", err=True)


def _unsafe(count: int) -> str:
    return f"{count} unsafe {'fixes were' if count > 1 else 'fix was'}"
