"""`flow tail`: show the last records of a topic, and new ones as they arrive, without Spark."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.groups import imports_modules
from cli.options import format_option, path_argument
from cli.output.quantities import plain
from cli.records import reading_topics, shown_topic
from cli.state import state_directories, state_options

if TYPE_CHECKING:
    from streamlets.channels.base import TopicResource
    from streamlets.runner.state_directory.directory import StateDirectory

_POLL_INTERVAL = 0.5
"""Seconds between two reads of the topic."""


@imports_modules("with servers")
@click.command()
@click.argument("topic")
@path_argument
@state_options
@click.option(
    "-n", "count", type=click.IntRange(min=0), default=10, show_default=True, help="Number of records to show."
)
@click.option("--follow", "-f", is_flag=True, help="Show new records as they arrive, until interrupted.")
@format_option(
    data="jsonl",
    help="The output format; jsonl is one JSON object per line, with bytes as Base64 and times as ISO 8601.",
)
def tail(
    topic: str, path: Path, state_dir: Path | None, application: str | None, count: int, follow: bool, form: str
) -> None:
    """Show the last records of TOPIC as they were written.

    TOPIC is the topic's id in the blueprint, or its name on its channel. Messages that are not records are reported.
    The new records of a fused topic are not stored, which a warning says.

    PATH is the application's blueprint or directory (default: the working directory). The application may be running.
    """
    show = _print_lines if form == "jsonl" else _print_table
    with reading_topics():
        state, resource = shown_topic(topic, path, state_directories(path, state_dir, application))
        _warn_if_fused(resource, state)
        new_rows = _new_rows(resource) if follow else iter(())
        next(new_rows, None)  # Note the end of the topic before the last records are read, so that none is missed.
        show([row for batch in resource.last(count) for row in batch.to_pylist()])
        with suppress(KeyboardInterrupt):
            for rows in new_rows:
                show(rows)


def _warn_if_fused(topic: TopicResource, state: StateDirectory) -> None:
    """Print a warning that a topic has no new records if it is fused."""
    from streamlets.runner.checkpoints.fused_queries import fused_topics

    query = dict(fused_topics(state.checkpoints)).get(topic.plan.name)
    if query is not None:
        click.echo(
            f"warning: the topic `{topic.plan.name}` is fused: its records pass within the query `{query}` and are not "
            "stored; these are older ones. To see new ones, run the application with `flow.fuse=off`",
            err=True,
        )


def _new_rows(topic: TopicResource) -> Iterator[list[dict[str, Any]]]:
    """Yield an empty list when the end of the topic has been read, then the rows of each later commit, forever."""
    position = topic.end()
    yield []
    while True:
        end = topic.end()
        if end != position:
            rows = [row for batch in topic.scan(None, position, end) for row in batch.to_pylist()]
            position = end
            if rows:
                yield rows
        time.sleep(_POLL_INTERVAL)


def _print_lines(rows: Iterable[dict[str, Any]]) -> None:
    for row in rows:
        click.echo(json.dumps(row, default=plain, ensure_ascii=False))


def _print_table(rows: Sequence[dict[str, Any]]) -> None:
    from cli.output.tables import print_table

    if not rows:
        return
    columns = list(dict.fromkeys(key for row in rows for key in row))
    numbers = [
        column for column in columns if all(isinstance(row.get(column), int | float | Decimal | None) for row in rows)
    ]
    print_table(columns, [[_cell(row.get(column)) for column in columns] for row in rows], right=numbers)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, dict | list):
        return json.dumps(value, default=plain, ensure_ascii=False)
    return str(plain(value))
