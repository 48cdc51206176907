"""`flow tail`: the last records of a topic, and those to come, read without Spark."""

from __future__ import annotations

import base64
import datetime
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import click

from cli.output.formats import format_option
from cli.state import state_options, topic_folders

_EVERY = 0.5  # seconds from one look for news to the next


@click.command()
@click.argument("topic")
@click.argument("path", type=click.Path(path_type=Path), default=Path())
@state_options
@click.option("-n", "count", type=click.IntRange(min=0), default=10, show_default=True, help="How many of the last.")
@click.option("--follow", "-f", is_flag=True, help="Go on with what comes, until stopped.")
@format_option(data="jsonl", help="For the eye, or a JSON object a line (bytes as base64, times as ISO 8601).")
def tail(
    topic: str, path: Path, state_dir: Path | None, application: str | None, count: int, follow: bool, form: str
) -> None:
    """Show the last records of TOPIC, as they were written.

    PATH is the application's blueprint or folder (left out: this folder). It may be running.
    """
    folder = _find(topic, topic_folders(path, state_dir, application))
    show = _print_lines if form == "jsonl" else _print_table
    news = _news(folder) if follow else iter(())
    next(news, None)  # take the place in the log before the last records are read, so that none falls between
    show(_last(folder, count))
    with suppress(KeyboardInterrupt):  # that is how following ends
        for rows in news:
            show(rows)


def _find(topic: str, applications: dict[str, tuple[Path, ...]]) -> Path:
    """The topic's folder.

    Raises:
        click.UsageError: there is none, or several applications have one.
    """
    from blueprint.spelling import suggestion

    found = {name: each for name, folders in applications.items() for each in folders if each.name == topic}
    if len(found) == 1:
        return next(iter(found.values()))
    if found:
        raise click.UsageError(f"{', '.join(found)} each have a topic `{topic}`: choose with --application")
    names = sorted({each.name for folders in applications.values() for each in folders})
    raise click.UsageError(f"there is no topic `{topic}`; {suggestion(topic, names)}")


def _last(folder: Path, count: int) -> list[dict[str, Any]]:
    from streamlets.channels.delta.inspection import last

    return [row for batch in last(folder, count) for row in batch.to_pylist()]


def _news(folder: Path) -> Iterator[list[dict[str, Any]]]:
    """First nothing, then what came since, again and again."""
    from blueprint.plan import TopicPlan
    from streamlets.channels.delta import DeltaChannel

    resource = DeltaChannel(folder.parent).topic(TopicPlan(folder.name, folder.name, "delta", False, (), (), {}))
    seen = resource.end()
    yield []
    while True:
        end = resource.end()
        if end != seen:
            rows = [row for batch in resource.scan(None, seen, end) for row in batch.to_pylist()]
            seen = end
            if rows:
                yield rows
        time.sleep(_EVERY)


def _print_lines(rows: Iterable[dict[str, Any]]) -> None:
    for row in rows:
        click.echo(json.dumps(row, default=_plain, ensure_ascii=False))


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
        return json.dumps(value, default=_plain, ensure_ascii=False)
    return str(_plain(value))


def _plain(value: object) -> object:
    """What JSON has no word for."""
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value if isinstance(value, int | float) else str(value)
