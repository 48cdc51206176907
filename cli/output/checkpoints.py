"""Checkpoints on the terminal and as data."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

import click

from blueprint.comparison.stateful_operators import stateful_operator
from blueprint.hocon import shown_name
from cli.output.quantities import count, moment, size
from cli.output.tables import print_table
from cli.state import topics_of
from streamlets.runner.checkpoints.checkpoint import Batch, Checkpoint
from streamlets.runner.checkpoints.positions import SourcePosition, source_positions
from streamlets.runner.state_directory.directory import StateDirectory, read_status


def print_list(state: StateDirectory, found: Sequence[Checkpoint]) -> None:
    """Print a line for each checkpoint, and what is wrong with any."""
    if not found:
        click.echo(f"{state.application}: no checkpoints yet")
        return
    rows = []
    for each in found:
        behind = [standing.behind for standing in _standings(each, state) if standing.behind is not None]
        held = _state_rows(each, state)
        rows.append(
            (
                each.name,
                f"{each.committed.number:,}" if each.committed else "-",
                moment(each.latest.time if each.latest else None),
                f"{sum(behind):,}" if behind else "-",
                moment(each.watermark),
                "-" if not each.operators else "?" if held is None else f"{held:,}",
                size(each.bytes),
            )
        )
    columns = (state.application, "batch", "planned (UTC)", "behind", "watermark (UTC)", "state rows", "size")
    print_table(columns, rows, right=("batch", "behind", "state rows", "size"))
    for each in found:
        for damage in each.damage:
            click.echo(f"{each.name}: {damage}")


def print_one(state: StateDirectory, found: Checkpoint) -> None:
    """Print all that is known of a checkpoint."""
    click.echo(found.name)
    for key, text in _facts(found):
        click.echo(f"  {key:<11} {text}")
    for damage in found.damage:
        click.echo(f"  {'damage':<11} {damage}")
    where = _standings(found, state)
    if where:
        click.echo()
        rows = [(s.source, s.topic or "-", _place(s.position), _number(s.behind)) for s in where]
        print_table(("source", "topic", "committed up to", "behind"), rows, right=("behind",))
    if found.operators:
        click.echo()
        print_table(
            ("state", "batches", "partitions", "size"),
            [
                (stateful_operator(o.name).label, _number(o.version), f"{o.partitions:,}", size(o.bytes))
                for o in found.operators
            ],
            right=("batches", "partitions", "size"),
        )
        held = _state_rows(found, state)
        if held is not None:
            click.echo(f"\n{count(held, 'row')} of state after the last batch of the last run")


def as_data(found: Checkpoint, state: StateDirectory) -> dict[str, object]:
    """A checkpoint as `--format json` gives it: times in seconds since the epoch, sizes in bytes."""
    return {
        "streamlet": found.streamlet,
        "query": found.query,
        "folder": str(found.folder),
        "id": found.id,
        "committed": _batch(found.committed),
        "planned": _batch(found.planned),
        "watermark": found.watermark,
        "sources": [
            {
                "name": standing.source,
                "topic": standing.topic,
                "position": json.loads(standing.position) if standing.position else None,
                "behind": standing.behind,
            }
            for standing in _standings(found, state)
        ],
        "state": [
            {
                "operator": stateful_operator(operator.name).label,
                "number": operator.number,
                "version": operator.version,
                "partitions": operator.partitions,
                "bytes": operator.bytes,
            }
            for operator in found.operators
        ],
        "state_rows": _state_rows(found, state),
        "settings": dict(found.latest.settings) if found.latest else {},
        "bytes": found.bytes,
        "damage": list(found.damage),
    }


def _facts(found: Checkpoint) -> Iterator[tuple[str, str]]:
    yield "folder", f"{shown_name(found.folder)} ({size(found.bytes)})"
    yield "query id", found.id or "none yet"
    done = found.committed
    yield "committed", f"batch {done.number:,}, planned {moment(done.time)} UTC" if done else "nothing yet"
    if found.planned is not None:
        yield (
            "under way",
            f"batch {found.planned.number:,}, planned {moment(found.planned.time)} UTC; a start replays it",
        )
    if found.watermark is not None:
        yield "watermark", f"{moment(found.watermark)} UTC: windows that end later are open"
    partitions = found.latest.settings.get("spark.sql.shuffle.partitions") if found.latest else None
    if found.operators and partitions:
        yield "partitions", f"{partitions} for shuffles, as long as the checkpoint lives"


def _batch(batch: Batch | None) -> dict[str, object] | None:
    return {"number": batch.number, "time": batch.time} if batch is not None else None


def _standings(found: Checkpoint, state: StateDirectory) -> tuple[SourcePosition, ...]:
    return source_positions(found, topics_of(state))


def _state_rows(found: Checkpoint, state: StateDirectory) -> int | None:
    """Rows of state after the last batch, as the last run told; None when it is not known."""
    status = read_status(state) or {}
    streamlets = status.get("streamlets")
    for streamlet in streamlets if isinstance(streamlets, list) else ():
        for unit in streamlet.get("units", ()) if streamlet.get("ref") == found.streamlet else ():
            if unit.get("query") == found.query and unit.get("batch") is not None and "state_rows" in unit:
                return int(unit["state_rows"])
    return None


def _place(position: str | None) -> str:
    """A position in a topic of the delta channel, or of another source as it is."""
    if position is None:
        return "nothing yet"
    found = json.loads(position)
    tables = found.get("tables") if isinstance(found, Mapping) else None
    if not isinstance(tables, Mapping):
        return position
    return ", ".join(f"{name}/{version}#{number}" for name, (_, version, number) in tables.items()) or "its beginning"


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"
