"""`flow export`: write records of a topic to a file, without Spark."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from blueprint.wording import counted
from cli.groups import imports_modules
from cli.options import format_option, path_argument
from cli.output.errors import fail
from cli.records import (
    FORMATS,
    clearing_up,
    format_of,
    progress,
    range_options,
    reading_topics,
    records_of,
    shown_topic,
)
from cli.state import state_directories, state_options

if TYPE_CHECKING:
    from streamlets.datasets.formats import FileFormat


@imports_modules("with servers")
@click.command()
@click.argument("topic")
@path_argument
@state_options
@click.option(
    "--to", "file", type=click.Path(dir_okay=False, allow_dash=True, path_type=Path), metavar="FILE", required=True,
    help="The file to write, or - for the standard output.",
)  # fmt: skip
@click.option("--as", "name", type=click.Choice(FORMATS), help="The format of the file (default: by its name).")
@range_options
@click.option("--overwrite", is_flag=True, help="Replace the file if it exists.")
@format_option()
def export(
    topic: str,
    path: Path,
    state_dir: Path | None,
    application: str | None,
    file: Path,
    name: str | None,
    since: float | None,
    until: float | None,
    schema: str | None,
    overwrite: bool,
    form: str,
) -> None:
    """Write the records of TOPIC to a file: Parquet, CSV, JSON lines or an Avro container.

    The file appears when it is complete. All its records have one schema; records that were written with another one
    are converted, as for an inlet. Records that are committed after the start of the command are not exported.

    TOPIC is the topic's id in the blueprint, or its name on its channel. PATH is the application's blueprint or
    directory (default: the working directory). The application may be running.
    The exit code is 1 if the topic cannot be read or the file cannot be written.
    """
    from streamlets.datasets.export import export as export_file
    from streamlets.datasets.export import export_to

    to_stdout = str(file) == "-"
    chosen = _format(file, name, to_stdout=to_stdout)
    if to_stdout and form == "json":
        raise click.UsageError("the standard output has the records: use --format json with --to FILE")
    with reading_topics(), clearing_up():
        states = state_directories(path, state_dir, application)
        state, resource = shown_topic(topic, path, states)
        records = records_of(state, resource, schema, since, until)
        report = progress("exported", form)
        try:
            if to_stdout:
                if sys.stdout is None:
                    fail("the standard output is closed")
                export_to(sys.stdout.buffer, records, chosen, report)
                sys.stdout.buffer.flush()
                return
            written = export_file(file, records, chosen, overwrite=overwrite, report=report)
        except BrokenPipeError:  # the reader of the standard output closed it
            raise
        except FileExistsError:
            if not file.is_file():
                fail(f"{file} is not a regular file", "write to the standard output with `--to -`")
            fail(f"{file} exists", "replace it with --overwrite, or choose another name")
        except OSError as error:
            fail(f"{file} cannot be written: {error.strerror or error}")
    if form == "json":
        data = {"application": state.application, "topic": resource.plan.name, "file": str(file), "records": written}
        click.echo(json.dumps({**data, "format": chosen.name, "schema": records.contract.fingerprint}, indent=2))
    else:
        of = f" of {state.application}" if len(states) > 1 else ""
        click.echo(f"{resource.plan.name}{of}: {counted(written, 'record')} exported to {file}")


def _format(file: Path, name: str | None, *, to_stdout: bool) -> FileFormat:
    """Return the format of the file.

    Raises:
        click.UsageError: it is not known, or a terminal would get bytes.
    """
    chosen = format_of(Path("the standard output") if to_stdout else file, name)
    if to_stdout and chosen.name in ("parquet", "avro") and sys.stdout.isatty():
        raise click.UsageError(f"a terminal cannot show {chosen.name}: write to a file with --to FILE")
    return chosen
