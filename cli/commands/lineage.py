"""`flow lineage`: show where a column comes from, and who uses it, before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.application import Application, application, application_arguments
from cli.groups import imports_modules

if TYPE_CHECKING:
    from blueprint.plan import ApplicationPlan
    from streamlets.lineage.application import ApplicationLineage

_NOT_BUILT = 1
_UNAVAILABLE = 2
"""The exit code when Spark cannot be started."""


@imports_modules()
@click.command()
@application_arguments
@click.option("--up", "up", is_flag=True, help="Show only where the column comes from.")
@click.option("--down", "down", is_flag=True, help="Show only who uses the column.")
@click.option("--depth", type=click.IntRange(min=1), metavar="N", help="Pass N streamlets at most.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True,
    help="The output format.",
)  # fmt: skip
def lineage(arguments: Sequence[str], conf: Sequence[str], up: bool, down: bool, depth: int | None, form: str) -> None:
    """Show where a column of a topic comes from, through all streamlets, and who uses it.

    The first argument is COLUMN, TOPIC.COLUMN or STREAMLET.PORT.COLUMN, each with the names of nested fields; TOPIC
    means all its columns. STREAMLET.QUERY.COLUMN is what a query writes to a sink. Without one, all are listed. The
    streamlets' logic is built on empty streams, and nothing is started; this needs Spark.

    PATH is a blueprint or its directory (default: the working directory).

    The exit code is 0 if the lineage is shown, 1 if findings prevent a run, and 2 if there is no blueprint or no such
    column, the arguments are wrong, or Spark cannot be started.
    """
    from cli.output.lineage import print_json, print_summary, print_traces
    from cli.verification.findings import exit_code, report
    from streamlets.lineage.application import ApplicationLineage
    from streamlets.lineage.targets import UnknownColumnError, may_be_of_sink, targets_of
    from streamlets.lineage.trace import Tracer

    column, others = _column(arguments)
    app = application(others, conf)
    verification = app.verify()
    if verification.plan is None:
        click.echo(report(verification, err=True), err=True, nl=False)
        raise SystemExit(exit_code(app, verification))
    unbuilt = ApplicationLineage(verification.plan, {})
    try:
        later = column is not None and may_be_of_sink(unbuilt, column)
        targets = targets_of(unbuilt, column) if column is not None and not later else ()
        known, complete = _built(app, verification.plan)
        targets = targets_of(known, column) if later and column is not None else targets
    except UnknownColumnError as error:
        click.echo(f"error: {error} in the application `{verification.plan.name}`\n  help: {error.help}", err=True)
        raise SystemExit(_UNAVAILABLE) from None
    both = up == down
    if form == "json":
        print_json(known, targets, depth, up=up or both, down=down or both)
    elif column is None:
        print_summary(known)
    else:
        print_traces(Tracer(known, depth), targets, up=up or both, down=down or both)
    raise SystemExit(0 if complete else _NOT_BUILT)


def _column(arguments: Sequence[str]) -> tuple[str | None, Sequence[str]]:
    """Return the column that is asked for, and the other arguments.

    A single argument that is an existing path is the application.
    """
    plain = [argument for argument in arguments if "=" not in argument]
    if not plain or (len(plain) == 1 and Path(plain[0]).exists()):
        return None, arguments
    return plain[0], [argument for argument in arguments if argument is not plain[0]]


def _built(app: Application, plan: ApplicationPlan) -> tuple[ApplicationLineage, bool]:
    """Return the lineage, and whether all logic could be built; print the findings of the other.

    Raises:
        SystemExit: 2, Spark cannot be started.
    """
    from blueprint.diagnostics import Severity
    from cli.verification.findings import progress, report
    from streamlets import plans
    from streamlets.lineage.application import ApplicationLineage
    from streamlets.lineage.collector import LineageCollector
    from streamlets.spark.session import SessionError

    collector = LineageCollector()
    try:
        with progress("building the streamlets' logic (Spark takes some seconds to start) ..."):
            verification = app.verify(logic=lambda buildable: plans.check_logic(buildable, collector))
    except SessionError as error:
        click.echo(f"error: the streamlets' logic cannot be built: {error}\n  help: {error.help}", err=True)
        raise SystemExit(_UNAVAILABLE) from None
    errors = any(finding.severity is Severity.ERROR for finding in verification.diagnostics)
    if errors:
        click.echo(report(verification, err=True), err=True, nl=False)
    return ApplicationLineage(plan, collector.streamlets), not errors
