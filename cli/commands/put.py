"""`flow put`: deliver a file from inside the program of a spout."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from cli.output.errors import fail


@click.command()
@click.argument("target", metavar="[OUTLET[:PATH]]", default="")
@click.option(
    "-f", "--file", "file", type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True),
    default="-", metavar="FILE", help="The file to deliver (default: the standard input).",
)  # fmt: skip
@click.option("--append", is_flag=True, help="Deliver the appended part of PATH, instead of its new content.")
@click.option("--marker", metavar="JSON", help="A JSON value that is committed with the file; see --print-marker.")
@click.option("--print-marker", is_flag=True, help="Print the marker of the last commit, or `null`, and exit.")
def put(target: str, file: Path, append: bool, marker: str | None, print_marker: bool) -> None:
    """Deliver a file to the outlet of a spout, in one transaction.

    The command works only in the program that a `streamlets.Spout` runs. When it ends with exit code 0, the records of
    the file are durable in the topic. Otherwise none of them was published, unless the error says that this is unknown.
    OUTLET may be omitted if the spout has only one outlet, as in `flow put :orders.csv`.
    """
    from streamlets.ingress.spouts import client

    outlet, _, path = target.partition(":")
    try:
        if print_marker:
            click.echo(json.dumps(client.marker(outlet)))
            return
        value = None if marker is None else json.loads(marker, parse_constant=_refuse)
    except ValueError:
        raise click.BadParameter(f"`{marker}` is not JSON", param_hint="--marker") from None
    except client.SpoutError as error:
        fail(str(error))
    try:
        with client.transaction(outlet) as opened:
            opened.marker = value
            opened.put(path, sys.stdin.buffer if str(file) == "-" else file, append=append)
    except (client.SpoutError, OSError) as error:
        fail(str(error))
    receipt = opened.receipt
    if receipt is not None and receipt.dead_letters:
        count = receipt.dead_letters
        click.echo(f"{count:,} of its records {'is' if count == 1 else 'are'} in the dead letters", err=True)


def _refuse(constant: str) -> object:
    """Refuse what Python reads in addition to JSON, such as `NaN`."""
    raise ValueError(constant)
