"""`flow describe`: the application as data, to be compared with what it becomes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from cli.application import application, application_arguments
from cli.replacing import replace_file

_WITHOUT_SPARK = 2


@click.command()
@application_arguments
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
    help="Write to FILE, which is replaced as a whole; left out, to the standard output.",
)  # fmt: skip
@click.option(
    "--state-dir", type=click.Path(path_type=Path), metavar="FOLDER",
    help="Where the application keeps its state (left out: `.flow` beside the blueprint, when it is there).",
)  # fmt: skip
@click.option("--plans", is_flag=True, help="Build the streamlets' logic, too, and tell its queries; needs Spark.")
def describe(
    given: Sequence[str], conf: Sequence[str], output: Path | None, state_dir: Path | None, plans: bool
) -> None:
    """Write what an application is as JSON: streamlets, schemas, wiring, topics and the settings that matter to state.

    PATH is a blueprint or its folder (left out: this folder). Queries are told with --plans and where the application
    has run, and there the schemas of all records in its topics, too. Secrets are left out. `flow verify --against FILE`
    compares.
    """
    from blueprint.comparison import describe_plan, to_json
    from cli.verifying import refuse, with_logic
    from streamlets.runner.deployment import as_run
    from streamlets.runner.state_directory.directory import STATE_DIRECTORY, StateDirectory

    app = application(given, conf)
    verification, without_logic = with_logic(app, state=True) if plans else (app.verify(), "")
    if verification.plan is None:
        refuse(verification)
    if without_logic:
        click.echo(without_logic, err=True)
        raise SystemExit(_WITHOUT_SPARK)
    plan = verification.plan
    root = state_dir if state_dir is not None else Path(plan.folder) / STATE_DIRECTORY
    if state_dir is not None and not (root / plan.name).is_dir():
        raise click.UsageError(f"{root} holds no state of the application `{plan.name}`")
    text = to_json(as_run(describe_plan(plan, verification.queries), StateDirectory(root, plan.name)))
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        replace_file(output, text.encode())
    except OSError as error:
        raise click.ClickException(f"`{output}` cannot be written: {error.strerror or error}") from None
