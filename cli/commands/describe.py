"""`flow describe`: write the descriptor of an application, with which later versions are compared."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from cli.application import application, application_arguments
from cli.groups import imports_modules
from cli.options import DirectoryType
from streamlets.storage.files import replace_file

_SPARK_UNAVAILABLE = 2
"""The exit code when the logic cannot be built."""


@imports_modules()
@click.command()
@application_arguments
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
    help="Write to FILE, replacing it atomically (default: the standard output).",
)  # fmt: skip
@click.option(
    "--state-dir", type=DirectoryType(path_type=Path), metavar="DIRECTORY",
    help="The parent directory of the application's state (default: .flow next to the blueprint, if it exists).",
)  # fmt: skip
@click.option("--plans", is_flag=True, help="Build the streamlets' logic and include its queries; needs Spark.")
def describe(
    arguments: Sequence[str], conf: Sequence[str], output: Path | None, state_dir: Path | None, plans: bool
) -> None:
    """Write a JSON descriptor of an application: streamlets, schemas, wiring, topics, settings that affect state.

    `flow verify --against FILE` compares a later version with it. The descriptor includes the queries with --plans or
    if the application has run. If it has run, the schemas of all records in its topics are included, too. Secrets are
    omitted.

    PATH is a blueprint or its directory (default: the working directory).
    """
    from blueprint.comparison import describe_plan, to_json
    from cli.verification.findings import refuse, verify_with_logic
    from streamlets.runner.deployment import as_run
    from streamlets.runner.state_directory.directory import STATE_DIRECTORY, StateDirectory

    app = application(arguments, conf)
    verification, error = app.verify(), ""
    if verification.plan is None:
        refuse(verification)
    if state_dir is not None and not (state_dir / verification.plan.name).is_dir():
        raise click.UsageError(f"{state_dir} has no state of the application `{verification.plan.name}`")
    if plans:  # last, because it takes seconds
        verification, error = verify_with_logic(app, state=True)
    if verification.plan is None:
        refuse(verification)
    if error:
        click.echo(error, err=True)
        raise SystemExit(_SPARK_UNAVAILABLE)
    plan = verification.plan
    root = state_dir if state_dir is not None else Path(plan.directory) / STATE_DIRECTORY
    text = to_json(as_run(describe_plan(plan, verification.queries), StateDirectory(root, plan.name), plan.topics))
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        replace_file(output, text.encode())
    except OSError as failure:
        raise click.ClickException(f"`{output}` cannot be written: {failure.strerror or failure}") from None
