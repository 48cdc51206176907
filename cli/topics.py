"""`flow topics`: what is in an application's topics, read without Spark."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.state import state_options, topic_folders

if TYPE_CHECKING:
    from streamlets.channels.delta.look import TopicSummary


@click.command()
@click.argument("path", type=click.Path(path_type=Path), default=Path())
@state_options
@click.option(
    "--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True,
    help="For the eye, or as data.",
)  # fmt: skip
def topics(path: Path, state_dir: Path | None, application: str | None, form: str) -> None:
    """List an application's topics: records, size, last commit and who wrote them.

    PATH is the application's blueprint or folder (left out: this folder). It may be running.
    """
    from streamlets.channels.delta.look import summary

    found = {
        name: [summary(folder) for folder in folders]
        for name, folders in topic_folders(path, state_dir, application).items()
    }
    if form == "json":
        import json

        click.echo(
            json.dumps({name: [asdict(each) for each in each_app] for name, each_app in found.items()}, indent=2)
        )
        return
    for name, summaries in found.items():
        _print_table(name, summaries)


def _print_table(application: str, summaries: list[TopicSummary]) -> None:
    from cli.tables import print_table

    if not summaries:
        click.echo(f"{application}: no topics yet")
        return
    rows = []
    for each in summaries:
        when = datetime.fromtimestamp(each.last_commit, UTC).strftime("%Y-%m-%d %H:%M:%S") if each.last_commit else "-"
        writers = ", ".join(f"{writer.record} {writer.fingerprint}" for writer in each.writers)
        rows.append((each.name, f"{each.records:,}", _size(each.bytes), when, writers or "-"))
    print_table((application, "records", "size", "last commit (UTC)", "written as"), rows, right=("records", "size"))


def _size(count: float) -> str:
    """Bytes as people say them."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"
