"""`flow sample`: propose the schema of a source, from a few of its records."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.groups import imports_modules
from cli.options import format_option, path_argument
from cli.output.errors import fail
from cli.output.tables import print_table

if TYPE_CHECKING:
    from streamlets.sampling.proposal import Proposal
    from streamlets.sampling.requests import SampledSource

ROWS = 1000
"""The number of records of a sample."""


@imports_modules()
@click.command()
@click.argument("source", metavar="SOURCE")
@path_argument
@click.option("--as", "kind", metavar="TYPE", help="The type of the source, such as csv (default: by its name).")
@click.option("--table", metavar="TABLE", help="The table of a database.")
@click.option(
    "--option", "options", multiple=True, metavar="KEY=VALUE",
    help="An option of the source, such as header=false or password.env=SHOP_PASSWORD; may be repeated.",
)  # fmt: skip
@click.option(
    "--rows", type=click.IntRange(min=1), default=ROWS, show_default=True, help="The number of records to read."
)
@click.option("--output", type=click.Path(path_type=Path), metavar="FILE", help="Write the schema to FILE.")
@click.option("--overwrite", is_flag=True, help="Replace FILE if it exists.")
@format_option()
def sample(
    source: str, path: Path, kind: str | None, table: str | None, options: Sequence[str], rows: int,
    output: Path | None, overwrite: bool, form: str,
) -> None:  # fmt: skip
    """Propose the Avro schema of a source, from a few of its records.

    SOURCE is a file, a directory, a pattern such as 'data/*.csv', the URL of a server (https://...) or of a database
    (postgresql://..., sqlite:FILE, duckdb:FILE, with --table), or the name of a streamlet of the class
    streamlets.Source in the blueprint at PATH (default: the working directory). Nothing is changed but FILE.

    A type is proposed only if every value of the sample has it; what remains doubtful is listed with the reason.
    The exit code is 0 if there is a schema, 1 if the source cannot be read or FILE exists, 2 if arguments are wrong.
    """
    from blueprint.settings.secret_texts import masked
    from streamlets.ingress.sources.sample import SampleError

    if overwrite and output is None:
        raise click.UsageError("--overwrite needs --output")
    if output is not None and output.exists() and not overwrite:
        fail(f"`{output}` exists", "use --overwrite to replace it")
    try:
        proposal = _named(source, path, kind, table, options).proposal(rows)
    except SampleError as error:
        fail(masked(f"{source}: {error}"))
    source = masked(source)
    if output is not None:
        _write(output, proposal.text)
    if form == "json":
        click.echo(json.dumps(_data(source, proposal), indent=2, ensure_ascii=False, default=str))
    else:
        _print(source, proposal, output)


def _named(
    name: str, path: Path, kind: str | None, table: str | None, options: Sequence[str]
) -> SampledSource:  # fmt: skip
    """Return the source of a streamlet, or else the one at a path or URL."""
    from streamlets.sampling.requests import source_of

    if not (kind or table or options or Path(name).exists()):
        found = _streamlet(name, path)
        if found is not None:
            return found
    return source_of(name, kind, table, options)


def _streamlet(name: str, path: Path) -> SampledSource | None:
    """Return the source of a streamlet of the blueprint; None if it has no such streamlet."""
    from cli.application import Application, blueprint_at
    from cli.verification.findings import refuse
    from streamlets.ingress.sources.source import Source
    from streamlets.sampling.requests import SampledSource

    app = Application(blueprint_at(path), (), ())
    if "/" in name or ":" in name or not app.blueprint.exists():
        return None
    verification = app.verify()
    if verification.draft is None or name not in verification.draft.blueprint.streamlets:
        return None
    if verification.plan is None:
        refuse(verification)
    plan = next(streamlet for streamlet in verification.plan.streamlets if streamlet.ref == name)
    kind = plan.parameters.get(Source.source.key)
    if plan.class_name != "streamlets.Source" or not isinstance(kind, str):
        raise click.UsageError(f"`{name}` is not a `streamlets.Source`, but a `{plan.class_name}`")
    options = plan.parameters.get(Source.options.key)
    return SampledSource(kind, options if isinstance(options, dict) else {}, name, Path(plan.directory))


def _write(output: Path, text: str) -> None:
    from streamlets.storage.files import replace_file

    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        replace_file(output, text.encode())
    except OSError as error:
        fail(f"`{output}` cannot be written: {error.strerror}")


def _data(source: str, proposal: Proposal) -> dict[str, object]:
    return {
        "source": source,
        "records": len(proposal.sample.rows),
        "of": proposal.sample.of,
        "options": dict(proposal.sample.options),
        "schema": proposal.schema,
        "columns": [{"name": name, "type": type} for name, type in proposal.columns],
        "doubts": [{"column": doubt.column or None, "reason": doubt.reason} for doubt in proposal.doubts],
    }


def _print(source: str, proposal: Proposal, output: Path | None) -> None:
    sampled = proposal.sample
    click.echo(f"{source}: {sampled.size}\n")
    example = {name: _example(proposal, name) for name, _ in proposal.columns}
    print_table(("column", "type", "example"), [(name, type, example[name]) for name, type in proposal.columns])
    for name, value in sampled.options.items():
        click.echo(f"\noption: {name} = {json.dumps(value)}")
    if proposal.doubts:
        click.echo("\nnot sure:")
        for doubt in proposal.doubts:
            click.echo(f"  {f'{doubt.column}: ' if doubt.column else ''}{doubt.reason}")
    click.echo(f"\nThe schema is in {output}." if output is not None else f"\n{proposal.text}", nl=output is not None)


def _example(proposal: Proposal, column: str) -> str:
    """Return a value of a column, shortened."""
    values = (row.values[column] for row in proposal.sample.rows if column in row.values)
    value = next((value for value in values if value not in (None, "")), "")
    text = str(value)
    return f"{text[:37]}..." if len(text) > 40 else text
