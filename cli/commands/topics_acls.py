"""`flow topics acls`: what an application needs to be allowed in Kafka clusters that it shares."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.application import application as application_of
from cli.application import application_arguments
from cli.groups import imports_modules
from cli.options import DirectoryType, format_option

if TYPE_CHECKING:
    from streamlets.channels.kafka.acls import Right


@imports_modules()
@click.command(short_help="List the rights that the application needs in Kafka.")
@application_arguments
@click.option(
    "--state-dir", type=DirectoryType(path_type=Path), metavar="DIRECTORY",
    help="The parent directory of the applications' state (default: .flow next to the blueprint).",
)  # fmt: skip
@click.option("--commands", is_flag=True, help="Print calls of Kafka's `kafka-acls.sh` that allow them.")
@click.option("--principal", metavar="NAME", default="User:flow", show_default=True, help="Whom the calls allow them.")
@format_option()
def acls(
    arguments: tuple[str, ...],
    conf: tuple[str, ...],
    state_dir: Path | None,
    commands: bool,
    principal: str,
    form: str,
) -> None:
    """List the Kafka topics, consumer groups and transactional ids of the application with the operations it needs.

    Nothing is asked of a cluster.
    """
    from cli.verification.findings import refuse
    from streamlets.channels.kafka.acls import command, rights
    from streamlets.channels.kafka.channel import KafkaChannel
    from streamlets.runner.state_directory.directory import STATE_DIRECTORY, StateDirectory

    app = application_of(arguments, conf)
    verification = app.verify()
    if verification.plan is None:
        refuse(verification)
    plan = verification.plan
    state = StateDirectory(state_dir or app.directory / STATE_DIRECTORY, plan.name)
    needed = rights(plan, KafkaChannel(state.topics))
    if form == "json":
        click.echo(json.dumps([asdict(right) for right in needed], indent=2))
    elif commands:
        for right in needed:
            click.echo(command(right, principal))
    elif needed:
        _print(needed)
    else:
        click.echo(f"{plan.name}: no topics on the channel `kafka`, and no sink writes to Kafka")


def _print(needed: Sequence[Right]) -> None:
    from cli.output.tables import print_table

    rows = [
        (right.servers, right.resource, f"{right.name}{'*' if right.prefixed else ''}", ", ".join(right.operations),
         right.reason)
        for right in needed
    ]  # fmt: skip
    print_table(("servers", "resource", "name", "operations", "reason"), rows)
